//! What a manifest says, once it is known to be valid.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use names::{ModuleName, ResourceName, ToolName};

use crate::span::Span;

/// What one build of a module consists of and how it wants to be run and judged.
///
/// There is no public way to make one but [`Manifest::from_toml`] and serde, and both check everything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// The module that this is a build of.
    pub module: ModuleName,
    /// How an instance moves from one build to the next.
    pub swap: Swap,
    /// How long a new build must be healthy without a break before it takes the place of the one that served.
    pub observe: Span,
    /// Modules of the same release that move in an earlier tier.
    pub after: Vec<ModuleName>,
    /// Whether an older build can follow this one.
    pub reversal: Reversal,
    /// The long-running processes; names are unique.
    pub resources: Vec<Resource>,
    /// The commands that a machine serves; names are unique.
    pub tools: Vec<Tool>,
    /// What this module wants of its gate; what is not said is the default.
    pub gate: GatePolicy,
}

/// How an instance moves from one build to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap {
    /// The new one starts beside the old one.
    Overlap,
    /// The old one stops first: its data has one owner.
    Hold,
}

impl Swap {
    /// As a manifest writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Hold => "hold",
        }
    }
}

/// Whether an older build can follow this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reversal {
    /// A failed gate puts the previous build back.
    Possible,
    /// No older build can follow: a failed gate freezes instead of putting back.
    PointOfNoReturn,
}

/// A long-running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Unique in its manifest.
    pub name: ResourceName,
    /// Program and arguments, at least the program. `${PORT}` in an argument stands for the instance's private port.
    pub command: Vec<String>,
    /// Environment, beside what the agent and the instance give.
    pub environment: BTreeMap<String, String>,
    /// Where it can be reached.
    pub listen: Listen,
    /// How its health is found out.
    pub health: Health,
    /// How it is stopped.
    pub stop: Stop,
    /// What happens when it ends by itself.
    pub restart: Restart,
    /// The user it runs as; not said: the agent's own.
    pub user: Option<String>,
    /// What it may use.
    pub limits: Limits,
}

/// Where a resource can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listen {
    /// Nowhere from outside: it has a private port, whether it uses it or not.
    #[default]
    Private,
    /// At this public address, where the machine's router accepts and forwards to its private port.
    Routed(SocketAddr),
    /// At this public address, where it accepts itself. So two of them cannot run at a time.
    Direct(SocketAddr),
}

impl Listen {
    /// Its public address.
    pub const fn public(self) -> Option<SocketAddr> {
        match self {
            Self::Private => None,
            Self::Routed(address) | Self::Direct(address) => Some(address),
        }
    }

    /// The address that the process itself must listen on; `None`: a private one that it is given.
    pub const fn direct(self) -> Option<SocketAddr> {
        match self {
            Self::Private | Self::Routed(_) => None,
            Self::Direct(address) => Some(address),
        }
    }

    /// The address that is routed to it.
    pub const fn routed(self) -> Option<SocketAddr> {
        match self {
            Self::Private | Self::Direct(_) => None,
            Self::Routed(address) => Some(address),
        }
    }
}

/// How a resource's health is found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What is asked.
    pub check: Check,
    /// From the end of one check to the start of the next.
    pub every: Span,
    /// How long one check may take.
    pub timeout: Span,
    /// Passes in a row that make it healthy, at least 1.
    pub passes: u32,
    /// Failures in a row that make a healthy one unhealthy, at least 1.
    pub failures: u32,
    /// How long it may take to its first pass before failures count.
    pub start_up: Span,
}

/// What a health check asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A GET of this path on the private port answers with a 2xx status, and a body that contains the text if one is given.
    Http {
        /// Begins with `/`.
        path: String,
        /// What the body must contain.
        body: Option<String>,
    },
    /// The private port accepts a connection.
    Tcp,
    /// A command ends with status 0; at least the program.
    Exec(Vec<String>),
    /// The process says so itself, as `sd_notify` does.
    Notify {
        /// Once it has said so, how long it may go without a sign of life (`WATCHDOG=1`).
        watchdog: Option<Span>,
    },
    /// The process has been up for this long.
    Alive(Span),
}

/// How a resource is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The signal that asks it to end.
    pub signal: Signal,
    /// How long it has before it is killed.
    pub grace: Span,
    /// How long connections that were routed to it may go on before it is asked to end.
    pub drain: Span,
}

/// The signals that may ask a process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// `TERM`
    Term,
    /// `INT`
    Int,
    /// `QUIT`
    Quit,
    /// `HUP`
    Hup,
    /// `USR1`
    Usr1,
    /// `USR2`
    Usr2,
    /// `KILL`
    Kill,
}

impl Signal {
    /// Each of them.
    pub const ALL: [Self; 7] =
        [Self::Term, Self::Int, Self::Quit, Self::Hup, Self::Usr1, Self::Usr2, Self::Kill];

    /// As a manifest writes it: `TERM`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Quit => "QUIT",
            Self::Hup => "HUP",
            Self::Usr1 => "USR1",
            Self::Usr2 => "USR2",
            Self::Kill => "KILL",
        }
    }
}

/// What happens when a resource ends by itself: it is started again after a growing pause, until it has ended too often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Restarts allowed within [`Restart::within`]; one more and it has failed.
    pub limit: u32,
    /// The time in which restarts are counted.
    pub within: Span,
    /// The first pause.
    pub backoff_min: Span,
    /// The longest pause.
    pub backoff_max: Span,
}

/// What a resource may use; `None` is no limit of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub tasks: Option<u64>,
    /// Open files.
    pub files: Option<u64>,
}

/// A command of the module that its machine serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Unique in its manifest.
    pub name: ToolName,
    /// Program and arguments, at least the program.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Span,
}

/// What a module wants of its gate. The meaning of each is told where the gate's rules are: crate `gate-judge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatePolicy {
    /// Judgings in a row that must find it good.
    pub passes: Option<u32>,
    /// The least distance between two counted passes.
    pub every: Option<Span>,
    /// How long it must have been good.
    pub settle: Option<Span>,
    /// Within which the first pass of the row must come.
    pub bound: Option<Span>,
}
