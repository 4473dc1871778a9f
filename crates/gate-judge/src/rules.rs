//! Every knob of the gate, and every point where it is better than the recorded behaviour.

use crate::policy::Policy;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The rules of judging, as one plain value.
///
/// [`Rules::default`] is Bellwether's judgement. [`Rules::reference`] is the recorded behaviour,
/// kept so that the two can be told apart case by case. Each field says which doubtful behaviour
/// of the reference it concerns, by its tag in the vectors, or *untagged* where none records it.
/// Nothing here is validated: see [`Policy::never_passes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// How often, how long, and until when.
    pub policy: Policy,
    /// From when the settle time counts. Tag: `settle_from_since`.
    pub settle_from: SettleFrom,
    /// What becomes of a gate that is first found good after its bound. Tag:
    /// `passes_after_the_bound`.
    pub late_pass: LatePass,
    /// How old the machine's statement may be at a counted pass; it must also be newer than the
    /// previous pass. `None`: nobody asks. *Untagged.*
    pub fresh: Option<Duration>,
    /// What a resource means whose supervisor gave up. *Untagged.*
    pub fail_fast: FailFast,
    /// What the bound means when all that is wanting is silence. Tag:
    /// `could_not_judge_fails_the_build`.
    pub on_silence: OnSilence,
    /// What happens between two counted passes. *Untagged.*
    pub between_passes: BetweenPasses,
    /// Whether a gate without machines may be. Tag: `vacuous_pass`.
    pub empty_gate: EmptyGate,
    /// Whether anything is judged at a time before the send. Tag: `now_before_since`.
    pub before_send: BeforeSend,
    /// What a judging counts whose time is before one made already. *Untagged.*
    pub set_back: SetBack,
    /// What it means that the facts themselves, or the catalogue, cannot be read. Tag:
    /// `bound_needs_a_judging`.
    pub unreadable_facts: UnreadableFacts,
    /// Whether a report must name the declaration and the build that were sent. *Untagged.*
    pub report_identity: Identity,
    /// Whether a report must have been made after the send. Tag: `report_time_not_compared`.
    pub report_time: ReportTime,
    /// How a machine says that it could not even try. *Untagged.*
    pub unable: Unable,
    /// Whether a statement must name the declaration, and each resource in it the build that was
    /// sent and an execution that the report names. *Untagged.*
    pub statement_identity: Identity,
    /// Of which modules a statement made after the send is wanted. Tag:
    /// `not_restated_without_resources`.
    pub restated: Restated,
    /// What it means that a machine with resources never stated anything. *Untagged.*
    pub never_stated: Lack,
    /// What it means that a resource of the manifest is not stated. *Untagged.*
    pub unstated_resource: Lack,
    /// Whether what was wanting on a machine before the send is held against the build.
    /// *Untagged.*
    pub baseline: BaselineUse,
    /// Whether a witness's verdict must name the build that was sent. *Untagged.*
    pub witness_identity: Identity,
    /// Whether the lease must be held by the build that was sent, on the machine it was sent to.
    /// Tag: `lease_grace_lets_the_old_controller_pass`.
    pub lease_identity: Identity,
    /// Whether node tools must answer under the build that was sent. *Untagged.*
    pub node_tools_identity: Identity,
    /// Which of a module's declared tools must be served. *Untagged.*
    pub served_tools: ServedTools,
    /// What it means that no node tools answer where a module with tools was moved. *Untagged.*
    pub silent_runtime: Lack,
    /// What it means that the catalogue has no manifest of a module. Tag:
    /// `module_missing_from_catalogue`.
    pub missing_manifest: Lack,
    /// What it means that nothing is known to compare an engine's build with. Tag:
    /// `engine_without_delivered_versions`.
    pub incomparable_engine: Lack,
    /// Whom a core-behind condition holds back that names a component. Tag:
    /// `core_behind_pinned_on_the_other_core_module`.
    pub core_behind: CoreBehind,
    /// Whether a condition is about a machine that only its id names. Tag:
    /// `machine_only_in_id_not_seen`.
    pub machine_in_id: MachineInId,
    /// Whether a machine with something wrong as a whole is believed when it speaks against a
    /// module. *Untagged.*
    pub ill_machine: IllMachine,
}

/// From when the settle time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettleFrom {
    /// From the send, however late the first pass was.
    Send,
    /// From the first pass of the present row.
    FirstPass,
}

/// What becomes of a gate that is first found good after its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatePass {
    /// Its passes count, however late.
    Counts,
    /// The gate ends: the first pass of a row must come within the bound. The row may end after.
    EndsTheGate,
}

/// What a resource means whose supervisor gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailFast {
    /// It is unhealthy like another, and waited for until the bound.
    Off,
    /// It is broken at once.
    On,
}

/// What the bound means when all that is wanting is silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSilence {
    /// The build failed.
    Failed,
    /// Nobody can tell, except where the silent source is itself what was moved.
    CannotTell,
}

/// What happens between two counted passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetweenPasses {
    /// Nothing is read or judged until the distance is over.
    Wait,
    /// It is judged all the same: what is broken or wanting counts at once, what is good does not.
    Judge,
}

/// Whether a gate without machines may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyGate {
    /// It may, and passes, since nothing is wanting.
    Passes,
    /// It is not opened; and one that is there never passes.
    NeverPasses,
}

/// Whether anything is judged at a time before the send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BeforeSend {
    /// It is, and counts.
    Judged,
    /// It is not, and changes nothing.
    NotJudged,
}

/// What a judging counts whose time is before one made already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SetBack {
    /// As much as any other.
    Counts,
    /// What it finds good is not counted; what it finds broken or wanting is.
    NoPass,
}

/// What it means that the facts themselves, or the catalogue, cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnreadableFacts {
    /// Nothing changes, for as long as it lasts.
    ChangeNothing,
    /// Everything is wanting: the row of passes ends, and at the bound nobody can tell.
    AreWanting,
}

/// Whether evidence must name what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identity {
    /// Nothing is compared: it is enough that the evidence is later than the send.
    NotCompared,
    /// It must name what was sent; where it names nothing, it is *not yet*.
    Compared,
}

/// Whether a report must have been made after the send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportTime {
    /// Any time will do.
    Any,
    /// At the send or after it.
    SinceSend,
}

/// How a machine says that it could not even try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unable {
    /// By any word; it is an outcome like any that is not known.
    NotKnown,
    /// By the outcome *unable*, which is silence at the bound.
    Known,
}

/// Of which plain modules a statement made after the send is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restated {
    /// Of every one, once its machine made any statement.
    EveryModule,
    /// Of those with resources, by their manifest or by the statement.
    WithResources,
}

/// What it means that something is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// Nothing.
    IsNothing,
    /// It is wanting: *not yet*.
    IsWanting,
}

/// Whether what was wanting on a machine before the send is held against the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineUse {
    /// It is: nobody looks at what was before.
    Ignored,
    /// A condition that was open before is no evidence; a resource that was wanting before must
    /// be healthy all the same, but when it is not at the bound, nobody can tell.
    Compared,
}

/// Which of a module's declared tools must be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServedTools {
    /// Any of them.
    Any,
    /// Each of them, by name.
    Each,
}

/// Whom a core-behind condition holds back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoreBehind {
    /// Every core component that was moved there, whichever it names.
    EveryMoved,
    /// The component that it names, and nobody when that one was not moved. One that names none
    /// holds back every core component that was moved there.
    TheNamed,
}

/// Whether a condition is about a machine that only its id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineInId {
    /// It is not, unless its scope is the machine and its whole id the name.
    NotSeen,
    /// It is, when its subject names no machine and one of the id's parts is the name.
    Seen,
}

/// Whether a machine with something wrong as a whole is believed when it speaks against a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IllMachine {
    /// It is: what is seen of the module decides before what is wrong with the machine.
    Believed,
    /// It is not: a module that fails where the disk is full may fail for the disk's sake, so what
    /// is wrong with the machine is what is wanting. A core component is judged all the same,
    /// since the machine may be ill by it.
    NotBelieved,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            settle_from: SettleFrom::FirstPass,
            late_pass: LatePass::EndsTheGate,
            // Three statements, which a machine makes every 5 s.
            fresh: Some(Duration::from_secs(15)),
            fail_fast: FailFast::On,
            on_silence: OnSilence::CannotTell,
            between_passes: BetweenPasses::Judge,
            empty_gate: EmptyGate::NeverPasses,
            before_send: BeforeSend::NotJudged,
            set_back: SetBack::NoPass,
            unreadable_facts: UnreadableFacts::AreWanting,
            report_identity: Identity::Compared,
            report_time: ReportTime::SinceSend,
            unable: Unable::Known,
            statement_identity: Identity::Compared,
            restated: Restated::WithResources,
            never_stated: Lack::IsWanting,
            unstated_resource: Lack::IsWanting,
            baseline: BaselineUse::Compared,
            witness_identity: Identity::Compared,
            lease_identity: Identity::Compared,
            node_tools_identity: Identity::Compared,
            served_tools: ServedTools::Each,
            silent_runtime: Lack::IsWanting,
            missing_manifest: Lack::IsWanting,
            incomparable_engine: Lack::IsWanting,
            core_behind: CoreBehind::TheNamed,
            machine_in_id: MachineInId::Seen,
            ill_machine: IllMachine::NotBelieved,
        }
    }
}

impl Rules {
    /// The recorded behaviour.
    #[must_use]
    pub fn reference() -> Self {
        Self {
            policy: Policy::default(),
            settle_from: SettleFrom::Send,
            late_pass: LatePass::Counts,
            fresh: None,
            fail_fast: FailFast::Off,
            on_silence: OnSilence::Failed,
            between_passes: BetweenPasses::Wait,
            empty_gate: EmptyGate::Passes,
            before_send: BeforeSend::Judged,
            set_back: SetBack::Counts,
            unreadable_facts: UnreadableFacts::ChangeNothing,
            report_identity: Identity::NotCompared,
            report_time: ReportTime::Any,
            unable: Unable::NotKnown,
            statement_identity: Identity::NotCompared,
            restated: Restated::EveryModule,
            never_stated: Lack::IsNothing,
            unstated_resource: Lack::IsNothing,
            baseline: BaselineUse::Ignored,
            witness_identity: Identity::NotCompared,
            lease_identity: Identity::NotCompared,
            node_tools_identity: Identity::NotCompared,
            served_tools: ServedTools::Any,
            silent_runtime: Lack::IsNothing,
            missing_manifest: Lack::IsNothing,
            incomparable_engine: Lack::IsNothing,
            core_behind: CoreBehind::EveryMoved,
            machine_in_id: MachineInId::NotSeen,
            ill_machine: IllMachine::Believed,
        }
    }

    /// These rules with a policy of its own.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }
}
