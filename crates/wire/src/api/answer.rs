//! The answers.

use core::net::SocketAddr;

use chrono::{DateTime, Utc};
use inventory::DeclarationNumber;
use names::{BuildId, Commit, InstanceName, MachineName, ModuleName, PlanId, ResourceName};
use serde::{Deserialize, Serialize};

use super::held::{InstanceView, PointerView};
use crate::{book::BookStatus, statement::ResourceState, word::WordReply};

/// What the controller answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer", content = "with")]
pub enum Answer {
    /// Every machine.
    Machines(Vec<MachineView>),
    /// Every module.
    Modules(Vec<ModuleView>),
    /// Builds.
    Builds(Vec<BuildView>),
    /// Plans, the newest first.
    Plans(Vec<PlanView>),
    /// One plan.
    Plan(Box<PlanView>),
    /// Gates, the newest first.
    Gates(Vec<GateView>),
    /// All that is wrong now, the most severe first.
    Conditions(Vec<ConditionView>),
    /// The build is kept.
    Registered(Registered),
    /// The plan is kept, or told.
    Released(Box<Released>),
    /// Instances, by machine, module and name.
    Instances(Vec<InstanceView>),
    /// What a machine's failure book holds.
    Book(Box<BookStatus>),
    /// What a machine says to a signed word.
    Said(WordReply),
    /// The pointer is kept, and on its way to the machines.
    Pointed(Box<PointerView>),
    /// The pointers that are kept.
    Pointers(Vec<PointerView>),
    /// It is done; what was done, in a sentence.
    Done(String),
    /// It is not done.
    Refused(Refusal),
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// What kind of reason.
    pub kind: RefusalKind,
    /// What and why.
    pub why: String,
    /// What to do, where something can be done.
    pub hint: Option<String>,
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// There is no such thing.
    Unknown,
    /// A rule forbids it.
    Rule,
    /// The request makes no sense.
    Usage,
    /// It is not known to be written down, so nothing follows from it.
    NotKept,
    /// The machine that would have to answer does not.
    Silent,
}

/// A kept build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Of which module.
    pub module: ModuleName,
    /// Its id.
    pub build: BuildId,
    /// What the source calls it.
    pub commit: Commit,
    /// Whether the very same content was kept already, under this id.
    pub known: bool,
}

/// A plan that was made or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Released {
    /// The plan; a dry run's is told and not kept.
    pub plan: PlanView,
    /// Whether it was only told.
    pub dry: bool,
}

/// A machine and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineView {
    /// Its name.
    pub machine: MachineName,
    /// Whether it is heard.
    pub state: MachineState,
    /// When it last said anything; not known since the controller started: none.
    pub heard: Option<DateTime<Utc>>,
    /// The version of its agent.
    pub agent: Option<String>,
    /// The number of the declaration that it should hold.
    pub declared: Option<DeclarationNumber>,
    /// The number of the declaration that it says it holds.
    pub holds: Option<DeclarationNumber>,
    /// What it runs, as it last said.
    pub resources: Vec<ResourceView>,
}

/// Whether a machine is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineState {
    /// It was heard of late.
    Heard,
    /// It was not heard of late: how it stands is not known.
    Silent,
    /// It was not heard since the controller started.
    Unheard,
}

/// A resource as its machine last stated it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceView {
    /// Of which module.
    pub module: ModuleName,
    /// Of which instance.
    pub instance: InstanceName,
    /// Which.
    pub resource: ResourceName,
    /// The build.
    pub build: BuildId,
    /// What the source calls the build, where the build is still kept.
    pub commit: Option<Commit>,
    /// How it stands.
    pub state: ResourceState,
    /// How often it was restarted in this execution.
    pub restarts: u32,
    /// Where it listens.
    pub address: Option<SocketAddr>,
    /// Why it is not healthy.
    pub why: Option<String>,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleView {
    /// Its name.
    pub module: ModuleName,
    /// The registered build.
    pub registered: Option<BuildView>,
    /// The last build that passed its gate.
    pub proven: Option<BuildView>,
    /// Where it is assigned, as people wrote it.
    pub assigned: Vec<String>,
    /// The machines that these assignments come to.
    pub machines: Vec<MachineName>,
    /// The plan that moves it now.
    pub plan: Option<PlanId>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildView {
    /// Of which module.
    pub module: ModuleName,
    /// Its id.
    pub build: BuildId,
    /// What the source calls it.
    pub commit: Commit,
    /// `unproven`, `proven` or `condemned`.
    pub standing: String,
    /// Why it is condemned.
    pub why: Option<String>,
    /// When it was registered.
    pub registered_at: DateTime<Utc>,
    /// The machines that are declared it.
    pub machines: Vec<MachineName>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanView {
    /// Its id.
    pub plan: PlanId,
    /// Who asked for it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// `queued`, `sending`, `judging`, `putting back`, `done`, `failed`, `cannot tell`, `stopped` or `superseded`.
    pub state: String,
    /// What it waits for, or how it ended, in a sentence.
    pub note: String,
    /// What moves, tier by tier.
    pub moves: Vec<MoveView>,
    /// Where, wave by wave.
    pub waves: Vec<WaveView>,
    /// Why the first machine is first.
    pub first: Option<String>,
    /// The gate that it waits at or that ended it.
    pub gate: Option<GateView>,
    /// Whether it has ended and owes nothing: nothing of it is still being put back.
    pub ended: bool,
}

/// One module's move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveView {
    /// In which tier, from 1.
    pub tier: usize,
    /// Which module.
    pub module: ModuleName,
    /// From which build's commit; the first build comes from none.
    pub from: Option<String>,
    /// To which build.
    pub to: BuildId,
    /// What the source calls it.
    pub commit: Option<Commit>,
    /// What became of it: `unproven`, `passed`, `failed`, `cannot tell`.
    pub end: String,
    /// What came of putting it back, where it was.
    pub rollback: Option<String>,
}

/// One wave of one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveView {
    /// In which tier, from 1.
    pub tier: usize,
    /// Which wave, from 0: the first machines.
    pub wave: usize,
    /// Its machines.
    pub machines: Vec<MachineName>,
    /// Those that were away when the tier began.
    pub away: Vec<MachineName>,
    /// How far it is.
    pub state: WaveState,
}

/// How far a wave is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaveState {
    /// It was sent nothing.
    Waiting,
    /// It was sent the tier and is being judged.
    Judging,
    /// Its gate passed.
    Passed,
    /// Its gate did not pass.
    NotPassed,
}

/// A gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateView {
    /// Of which plan.
    pub plan: PlanId,
    /// The modules that it judges.
    pub modules: Vec<ModuleName>,
    /// The machines that it judges them on.
    pub machines: Vec<MachineName>,
    /// `judging`, `passed`, `failed` or `cannot tell`.
    pub state: String,
    /// When the builds were sent.
    pub since: DateTime<Utc>,
    /// Passes counted in a row.
    pub passes: u32,
    /// Passes wanted.
    pub of: u32,
    /// What was wanting at the last judging.
    pub wanting: Vec<String>,
    /// How it ended and why.
    pub why: Option<String>,
}

/// Something that is wrong now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionView {
    /// Its key.
    pub key: String,
    /// `info`, `warning` or `urgent`.
    pub severity: String,
    /// What is wrong.
    pub summary: String,
    /// Since when.
    pub raised: DateTime<Utc>,
    /// When it was last seen.
    pub last_seen: DateTime<Utc>,
    /// How often.
    pub times_seen: u32,
    /// The command that shows more.
    pub show: String,
    /// What to do.
    pub resolve: Vec<String>,
}
