//! Everything an agent wants done.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use failure_book::Change;
use inventory::{Artifact, Check, DeclaredModule, Limits, Listen, Stop};
use names::{BuildId, ExecutionId, InstanceName, ModuleName, ResourceName};
use wire::route::Table;
use wire::signed::Pointer;
use wire::{BookStatus, DeclareReply, Hello, Report, Statement, WordReply};

use crate::draws::{AskId, CheckId, RunId, VerificationId};
use crate::errands::{Serves, Ticket};
use crate::kept::Kept;
use crate::placement::Place;

/// What comes of an event.
///
/// First the actions are carried out, in their order. Then, when there is something to land, it is landed and the landing
/// is handed back to [`Agent::landed`](crate::Agent::landed), before any other event.
#[derive(Debug, Default)]
#[must_use = "a decision that nobody carries out is lost"]
pub struct Decision {
    /// What is to be done, in order.
    pub actions: Vec<Action>,
    /// What must be on the disk before the agent goes on.
    pub land: Option<Landing>,
}

/// Something that must be on the disk before what follows from it, and the ticket for that.
#[derive(Debug)]
#[must_use = "what follows waits for `Agent::landed`"]
pub struct Landing {
    pub(crate) what: What,
}

/// What is landed, with what follows from it.
#[derive(Debug)]
pub(crate) enum What {
    Kept(Box<Kept>, Then),
    Book(Change, Ticket),
}

/// What follows when something else is kept than before.
#[derive(Debug)]
pub(crate) enum Then {
    /// The agent begins with what it kept.
    Begin,
    /// A declaration is taken, and answered if somebody asked.
    Take { ask: Option<AskId> },
    /// A word is kept: a pointer of which the book is told then, or a key that takes the place of another.
    Word { ask: AskId, pointer: Option<Box<Pointer>> },
    /// A grant is known as used.
    Spent,
    /// Something else is kept of what serves an instance.
    Serves { place: Place, serves: Serves },
}

/// What is to be brought onto the disk.
#[derive(Debug)]
pub enum ToLand<'a> {
    /// This is to be kept in place of what was kept before.
    Kept(&'a Kept),
    /// This change of the failure book goes to its journal.
    Book(&'a Change),
}

impl Landing {
    /// What it is.
    pub fn what(&self) -> ToLand<'_> {
        match &self.what {
            What::Kept(kept, _) => ToLand::Kept(kept),
            What::Book(change, _) => ToLand::Book(change),
        }
    }
}

/// Something to do. What takes time answers with an [`Event`](crate::Event).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Answer a question.
    Answer {
        /// Which one.
        ask: AskId,
        /// The answer.
        reply: DeclareReply,
    },
    /// Answer a signed word.
    AnswerWord {
        /// Which question.
        ask: AskId,
        /// The answer.
        reply: WordReply,
    },
    /// Answer what the failure book holds.
    AnswerBook {
        /// Which question.
        ask: AskId,
        /// The answer.
        status: Box<BookStatus>,
    },
    /// Bring a build onto the disk. At most one install of a build is asked for at a time.
    Install {
        /// Whose build.
        module: ModuleName,
        /// Which build.
        build: BuildId,
        /// What it consists of.
        artifacts: Vec<Artifact>,
    },
    /// Look at what would keep all of these from starting.
    Verify {
        /// Which look.
        verification: VerificationId,
        /// What is to be started.
        starts: Vec<Start>,
        /// Processes that will be gone by then.
        ours: Vec<RunId>,
    },
    /// Start a process.
    Start {
        /// Which start.
        run: RunId,
        /// How.
        start: Box<Start>,
    },
    /// Stop a process with its whole tree. It ends in [`Event::Exited`](crate::Event::Exited).
    Stop {
        /// Which process.
        run: RunId,
        /// How.
        how: Stop,
    },
    /// Check a process. The next one is asked for after the answer, or long after the time-out: whatever is left of the
    /// one before is then to be dropped.
    Check {
        /// Which process.
        run: RunId,
        /// Which of its checks.
        check: CheckId,
        /// What to ask.
        ask: Check,
        /// How long it may take.
        timeout: Duration,
    },
    /// Look at what is wrong with the machine itself. At most one such look is asked for at a time.
    Examine,
    /// Remove every installed build but these. Nothing is installed before [`Event::Collected`](crate::Event::Collected).
    Collect {
        /// What stays.
        keep: BTreeSet<(ModuleName, BuildId)>,
    },
    /// Make the machine's public addresses lead there, all of them, and say what became of that. Every stop that is decided
    /// with it or after it waits until it is in effect, and until what was forwarded to the process is drained.
    Route(Table),
    /// State how everything stands. A newer statement stands for all before it.
    State(Statement),
    /// Report, and say whether it was acknowledged.
    Report(Report),
    /// Say hello, and say what was answered.
    Hello(Hello),
}

/// How a process is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Whose process it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which of its resources.
    pub resource: ResourceName,
    /// Which build.
    pub build: BuildId,
    /// The execution that it belongs to.
    pub execution: ExecutionId,
    /// Program and arguments.
    pub command: Vec<String>,
    /// The manifest's environment, and over it the instance's.
    pub environment: BTreeMap<String, String>,
    /// Where it is reached.
    pub listen: Listen,
    /// The user it runs as; `None`: the agent's own.
    pub user: Option<String>,
    /// What it may use.
    pub limits: Limits,
    /// How its health is found out.
    pub check: Check,
    /// The build as it is declared, for this instance alone: what whoever finds the process wants to be told of it.
    pub declared: DeclaredModule,
}
