//! `node-agent status`: how everything on this machine stands, as its engine says; and what is found where none runs.

mod idle;
mod shown;
mod socket;

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use names::MachineName;
use serde::{Deserialize, Serialize};
use terminal::{
    failure::{Failure, FailureKind},
    output::Output,
};
use wire::{BootId, Statement};

use crate::{
    clock,
    command_line::Everywhere,
    folder::{Folder, Held},
};

pub(crate) use idle::Idle;
pub(crate) use socket::{AskError, Server, ask};

/// What an engine says of itself and its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// Of this document.
    pub(crate) version: u32,
    pub(crate) machine: MachineName,
    /// The version of the engine's program.
    pub(crate) agent: String,
    /// The engine's own process.
    pub(crate) process: u32,
    pub(crate) boot: BootId,
    /// When the engine began.
    pub(crate) since: DateTime<Utc>,
    pub(crate) folder: PathBuf,
    pub(crate) bus: BusStatus,
    /// Why there is no store; none: there is one.
    pub(crate) storeless: Option<String>,
    /// When the statement was made.
    pub(crate) stated_at: Option<DateTime<Utc>>,
    /// What the machine stated last.
    pub(crate) statement: Option<Statement>,
}

/// How the engine's connection to the bus stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BusStatus {
    pub(crate) state: BusState,
    pub(crate) since: DateTime<Utc>,
    /// Why there is none.
    pub(crate) why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BusState {
    Connecting,
    Connected,
    Lost,
    Closed,
}

impl Status {
    /// The version of what is written and read here.
    pub(crate) const VERSION: u32 = 1;
}

/// Asks the engine, and says what it says.
pub(crate) async fn status(everywhere: &Everywhere, output: &Output) -> Result<(), Failure> {
    let folder = Folder::find(everywhere)?;
    match ask(&folder).await {
        Ok(status) => {
            output.answer(&status, |status, paint| shown::status(status, clock::now(), paint))
        }
        Err(error) => no_answer(&folder, &error, output),
    }
}

/// Says what can be known without an answer, and fails all the same: nobody answered.
fn no_answer(folder: &Folder, error: &AskError, output: &Output) -> Result<(), Failure> {
    let path = folder.path().display();
    let what = match folder.is_held() {
        Ok(Held::By(Some(pid))) => {
            format!("the engine on {path} (process {pid}) cannot be asked: {error}")
        }
        Ok(Held::By(None)) => format!("the engine on {path} cannot be asked: {error}"),
        Ok(Held::ByNobody) => format!("no engine runs on {path}"),
        Err(error) => format!("no engine runs on {path}: {error}"),
    };
    let idle = Idle::look(folder);
    if let Ok(idle) = &idle {
        output.answer(idle, shown::idle)?;
    }
    let failure = Failure::new(FailureKind::Unreachable, what);
    Err(match idle {
        Ok(_) => failure.hint("start it: systemctl start node-agent, or: node-agent run"),
        Err(error) => failure.hint(format!("what lies there cannot be read either: {error}")),
    })
}
