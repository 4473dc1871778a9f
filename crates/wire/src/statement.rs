//! What a machine says of the health of everything it runs.

use core::net::SocketAddr;

use chrono::{DateTime, Utc};
use inventory::DeclarationNumber;
use names::{BuildId, ExecutionId, InstanceName, MachineName, ModuleName, ResourceName};
use serde::{Deserialize, Serialize};

use crate::trouble::Trouble;

/// Agent to controller, every 5 s and at once on a change. It lists everything long-running, so an empty list says that
/// nothing runs; a machine that says nothing has not said that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// Who speaks.
    pub machine: MachineName,
    /// The boot that the machine runs in.
    pub boot: BootId,
    /// The agent process that speaks.
    pub engine: EngineNonce,
    /// Grows within one engine; a lower one that arrives late counts for nothing.
    pub sequence: u64,
    /// The declaration that the machine holds.
    pub declaration: Option<DeclarationNumber>,
    /// Every resource of every instance.
    pub resources: Vec<ResourceStatement>,
    /// What is wrong with the machine itself.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
}

/// How one resource of one instance stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceStatement {
    /// Whose resource it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which one.
    pub resource: ResourceName,
    /// The build that runs, or is meant to.
    pub build: BuildId,
    /// The execution that it belongs to; none before the first.
    pub execution: Option<ExecutionId>,
    /// Its live process; none while there is none.
    pub process: Option<ProcessIdentity>,
    /// How it stands.
    pub state: ResourceState,
    /// Since when, by the machine's clock: for people.
    pub since: DateTime<Utc>,
    /// How often it was restarted in this execution.
    pub restarts: u32,
    /// Why it is not healthy, with exit status or signal and the last lines of its output.
    pub why: Option<String>,
    /// Where it listens, when it has a port.
    pub address: Option<SocketAddr>,
}

/// How a resource stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceState {
    /// It has not passed its first check yet.
    Starting,
    /// Its checks pass.
    Healthy,
    /// Its checks fail, or it waits to be started again.
    Unhealthy,
    /// It ended too often: given up.
    Failed,
    /// It is not meant to run.
    Stopped,
}

/// One process and no other: its number alone is reused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: u32,
    /// When it started, in the kernel's clock ticks since boot.
    pub started: u64,
    /// In which boot.
    pub boot: BootId,
}

/// One boot of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub String);

/// One agent process, drawn at random when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EngineNonce(pub String);

impl std::fmt::Display for ResourceState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        })
    }
}
