//! Everything that can wake an agent.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use inventory::Declaration;
use names::{BuildId, ModuleName};
use wire::{
    BookAsked, HelloReply, ModuleOutcome, ProcessIdentity, ReportReply, Trouble, UnableBecause,
    Word,
};

use crate::draws::{AskId, CheckId, RunId, VerificationId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Nothing but time.
    Tick,
    /// A declaration came, and whoever sent it waits for an answer.
    Declared {
        /// Which question to answer.
        ask: AskId,
        /// What came.
        declaration: Box<Declaration>,
    },
    /// The hello was answered.
    HelloAnswered(Box<HelloReply>),
    /// The hello was not answered.
    HelloUnanswered,
    /// A report was acknowledged.
    ReportKept(ReportReply),
    /// The report was not acknowledged.
    ReportUnanswered,
    /// An install that was asked for is over.
    Installed {
        /// Whose build.
        module: ModuleName,
        /// Which build.
        build: BuildId,
        /// Whether it is on the disk, whole.
        outcome: Result<(), Obstacle>,
    },
    /// A look at what a start needs is over.
    Verified {
        /// Which look.
        verification: VerificationId,
        /// Whether nothing is in the way.
        outcome: Result<(), Obstacle>,
    },
    /// A process runs.
    Started {
        /// Which start.
        run: RunId,
        /// Which process it became.
        process: ProcessIdentity,
        /// Where it was told to listen.
        address: SocketAddr,
    },
    /// A process could not be started.
    NotStarted {
        /// Which start.
        run: RunId,
        /// What was in the way.
        obstacle: Obstacle,
    },
    /// A check is over.
    Checked {
        /// Of which process.
        run: RunId,
        /// Which of its checks: one that was given up on counts for nothing when it is answered after all.
        check: CheckId,
        /// What it found wrong, in words.
        outcome: Result<(), String>,
    },
    /// A process and its whole tree are gone. It never comes before the process's [`Event::Started`].
    Exited {
        /// Which process.
        run: RunId,
        /// Exit status or signal, in words.
        how: String,
        /// The last lines that it wrote.
        last_lines: Vec<String>,
    },
    /// A signed word came, and whoever handed it over waits for an answer.
    Worded {
        /// Which question to answer.
        ask: AskId,
        /// What came.
        word: Box<Word>,
    },
    /// Somebody asks what the failure book holds.
    BookAsked {
        /// Which question to answer.
        ask: AskId,
        /// Of what.
        asked: BookAsked,
    },
    /// What became of a table of addresses: of each that is not as it says, why; or why none of it is in effect.
    Routed(Result<BTreeMap<SocketAddr, String>, String>),
    /// Whatever led the addresses is gone.
    RoutesLost,
    /// The machine itself was looked at.
    Examined {
        /// What is wrong with it.
        troubles: Vec<Trouble>,
    },
    /// The removal of builds that was asked for is over.
    Collected,
    /// The agent is asked to end; nothing more is begun.
    ShutDown(Ending),
}

/// What becomes of what runs when an agent is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It goes on, and the next agent finds it.
    Leave,
    /// Everything is stopped whole first.
    Stop,
}

/// What keeps a build from being tried. It says nothing about the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// The kind of it.
    pub because: UnableBecause,
    /// In words, with what to do.
    pub why: String,
}

impl Obstacle {
    pub(crate) fn outcome(&self) -> ModuleOutcome {
        ModuleOutcome::Unable { because: self.because, why: self.why.clone() }
    }
}
