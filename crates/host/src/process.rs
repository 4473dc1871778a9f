//! One process of a build: how it is to be started, and what can be asked of it once it was.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use inventory::{Check, Limits, Listen, Stop};
use names::{BuildId, ExecutionId, InstanceName, ModuleName, ResourceName};
use thiserror::Error;
use wire::ProcessIdentity;

/// How a process is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// Whose process it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which of its resources.
    pub resource: ResourceName,
    /// The build whose folder it starts in.
    pub build: BuildId,
    /// The execution that it belongs to.
    pub execution: ExecutionId,
    /// Program and arguments, at least the program; `${PORT}` in an argument becomes the port given.
    pub command: Vec<String>,
    /// Its environment, beside what the host gives: `PATH`, `PORT` and what it needs to find a process again. It inherits
    /// nothing else.
    pub environment: BTreeMap<String, String>,
    /// Where it is reached. Unless that is directly, the host gives it a free port of its own on loopback.
    pub listen: Listen,
    /// The user it runs as; `None`: the agent's own.
    pub user: Option<String>,
    /// What it may use.
    pub limits: Limits,
    /// Whether it says by itself that it is ready.
    pub notify: Notify,
    /// What whoever starts it wants to be told by [`Host::adopt`](crate::Host::adopt). The host keeps it with the process
    /// and does not look inside.
    pub keepsake: String,
}

/// Whether a process says by itself that it is ready, as `sd_notify` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// It is given no way to.
    Unheard,
    /// It is heard: [`Check::Notify`] asks whether it has said so.
    Heard {
        /// How often it must give a sign of life, which it is told.
        watchdog: Option<Duration>,
    },
}

/// A process that an earlier holder of the host started, and everything that is known of it.
#[derive(Debug, Clone)]
pub struct Adopted<P> {
    /// Whose process it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which of its resources.
    pub resource: ResourceName,
    /// The execution that it belongs to.
    pub execution: ExecutionId,
    /// [`ProcessSpec::keepsake`] as it was given.
    pub keepsake: String,
    /// The process. It may have ended meanwhile: [`Process::ended`] tells.
    pub process: P,
}

/// A handle on one process and everything that descends from it: its *tree*. Cheap to clone.
///
/// The process outlives its handles and whoever holds them: only [`Process::stop`] ends it.
pub trait Process: Clone + Send + Sync + 'static {
    /// Which process it is.
    fn identity(&self) -> &ProcessIdentity;

    /// The address that it was told to listen on.
    fn address(&self) -> SocketAddr;

    /// Waits until it and its whole tree are gone. Can be asked again.
    fn ended(&self) -> impl Future<Output = Exit> + Send;

    /// Sends its tree the signal, kills what is left after the grace, and returns when the whole tree is gone.
    fn stop(&self, how: Stop) -> impl Future<Output = ()> + Send;

    /// Asks once how it is, and answers within `timeout`. It passes only when this very process is alive and, for a
    /// check over the network, only its own tree listens on its address: nobody else can answer for it.
    fn check(
        &self,
        check: &Check,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), CheckFailed>> + Send;

    /// The last lines that it wrote, the oldest first.
    fn last_lines(&self) -> impl Future<Output = Vec<String>> + Send;
}

/// Why a process was not started, or could not be.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its address is taken, or is none of this machine's.
    #[error("it cannot listen on {address}: {why}")]
    Port {
        /// The address wanted.
        address: SocketAddr,
        /// By whom it is taken, as far as can be seen.
        why: String,
    },
    /// Its program is not in the build, nor on the machine, or cannot be executed.
    #[error("the program `{program}` cannot be started: {why}")]
    Program {
        /// The program named.
        program: String,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot run as this user.
    #[error("it cannot run as user `{user}`: {why}")]
    User {
        /// The user named.
        user: String,
        /// Why not.
        why: String,
    },
    /// A limit cannot be kept on this machine.
    #[error("its limit on {what} cannot be kept: {why}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// Why it cannot be kept.
        why: String,
    },
    /// It asks for more than this machine's owner allows.
    #[error("{what} is not allowed on this machine: {why}")]
    Forbidden {
        /// What it asks for.
        what: String,
        /// Which rule of which file forbids it, and what to do.
        why: String,
    },
    /// The machine failed.
    #[error("{what} failed")]
    Failed {
        /// What was being done.
        what: String,
        /// How it failed.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// By signal 9, which the kernel sent since there was no memory left for it.
    OutOfMemory,
    /// By signal 9; nobody knows who sent it, but meanwhile the kernel killed somebody for want of memory.
    PerhapsOutOfMemory,
    /// It is gone, and how it ended is not known.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(out, "exit status {status}"),
            Self::Signal(number) => match signal_name(*number) {
                Some(name) => write!(out, "signal {number} ({name})"),
                None => write!(out, "signal {number}"),
            },
            Self::OutOfMemory => out.write_str("signal 9 (KILL): out of memory"),
            Self::PerhapsOutOfMemory => {
                out.write_str("signal 9 (KILL); the machine ran out of memory meanwhile")
            }
            Self::Unknown => out.write_str("an unknown exit status"),
        }
    }
}

/// The names of the signals that end processes in practice; their numbers are the same on every Linux we run on.
fn signal_name(number: i32) -> Option<&'static str> {
    const NAMES: [(i32, &str); 15] = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (4, "ILL"),
        (5, "TRAP"),
        (6, "ABRT"),
        (7, "BUS"),
        (8, "FPE"),
        (9, "KILL"),
        (10, "USR1"),
        (11, "SEGV"),
        (12, "USR2"),
        (13, "PIPE"),
        (14, "ALRM"),
        (15, "TERM"),
    ];
    NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// What a check found wrong, in words.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct CheckFailed(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_told_in_words() {
        for (exit, words) in [
            (Exit::Status(3), "exit status 3"),
            (Exit::Signal(9), "signal 9 (KILL)"),
            (Exit::Signal(31), "signal 31"),
            (Exit::OutOfMemory, "signal 9 (KILL): out of memory"),
            (Exit::PerhapsOutOfMemory, "signal 9 (KILL); the machine ran out of memory meanwhile"),
            (Exit::Unknown, "an unknown exit status"),
        ] {
            assert_eq!(exit.to_string(), words);
        }
    }
}
