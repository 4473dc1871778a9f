//! What a handling needs next.

use conditions::{End, Observation, Rollback};

use super::case::Target;
use super::event::RollbackEvent;
use super::not_back::NotBack;

/// The one thing that a handling waits for. Each can be asked and done again without harm.
#[derive(Debug, Clone, PartialEq)]
pub enum Need<'a> {
    /// Compare the source fingerprints of two builds.
    SourceFingerprints {
        /// The module.
        module: &'a str,
        /// The commit that ran before.
        previous: &'a str,
        /// The commit that did not pass.
        commit: &'a str,
    },
    /// Compare the artifacts and manifests of two builds.
    ArtifactFingerprints {
        /// The module.
        module: &'a str,
        /// The commit that ran before.
        previous: &'a str,
        /// The commit that did not pass.
        commit: &'a str,
    },
    /// Look up the failed build's record.
    FailedBuild {
        /// The module.
        module: &'a str,
        /// The build.
        build: &'a str,
    },
    /// Look up the build to put back: asked for before the failed one, kept, and not condemned.
    PreviousBuild {
        /// The module.
        module: &'a str,
        /// The failed build.
        build: &'a str,
        /// The commit that ran before.
        previous: &'a str,
    },
    /// Keep a verdict, unless one is kept already.
    RecordVerdict(VerdictRecord<'a>),
    /// Look up the verdict that is kept already.
    KeptVerdict {
        /// The module.
        module: &'a str,
        /// The build.
        build: &'a str,
    },
    /// Set the registered build back.
    RestoreModule {
        /// The module.
        module: &'a str,
        /// The build to put back.
        target: &'a Target,
    },
    /// Save the plan, as failed.
    SavePlan {
        /// The module whose failure is being handled.
        module: &'a str,
        /// How its rollback stands.
        rollback: Rollback,
    },
    /// Send machines all that goes back, in one ordinary declaration each.
    Send {
        /// The machines.
        machines: Vec<&'a str>,
        /// What goes back, sorted by module.
        modules: Vec<PutBack<'a>>,
    },
    /// Wait for reports on what was sent.
    Reports {
        /// What is still waited for.
        awaited: Vec<Awaited<'a>>,
    },
    /// Keep with the verdict how the rollback ended.
    SetRollback(RollbackRecord<'a>),
    /// Raise the condition.
    RaiseCondition {
        /// The module.
        module: &'a str,
        /// What is seen to be wrong.
        observation: &'a Observation,
    },
    /// Publish the event.
    PublishEvent(Box<RollbackEvent>),
    /// Nothing more.
    Done,
}

/// A verdict, and the rollback that is decided with it.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictRecord<'a> {
    /// The module.
    pub module: &'a str,
    /// The build that did not pass.
    pub build: &'a str,
    /// Its commit.
    pub commit: Option<&'a str>,
    /// The commit that ran before.
    pub previous: Option<&'a str>,
    /// How the gate ended.
    pub end: End,
    /// How the rollback stands.
    pub rollback: Rollback,
    /// The rollback's id.
    pub rollback_id: &'a str,
    /// The build to put back; `None` where none was found.
    pub target: Option<&'a Target>,
    /// Why none goes back, where none was found.
    pub not_back: Option<&'a NotBack>,
    /// Why the gate ended so.
    pub why: &'a str,
    /// The core component that the module is.
    pub component: Option<&'a str>,
    /// The gate's machines.
    pub machines: &'a [String],
}

/// How a rollback ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RollbackRecord<'a> {
    /// The module.
    pub module: &'a str,
    /// The build that did not pass.
    pub build: &'a str,
    /// The rollback's id.
    pub rollback_id: &'a str,
    /// How it ended.
    pub rollback: Rollback,
    /// Why the gate ended so.
    pub why: &'a str,
    /// Why it was not put back.
    pub not_back: Option<&'a NotBack>,
}

/// A module that goes back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PutBack<'a> {
    /// The module.
    pub module: &'a str,
    /// The build to put back.
    pub target: &'a Target,
    /// The rollback's id.
    pub rollback_id: &'a str,
}

/// A report that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Awaited<'a> {
    /// The module.
    pub module: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// The number of the declaration that carries it.
    pub declaration: u64,
}

impl Need<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::SourceFingerprints { .. } => "source fingerprints",
            Self::ArtifactFingerprints { .. } => "artifact fingerprints",
            Self::FailedBuild { .. } => "failed build",
            Self::PreviousBuild { .. } => "previous build",
            Self::RecordVerdict(_) => "verdict",
            Self::KeptVerdict { .. } => "kept verdict",
            Self::RestoreModule { .. } => "module restored",
            Self::SavePlan { .. } => "plan saved",
            Self::Send { .. } => "sent",
            Self::Reports { .. } => "reports",
            Self::SetRollback(_) => "rollback set",
            Self::RaiseCondition { .. } => "condition raised",
            Self::PublishEvent(_) => "event published",
            Self::Done => "nothing",
        }
    }
}
