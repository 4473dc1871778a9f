//! What a gate found of a build, as it is kept for good.

use core::fmt;

use chrono::{DateTime, Utc};
use names::{BuildId, MachineName, ModuleName, PlanId, RollbackId};
use serde::{Deserialize, Serialize};

use crate::build::Content;

/// The end of a gate, laid on the build that was judged. One is kept for each (content, trial, stage) and never written
/// over; of a failed one only the word of its rollback moves on: see [`Verdicts`](crate::Verdicts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whose build it is.
    pub module: ModuleName,
    /// The build under the id that was sent.
    pub build: BuildId,
    /// What that build is; the verdict holds for every build that is the same.
    pub content: Content,
    /// The plan that sent it.
    pub plan: PlanId,
    /// The wave that was judged.
    pub wave: Wave,
    /// Which asking this answers.
    pub trial: Trial,
    /// Whether it answers that asking or takes an earlier pass back.
    pub stage: Stage,
    /// How the gate ended.
    pub end: End,
    /// Why it ended so.
    pub why: Why,
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The machines that were judged.
    pub machines: Vec<MachineName>,
}

/// Counts the waves of a plan; 0 is the first machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wave(pub u32);

/// Counts how often a content was asked whether it is good; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Trial(pub u32);

impl Trial {
    /// The first asking.
    pub const FIRST: Self = Self(1);

    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which part of a trial a verdict ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The first machines: a pass proves the content.
    First,
    /// All that is watched after that pass, which are later waves and the bake time. Only what is not a pass is kept here,
    /// so that the one place is free for the failure that condemns.
    Later,
}

/// How a gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It was found good.
    Passed,
    /// It was found bad.
    Failed {
        /// What is done about it.
        rollback: Rollback,
    },
    /// The evidence did not suffice. The machines are put back all the same, and the build is not condemned.
    CannotTell {
        /// What is done about it.
        rollback: Rollback,
    },
}

/// A stable code, and the sentence that a person reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// For programs.
    pub code: String,
    /// For people.
    pub text: String,
}

/// The putting back of what ran before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rollback {
    /// Written with the verdict, before anything is sent, so that a restarted controller finishes this one.
    pub id: RollbackId,
    /// How far it has come.
    pub word: RollbackWord,
}

/// How far a rollback has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackWord {
    /// It was decided; the machines have not all answered.
    RollingBack {
        /// The build that is put back.
        to: BuildId,
    },
    /// Every machine reported it applied.
    PutBack {
        /// The build that was put back.
        to: BuildId,
    },
    /// What failed may still be there; a person has to act.
    NotPutBack {
        /// The build that should have been put back; `None` where there was none to put back.
        to: Option<BuildId>,
        /// Which case it is.
        why: Why,
    },
    /// The send had not changed this module, so nothing of it is put back.
    Unchanged,
}

impl End {
    /// What is done about it; nothing is after a pass.
    pub const fn rollback(&self) -> Option<&Rollback> {
        match self {
            Self::Passed => None,
            Self::Failed { rollback } | Self::CannotTell { rollback } => Some(rollback),
        }
    }
}

impl RollbackWord {
    /// Whether this word may follow that one: what is rolling back moves on, what was not put back may still be, and to no
    /// other build than was decided.
    pub fn may_follow(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::RollingBack { to: decided }, Self::PutBack { to })
            | (Self::NotPutBack { to: Some(decided), .. }, Self::PutBack { to }) => to == decided,
            (Self::RollingBack { to: decided }, Self::NotPutBack { to, .. }) => {
                to.as_ref() == Some(decided)
            }
            (
                Self::RollingBack { .. }
                | Self::PutBack { .. }
                | Self::NotPutBack { .. }
                | Self::Unchanged,
                Self::RollingBack { .. }
                | Self::PutBack { .. }
                | Self::NotPutBack { .. }
                | Self::Unchanged,
            ) => false,
        }
    }
}
