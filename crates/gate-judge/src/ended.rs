//! How a gate ends, and by what.

use crate::reason::Reason;
use crate::weight::{Blame, Weight, blame};
use alloc::string::String;
use alloc::vec::Vec;
use chrono::{DateTime, Utc};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A gate's end. It is final.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: DateTime<Utc>,
    /// Which, and why.
    pub end: End,
    /// All that was wanting in the judging that ended it, pair by pair; where it was good at last
    /// but too late, what was last wanting of each module.
    pub wanting: Vec<Wanting>,
}

/// The three ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It was good for long enough.
    Passed {
        /// How many passes in a row.
        passes: u32,
    },
    /// It was broken, or still wanting at the bound.
    Failed(FailedBy),
    /// It was still wanting at the bound, and nothing that was seen speaks against the build.
    CannotTell(Cause),
}

/// What failed a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedBy {
    /// Something was broken: the first of all that were.
    Broken(Wanting),
    /// It was still wanting at the bound.
    Bound(Cause),
}

/// What held a gate back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A module on a machine: the first of all that were wanting.
    Pair(Wanting),
    /// The catalogue could not be read.
    CatalogueUnreadable,
    /// The facts could not be read.
    FactsUnreadable,
    /// There is nothing to judge.
    NothingToJudge,
    /// It was first judged, and found good, after the bound.
    FirstGoodTooLate,
}

/// A module that is not good on a machine, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanting {
    /// The module.
    pub module: String,
    /// The machine.
    pub machine: String,
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
    /// What it says against the build when the bound falls.
    pub weight: Weight,
}

impl Ended {
    /// Whether anybody saw that a module does not do. Where nobody did, its build did not fail with
    /// the gate: it waited for others, for its machine, or for a source that was silent.
    #[must_use]
    pub fn speaks_against(&self, module: &str) -> bool {
        self.wanting.iter().any(|it| it.module == module && it.weight == Weight::Evidence)
    }

    /// Who is to blame; `None` when it passed. The build, when there is any evidence against it;
    /// else the machine, when any machine was silent or wrong as a whole.
    #[must_use]
    pub fn blame(&self) -> Option<Blame> {
        let first = match &self.end {
            End::Passed { .. } => return None,
            End::Failed(FailedBy::Broken(wanting)) => Some(wanting),
            End::Failed(FailedBy::Bound(cause)) | End::CannotTell(cause) => cause.pair(),
        };
        let blames = self.wanting.iter().chain(first);
        let worst = blames.map(|wanting| blame(&wanting.reason, wanting.weight)).max();
        Some(worst.unwrap_or(Blame::Environment))
    }
}

impl Cause {
    /// The module on a machine that it is about, if it is about one.
    #[must_use]
    pub fn pair(&self) -> Option<&Wanting> {
        match self {
            Self::Pair(wanting) => Some(wanting),
            Self::CatalogueUnreadable
            | Self::FactsUnreadable
            | Self::NothingToJudge
            | Self::FirstGoodTooLate => None,
        }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Pair(wanting) => wanting.reason.code(),
            Self::CatalogueUnreadable => "catalogue_unreadable",
            Self::FactsUnreadable => "facts_unreadable",
            Self::NothingToJudge => "nothing_to_judge",
            Self::FirstGoodTooLate => "first_good_too_late",
        }
    }
}

impl Wanting {
    /// Whether it is broken, not only wanting so far.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.reason, Reason::Broken(_))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { passes } => write!(f, "good {passes} times in a row"),
            Self::Failed(FailedBy::Broken(wanting)) => wanting.fmt(f),
            Self::Failed(FailedBy::Bound(cause)) | Self::CannotTell(cause) => {
                write!(f, "still wanting at the bound: {cause}")
            }
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(wanting) => wanting.fmt(f),
            Self::CatalogueUnreadable => f.write_str("the catalogue cannot be read"),
            Self::FactsUnreadable => f.write_str("the facts cannot be read"),
            Self::NothingToJudge => f.write_str("there is nothing to judge"),
            Self::FirstGoodTooLate => f.write_str("it was first found good after the bound"),
        }
    }
}

impl fmt::Display for Wanting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, machine, reason, .. } = self;
        write!(f, "{module} on {machine}: {reason}")
    }
}
