//! A controller and the agents of a few machines, all in this process, over a bus in this process.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    time::Duration,
};

use agent_shell::{Ending, Incarnation, RunError};
use bus::InProcessBus;
use controller_shell::{Controller, Gone, Handle};
use inventory::Machine;
use machine_os::{OsConfig, OsHost};
use names::MachineName;
use store_sled::{OpenError, Options, SledStore};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use wire::api::{Answer, Ask};

use super::home::Home;
use crate::{
    SHIM,
    artifacts::{self, Tidying},
    clock::{self, MachineClock},
    failure::{Failure, FailureKind, chain},
    ids::Ulids,
    output::Output,
};

/// How often a machine says how it stands when nothing changes. A gate's pass wants a newer word than the pass before, so
/// this is what a quick gate waits for.
const STATEMENT_EVERY: Duration = Duration::from_millis(500);

/// How often time alone is reason enough for the controller to look at everything.
const TICK: Duration = Duration::from_millis(250);

/// How long the controller may take to finish what it does, and the machines to stop what they run. What is left then
/// ends as an orphan.
const STOPPING_MAX: Duration = Duration::from_secs(30);

/// How long workloads go on without their fleet: long enough to start a kept one again, which takes them over, and too short
/// to be a nuisance. With a temporary fleet's folder they end at once.
const ORPHAN_AFTER: Duration = Duration::from_secs(60);

/// A running fleet. Dropped, it has crashed: what it runs are orphans, and nothing is said.
#[derive(Debug)]
pub(crate) struct Fleet {
    controller: Controller,
    agents: JoinSet<(MachineName, Result<(), RunError>)>,
    stop: watch::Sender<bool>,
    _tidying: Tidying,
}

impl Fleet {
    /// Starts the controller, then each machine's agent; what they kept before, they go on with.
    pub(crate) async fn start(home: &Home, output: &Output) -> Result<Self, Failure> {
        let bus = InProcessBus::new();
        let store = open_store(home.folder.store(), output).await?;
        // One for all agents: sled's threads are the process's, and many stores that land at once would wait for each other
        // for ever. It is opened before any process is started, since one that is just starting holds every lock too.
        let agents_store = open_store(home.folder.agents_store(), output).await?;
        let config = controller_shell::Config { tick: TICK, ..Default::default() };
        let read = |error| Failure::because("the kernel does not say which boot this is", &error);
        let clock = MachineClock::new().map_err(read)?;
        let ids = Ulids::new().map_err(|error| Failure::because("no ids can be drawn", &error))?;
        let tidying = artifacts::keep_tidy(home.folder.artifacts(), store.clone());
        let controller = Controller::start(config, store, bus.clone(), clock, ids).await;
        let controller = controller
            .map_err(|error| Failure::because("the controller does not start", &error))?;
        enroll(&controller.handle(), &home.machines).await?;
        let (stop, stopped) = watch::channel(false);
        let mut fleet = Self { controller, agents: JoinSet::new(), stop, _tidying: tidying };
        for machine in &home.machines {
            fleet.start_agent(home, machine, bus.clone(), agents_store.clone(), stopped.clone())?;
        }
        Ok(fleet)
    }

    fn start_agent(
        &mut self,
        home: &Home,
        machine: &MachineName,
        bus: InProcessBus,
        store: SledStore,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(), Failure> {
        let root = home.folder.machine(machine);
        let shim = vec![home.folder.image().into_os_string(), OsString::from(SHIM)];
        let orphan_after = Some(ORPHAN_AFTER);
        let artifacts = home.folder.artifacts();
        let config = OsConfig { root, artifacts, shim, path: None, orphan_after };
        let host = OsHost::open(config)
            .map_err(|error| Failure::because(format!("{machine} does not start"), &error))?;
        let incarnation = machine_os::draw()
            .map(Incarnation)
            .map_err(|error| Failure::because("no randomness can be drawn", &error))?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let config = agent_shell::Config {
            statement_every: STATEMENT_EVERY,
            ..agent_shell::Config::new(machine.clone(), version, incarnation)
        };
        let machine = machine.clone();
        self.agents.spawn(async move {
            let shutdown = async move {
                // A fleet that is gone wants its agents gone.
                let _ = stopped.wait_for(|stopped| *stopped).await;
                Ending::Stop
            };
            (machine, agent_shell::run(config, bus, store, host, shutdown).await)
        });
        Ok(())
    }

    /// Where requests go in.
    pub(crate) fn handle(&self) -> Handle {
        self.controller.handle()
    }

    /// Waits until an agent ends although nobody asked it to, and says why.
    pub(crate) async fn broken(&mut self) -> Failure {
        match self.agents.join_next().await {
            Some(Ok((machine, Err(error)))) => {
                Failure::because(format!("the agent of {machine} ended"), &error)
            }
            Some(Ok((machine, Ok(())))) => Failure::failed(format!("the agent of {machine} ended")),
            Some(Err(error)) => Failure::because("an agent broke off", &error),
            None => std::future::pending().await,
        }
    }

    /// Stops it: the controller first, so that nobody judges machines that are being stopped.
    pub(crate) async fn stop(mut self) {
        let all = async {
            self.controller.stop().await;
            // Where no agent listens, none is left to be stopped.
            let _ = self.stop.send(true);
            while self.agents.join_next().await.is_some() {}
        };
        // Whatever is late ends as an orphan.
        let _ = timeout(STOPPING_MAX, all).await;
    }
}

async fn open_store(folder: PathBuf, output: &Output) -> Result<SledStore, Failure> {
    match SledStore::open(Options::new(folder)).await {
        Ok(opened) => {
            for note in &opened.notes {
                output.status(&format!("note: {note}"));
            }
            Ok(opened.store)
        }
        Err(error) => {
            let kind = match error {
                OpenError::InUse { .. } => FailureKind::Refused,
                OpenError::Schema { .. }
                | OpenError::Full { .. }
                | OpenError::ReadOnly { .. }
                | OpenError::Damaged { .. }
                | OpenError::Io { .. }
                | OpenError::Failed { .. }
                | OpenError::Panicked => FailureKind::Failed,
            };
            let full = matches!(error, OpenError::Full { .. });
            let failure = Failure::new(kind, chain(&error));
            Err(if full { failure.hint("make room on that disk and start again") } else { failure })
        }
    }
}

/// Adds the machines that the controller does not know yet.
async fn enroll(handle: &Handle, machines: &[MachineName]) -> Result<(), Failure> {
    let gone = |error: Gone| Failure::because("the fleet has no controller", &error);
    let answer = handle.ask("dev", Ask::Machines).await.map_err(gone)?;
    let Answer::Machines(known) = answer else {
        return Err(Failure::failed("the controller does not say which machines it knows"));
    };
    for name in machines {
        if known.iter().any(|machine| machine.machine == *name) {
            continue;
        }
        let machine = Machine {
            name: name.clone(),
            labels: BTreeMap::new(),
            public_key: None,
            enrolled_at: clock::now(),
            roles: BTreeSet::new(),
            hold: None,
        };
        handle.enroll(machine).await.map_err(gone)??;
    }
    Ok(())
}
