//! What is asked and answered about what machines hold, and about the words that free it.

use chrono::{DateTime, Utc};
use inventory::DeclarationNumber;
use names::{
    AccountName, BuildId, ChannelName, Commit, InstanceName, MachineName, ModuleName, WordId,
};
use serde::{Deserialize, Serialize};

use super::answer::MachineState;
use crate::{
    book::{BookAsked, HeldInstance},
    report::ModuleOutcome,
    signed::{PointerKind, PublicKey},
    statement::ResourceState,
    word::{Word, WordReply},
};

/// What only a machine can answer. The controller hands it on and answers what the machine says; it waits for a few
/// seconds, and says so when nothing came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "question", content = "with")]
pub enum Question {
    /// What does your failure book hold?
    Book(BookAsked),
    /// Somebody signed this. Nobody on the way can change it.
    Word(Word),
}

/// One instance that is declared on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceView {
    /// Where.
    pub machine: MachineName,
    /// Whether that machine is heard.
    pub heard: MachineState,
    /// Of which module.
    pub module: ModuleName,
    /// Which.
    pub instance: InstanceName,
    /// The build that it is declared.
    pub build: BuildId,
    /// What the source calls that build, where it is still kept.
    pub commit: Option<Commit>,
    /// What it runs, as its machine last stated; none: nothing was stated of it.
    pub runs: Option<RunView>,
    /// What its machine reported of its module on the newest declaration; none: it has not reported on it.
    pub outcome: Option<ModuleOutcome>,
    /// Which report that was.
    pub report: Option<ReportPlace>,
    /// What the machine's failure book holds against it, as it last reported; none: it did not say, as an agent without a
    /// book does not.
    pub held: Option<Vec<HeldInstance>>,
}

/// What an instance runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunView {
    /// The build.
    pub build: BuildId,
    /// What the source calls it, where it is still kept.
    pub commit: Option<Commit>,
    /// How the resource stands that stands worst.
    pub state: ResourceState,
    /// Why it is not healthy.
    pub why: Option<String>,
}

/// A report's place among those of its machine: a later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReportPlace {
    /// On which declaration.
    pub declaration: DeclarationNumber,
    /// Which of the reports on it.
    pub revision: u64,
}

/// A pointer that the controller keeps, and who has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerView {
    /// Its id.
    pub id: WordId,
    /// Whose module it is of.
    pub account: AccountName,
    /// Of which module.
    pub module: ModuleName,
    /// Of which of its channels.
    pub channel: ChannelName,
    /// The build that it names.
    pub build: BuildId,
    /// What the source calls that build.
    pub commit: Option<Commit>,
    /// What is meant by it.
    pub kind: PointerKind,
    /// Its stamp.
    pub promoted_at: DateTime<Utc>,
    /// Who signed it.
    pub signed_by: PublicKey,
    /// Who handed it to the controller.
    pub by: String,
    /// Every machine of the module.
    pub machines: Vec<PointedView>,
    /// The command that moves the machines which are not declared that build: a pointer frees, and moves nothing. None: all of
    /// them are.
    pub moves: Option<String>,
}

/// One machine, and what it says to a pointer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointedView {
    /// Which.
    pub machine: MachineName,
    /// Whether it is heard.
    pub heard: MachineState,
    /// What it answered; none: nothing yet since the controller started. It is handed the pointer again when it says hello.
    pub reply: Option<WordReply>,
}
