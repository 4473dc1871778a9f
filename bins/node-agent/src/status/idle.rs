//! What is found on a machine where no engine runs.

use std::io;

use machine_os::{Life, standing};
use names::{ExecutionId, InstanceName, ModuleName, ResourceName};
use serde::Serialize;

use crate::folder::Folder;

/// What an engine left, and the next one will find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Idle {
    pub(crate) workloads: Vec<Found>,
}

/// A workload that no engine looks after now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Found {
    pub(crate) module: ModuleName,
    pub(crate) instance: InstanceName,
    pub(crate) resource: ResourceName,
    pub(crate) execution: ExecutionId,
    pub(crate) address: std::net::SocketAddr,
    pub(crate) state: State,
    /// Its process, while it runs.
    pub(crate) process: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It goes on, with its shim.
    Runs,
    /// It goes on, and its shim is gone.
    RunsAlone,
    Ended,
}

impl Idle {
    pub(crate) fn look(folder: &Folder) -> io::Result<Self> {
        let found = |one: machine_os::Standing| {
            let machine_os::Standing { module, instance, resource, execution, address, life } = one;
            let (state, process) = match life {
                Life::Held { pid } => (State::Runs, Some(pid)),
                Life::Alone { pid } => (State::RunsAlone, Some(pid)),
                Life::Over => (State::Ended, None),
            };
            Found { module, instance, resource, execution, address, state, process }
        };
        Ok(Self { workloads: standing(folder.path())?.into_iter().map(found).collect() })
    }
}
