//! What a handling is told: look-ups, writes, the send and the machines' reports.

use std::collections::BTreeMap;

use conditions::Rollback;
use serde::{Deserialize, Serialize};

use super::case::Target;
use super::not_back::NotBack;

/// The answer to what a handling needs; one kind for each kind of need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// How the two builds' source fingerprints compare.
    SourceFingerprints(Likeness),
    /// How the two builds' artifacts and manifests compare.
    ArtifactFingerprints(Likeness),
    /// The failed build's record.
    FailedBuild(FailedBuild),
    /// The build that ran there before.
    PreviousBuild(PreviousBuild),
    /// Whether the verdict was kept.
    Verdict(Recorded),
    /// The verdict that was kept already; `None` when it is not found.
    KeptVerdict(Option<KeptVerdict>),
    /// Whether the registered build was set back.
    ModuleRestored(Wrote),
    /// Whether the plan was saved.
    PlanSaved(Wrote),
    /// Whether the send was accepted.
    Sent(Sent),
    /// Reports that arrived; more may come.
    Reports(Vec<Report>),
    /// No more reports are waited for.
    ReportsEnded,
    /// Whether the rollback's word was kept.
    RollbackSet(Wrote),
    /// The condition was raised, or nobody keeps conditions, or raising it failed: it makes no
    /// difference, since the probe of gates says it again.
    ConditionRaised,
    /// The event was published, or nobody takes events, or publishing it failed.
    EventPublished,
}

impl Answer {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::SourceFingerprints(_) => "source fingerprints",
            Self::ArtifactFingerprints(_) => "artifact fingerprints",
            Self::FailedBuild(_) => "failed build",
            Self::PreviousBuild(_) => "previous build",
            Self::Verdict(_) => "verdict",
            Self::KeptVerdict(_) => "kept verdict",
            Self::ModuleRestored(_) => "module restored",
            Self::PlanSaved(_) => "plan saved",
            Self::Sent(_) => "sent",
            Self::Reports(_) => "reports",
            Self::ReportsEnded => "reports ended",
            Self::RollbackSet(_) => "rollback set",
            Self::ConditionRaised => "condition raised",
            Self::EventPublished => "event published",
        }
    }
}

/// The answer is not to what the handling needs; nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("answered `{answered}` where `{needed}` was needed")]
pub struct NotAsked {
    /// What the handling needs.
    pub needed: &'static str,
    /// What it was told.
    pub answered: &'static str,
}

/// How the previous and the failed build compare by one fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// Both have it, and it is the same.
    Identical,
    /// Both have it, and it differs.
    Different,
    /// One of them has none.
    Unknown,
    /// It could not be read.
    Unreadable,
}

/// What is known of the failed build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedBuild {
    /// Its record is there.
    Found,
    /// Its record is there, and it declared that no older build can follow it.
    PointOfNoReturn,
    /// It has no record.
    Missing,
    /// Its record could not be read.
    Unreadable,
}

/// What is known of the build that ran there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousBuild {
    /// It is kept, and not condemned: the id of the build to put back.
    Found(String),
    /// It is kept, and condemned: it must not run again.
    Condemned,
    /// It is not kept.
    NotFound,
    /// The records of builds could not be read.
    Unreadable,
}

/// Whether a verdict was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It has landed.
    Kept,
    /// One is kept for this build and trial already; a verdict is never written over.
    KeptAlready,
    /// It could not be kept.
    Failed,
}

/// A verdict that was kept earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptVerdict {
    /// How its rollback stood last.
    pub rollback: Rollback,
    /// The id of that rollback.
    pub rollback_id: Option<String>,
    /// The build that was to be put back; `None` when none was found.
    pub target: Option<Target>,
    /// Why it was not put back.
    pub not_back: Option<NotBack>,
}

/// Whether a write landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// It has landed.
    Landed,
    /// It failed, or nobody knows whether it landed.
    Failed,
}

/// Whether a send was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Each machine that takes it, with the number of the declaration that carries it.
    Accepted(BTreeMap<String, u64>),
    /// It was refused as a whole.
    Refused,
}

/// What a machine reports of one module of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The machine.
    pub machine: String,
    /// The module.
    pub module: String,
    /// The number of the declaration that the report is about.
    pub declaration: u64,
    /// What happened.
    pub outcome: Reported,
}

/// What happened to a module of a declaration on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reported {
    /// It runs as declared.
    Applied,
    /// It was tried and failed.
    Failed {
        /// Why.
        why: String,
    },
    /// It was not tried.
    Refused(Refusal),
    /// A word of another version, or what is neither done nor refused: it could not be tried.
    Other {
        /// What the machine says.
        said: String,
    },
}

/// An instance that a machine's failure book holds back, and what holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeldBack {
    /// The instance.
    pub instance: String,
    /// The build that the book holds against it.
    pub build: String,
    /// How, in the book's words: `record`, `marker`, `held down`.
    pub rule: String,
}

/// Why a machine refused a module of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Its failure book holds these instances down until a signed word frees them.
    Held {
        /// The instances, and what holds each.
        instances: Vec<HeldBack>,
    },
    /// Another rule refused it.
    Rule {
        /// Which.
        rule: String,
    },
}
