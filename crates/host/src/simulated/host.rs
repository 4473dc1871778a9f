//! The handle on a simulated machine: the port's side, and the side of whoever moves it.

use std::net::SocketAddr;
use std::time::Duration;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use inventory::ArtifactName;
use names::{BuildId, ModuleName};
use tokio::sync::watch;
use wire::route::Table;
use wire::{BootId, ProcessIdentity, Trouble};

use crate::port::{AdoptError, Bundle, Clock, Host, InstallError, RouteError};
use crate::process::{Adopted, Exit, ProcessSpec, StartError};
use crate::simulated::process::SimProcess;
use crate::simulated::script::{BuildScript, Install, Life, Obstacle, Start};
use crate::simulated::world::{Entry, FIRST_PORT, Started, World};

/// A machine in memory. All clones are the same machine.
#[derive(Debug, Clone)]
pub struct SimHost {
    world: watch::Sender<World>,
}

impl SimHost {
    /// A machine that has just booted at this time of day.
    #[must_use]
    pub fn new(boot: BootId, wall: DateTime<Utc>) -> Self {
        let world = watch::Sender::new(World {
            boot,
            now: Duration::ZERO,
            wall_at_boot: wall,
            scripts: Default::default(),
            installed: Default::default(),
            strangers: Default::default(),
            troubles: Default::default(),
            removal: Duration::ZERO,
            routes: Table::default(),
            processes: Default::default(),
            next_port: FIRST_PORT,
        });
        Self { world }
    }

    /// Says how a build behaves from now on; processes that run already keep their life.
    pub fn script(&self, build: BuildId, script: BuildScript) {
        self.world.send_modify(|world| {
            world.scripts.insert(build, script);
        });
    }

    /// Moves time forward by `step`.
    pub fn advance(&self, step: Duration) {
        self.world.send_modify(|world| world.now = world.now.saturating_add(step));
    }

    /// Sets the machine's time of day forward or back. Nothing else notices.
    pub fn step_wall_clock(&self, by: TimeDelta) {
        self.world.send_modify(|world| {
            world.wall_at_boot = world.wall_at_boot.checked_add_signed(by).unwrap_or_default();
        });
    }

    /// Lets a stranger listen on an address.
    pub fn occupy(&self, address: SocketAddr) {
        self.world.send_modify(|world| {
            world.strangers.insert(address);
        });
    }

    /// Takes the stranger away again.
    pub fn vacate(&self, address: SocketAddr) {
        self.world.send_modify(|world| {
            world.strangers.remove(&address);
        });
    }

    /// Says what is wrong with the machine itself from now on.
    pub fn trouble(&self, troubles: Vec<Trouble>) {
        self.world.send_modify(|world| world.troubles = troubles);
    }

    /// Says how long the removal of builds takes from now on. What goes is settled at its beginning, and goes at its end.
    pub fn removal_takes(&self, span: Duration) {
        self.world.send_modify(|world| world.removal = span);
    }

    /// Where the public addresses lead.
    #[must_use]
    pub fn routes(&self) -> Table {
        self.world.borrow().routes.clone()
    }

    /// Ends a process now, as somebody outside would.
    pub fn kill(&self, identity: &ProcessIdentity, exit: Exit) {
        self.world.send_modify(|world| world.end(identity.pid, world.now, exit));
    }

    /// The processes that are alive now, in the order of their start.
    #[must_use]
    pub fn alive(&self) -> Vec<Started> {
        self.world.borrow().alive().cloned().collect()
    }

    /// Every process ever started, in the order of their start.
    #[must_use]
    pub fn started(&self) -> Vec<Started> {
        self.world.borrow().processes.values().map(|entry| entry.started.clone()).collect()
    }

    /// Whether a build is installed.
    #[must_use]
    pub fn has_installed(&self, module: &ModuleName, build: &BuildId) -> bool {
        self.world.borrow().installed.contains(&(module.clone(), build.clone()))
    }

    async fn pass(&self, span: Duration) {
        let until = self.world.borrow().now.saturating_add(span);
        self.sleep_until(until).await;
    }
}

impl Host for SimHost {
    type Process = SimProcess;

    fn boot(&self) -> BootId {
        self.world.borrow().boot.clone()
    }

    fn clock(&self) -> Clock {
        let world = self.world.borrow();
        let since_boot = TimeDelta::from_std(world.now).unwrap_or(TimeDelta::MAX);
        let wall = world.wall_at_boot.checked_add_signed(since_boot).unwrap_or_default();
        Clock { monotonic: world.now, wall }
    }

    async fn route(&self, table: &Table) -> Result<BTreeMap<SocketAddr, String>, RouteError> {
        let faults = |world: &World| {
            let addresses = table.0.keys();
            addresses.filter_map(|one| Some((*one, world.holder(*one, &[])?))).collect()
        };
        let faults: BTreeMap<SocketAddr, String> = faults(&self.world.borrow());
        let led = table.0.iter().filter(|(address, _)| !faults.contains_key(address));
        let led = Table(led.map(|(address, to)| (*address, to.clone())).collect());
        self.world.send_modify(|world| world.routes = led);
        Ok(faults)
    }

    async fn unrouted(&self) {
        std::future::pending::<()>().await;
    }

    async fn drained(&self, _: SocketAddr, _: Duration) {}

    async fn adopt(&self) -> Result<Vec<Adopted<SimProcess>>, AdoptError> {
        let adopted = |started: &Started| {
            let ProcessSpec { module, instance, resource, execution, keepsake, .. } =
                started.spec.clone();
            let process = SimProcess::new(self.world.clone(), started.clone());
            Adopted { module, instance, resource, execution, keepsake, process }
        };
        Ok(self.world.borrow().unheard().map(adopted).collect())
    }

    async fn sleep_until(&self, monotonic: Duration) {
        let mut seen = self.world.subscribe();
        // The sender lives as long as this handle, so the wait ends only when its time has come.
        let _ = seen.wait_for(|world| world.now >= monotonic).await;
    }

    async fn install(&self, bundle: &Bundle) -> Result<(), InstallError> {
        let key = (bundle.module.clone(), bundle.build.clone());
        if self.world.borrow().installed.contains(&key) {
            return Ok(());
        }
        let script = self.world.borrow().script(&bundle.build);
        match script.install {
            Install::Takes(span) => self.pass(span).await,
            Install::Fails(obstacle) => return Err(failure(obstacle, bundle)),
        }
        self.world.send_modify(|world| {
            world.installed.insert(key);
        });
        Ok(())
    }

    async fn collect(
        &self,
        keep: &BTreeSet<(ModuleName, BuildId)>,
    ) -> BTreeSet<(ModuleName, BuildId)> {
        let (gone, span): (BTreeSet<_>, _) = {
            let world = self.world.borrow();
            (world.installed.difference(keep).cloned().collect(), world.removal)
        };
        self.pass(span).await;
        self.world.send_modify(|world| world.installed.retain(|build| !gone.contains(build)));
        gone
    }

    async fn troubles(&self) -> Vec<Trouble> {
        self.world.borrow().troubles.clone()
    }

    async fn verify(&self, spec: &ProcessSpec, ours: &[SimProcess]) -> Result<(), StartError> {
        let pids: Vec<u32> = ours.iter().map(|process| process.pid()).collect();
        look(&self.world.borrow(), spec, &pids)
    }

    async fn start(&self, spec: &ProcessSpec) -> Result<SimProcess, StartError> {
        let script = self.world.borrow().script(&spec.build);
        if let Start::Takes(span) = script.start {
            self.pass(span).await;
        }
        let mut outcome = None;
        self.world.send_modify(|world| {
            outcome = Some(look(world, spec, &[]).map(|()| begin(world, spec, script.life)));
        });
        match outcome {
            Some(started) => Ok(SimProcess::new(self.world.clone(), started?)),
            None => Err(StartError::Failed {
                what: "starting a simulated process".to_owned(),
                source: "the world did not move".into(),
            }),
        }
    }
}

/// What keeps a process from starting now.
fn look(world: &World, spec: &ProcessSpec, ours: &[u32]) -> Result<(), StartError> {
    let program = || spec.command.first().cloned().unwrap_or_default();
    if !world.installed.contains(&(spec.module.clone(), spec.build.clone())) {
        let why = "its build is not installed".to_owned();
        return Err(StartError::Program { program: program(), why });
    }
    if let Start::Refused(why) = world.script(&spec.build).start {
        return Err(StartError::Program { program: program(), why });
    }
    if let Some(address) = spec.listen.direct()
        && let Some(why) = world.holder(address, ours)
    {
        return Err(StartError::Port { address, why });
    }
    Ok(())
}

fn begin(world: &mut World, spec: &ProcessSpec, life: Life) -> Started {
    let pid = world.processes.last_key_value().map_or(1_000, |(pid, _)| pid.saturating_add(1));
    let address = spec.listen.direct().unwrap_or_else(|| world.free_port());
    let ticks = u64::try_from(world.now.as_millis() / 10).unwrap_or(u64::MAX);
    let identity = ProcessIdentity { pid, started: ticks, boot: world.boot.clone() };
    let started = Started { spec: spec.clone(), identity, address, at: world.now };
    let end = match life {
        Life::Endless => None,
        Life::EndsAfter(span, exit) => Some((world.now.saturating_add(span), exit)),
    };
    world.processes.insert(pid, Entry { started: started.clone(), end, is_heard: false });
    started
}

fn failure(obstacle: Obstacle, bundle: &Bundle) -> InstallError {
    let Some(artifact) = bundle.artifacts.first() else {
        return InstallError::Full { build: bundle.build.clone() };
    };
    let name: ArtifactName = artifact.name.clone();
    match obstacle {
        Obstacle::Missing => InstallError::Missing { name, digest: artifact.digest.clone() },
        Obstacle::Mismatch => InstallError::Mismatch { name, found: "another digest".to_owned() },
        Obstacle::Unsafe => InstallError::Unsafe { name, why: "`../x` leaves it".to_owned() },
        Obstacle::Full => InstallError::Full { build: bundle.build.clone() },
        Obstacle::ReadOnly => InstallError::ReadOnly,
    }
}
