//! A fleet on this box: a controller in this process, each machine's agent in one of its own, and a bus between them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use bus::InProcessBus;
use bus_socket::{BindError, SocketServer};
use controller_shell::{Controller, Gone, Handle};
use inventory::Machine;
use names::MachineName;
use store_sled::{OpenError, Options, SledStore};
use tokio::{task::JoinHandle, time::timeout};
use wire::api::{Answer, Ask};

use super::{agents::Agents, home::Home};
use crate::{
    artifacts::{self, Tidying},
    clock::{self, MachineClock},
    failure::{Failure, FailureKind, chain},
    ids::Ulids,
    output::Output,
};

/// How often time alone is reason enough for the controller to look at everything.
const TICK: Duration = Duration::from_millis(250);

/// How long the controller may take to finish what it does, and the agents to stop what they run. What is left then
/// ends as an orphan.
const STOPPING_MAX: Duration = Duration::from_secs(30);

/// A running fleet. Dropped, it has crashed: what it runs are orphans, and nothing is said.
#[derive(Debug)]
pub(crate) struct Fleet {
    controller: Controller,
    agents: Agents,
    serving: Serving,
    _tidying: Tidying,
}

/// The bus, served to other processes until this is dropped.
#[derive(Debug)]
struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Fleet {
    /// Starts the controller, then each machine's agent; what they kept before, they go on with.
    pub(crate) async fn start(home: &Home, output: &Output) -> Result<Self, Failure> {
        let bus = InProcessBus::new();
        let store = open_store(home.folder.store(), output).await?;
        let server = SocketServer::bind(home.folder.bus(), bus.clone()).await.map_err(no_bus)?;
        let config = controller_shell::Config { tick: TICK, ..Default::default() };
        let read = |error| Failure::because("the kernel does not say which boot this is", &error);
        let clock = MachineClock::new().map_err(read)?;
        let ids = Ulids::new().map_err(|error| Failure::because("no ids can be drawn", &error))?;
        let tidying = artifacts::keep_tidy(home.folder.artifacts(), store.clone());
        let controller = Controller::start(config, store, bus, clock, ids).await;
        let controller = controller
            .map_err(|error| Failure::because("the controller does not start", &error))?;
        enroll(&controller.handle(), &home.machines).await?;
        let serving = Serving(tokio::spawn(server.serve()));
        let agents = Agents::start(home, *output)?;
        Ok(Self { controller, agents, serving, _tidying: tidying })
    }

    /// Where requests go in.
    pub(crate) fn handle(&self) -> Handle {
        self.controller.handle()
    }

    /// Waits until an agent does not stay up, and says why.
    pub(crate) async fn broken(&mut self) -> Failure {
        self.agents.broken().await
    }

    /// Stops it: the controller first, so that nobody judges machines that are being stopped.
    pub(crate) async fn stop(self) {
        let Self { controller, agents, serving, _tidying } = self;
        let all = async {
            controller.stop().await;
            agents.stop().await;
        };
        // Whatever is late ends as an orphan.
        let _ = timeout(STOPPING_MAX, all).await;
        drop(serving);
    }
}

fn no_bus(error: BindError) -> Failure {
    Failure::because("the agents have no bus to talk over", &error)
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
