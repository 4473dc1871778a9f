//! A gate's whole story, written down: to be judged again, by the same rules or by others.

use crate::facts::{Catalogue, Facts};
use crate::gate::{Gate, NothingToJudge, Opening};
use crate::judging::{Judging, Unread};
use crate::rules::Rules;
use alloc::boxed::Box;
use alloc::vec::Vec;
use chrono::{DateTime, Utc};
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// What a gate was about, and what was known at each of its judgings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// What it was about.
    pub opening: Opening,
    /// The manifests of what it judged.
    pub catalogue: Catalogue,
    /// Its judgings, in order.
    pub steps: Vec<RecordedStep>,
}

/// What was known at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// When.
    pub now: DateTime<Utc>,
    /// What.
    #[serde(flatten)]
    pub known: Known,
}

/// What was known at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// The facts.
    Facts(Box<Facts>),
    /// Nothing: this could not be read.
    Unreadable(Unread),
    /// Nothing, since nobody could observe for so many milliseconds up to now.
    UnobservedMs(u64),
}

/// A gate that was judged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// How it stands after the last step.
    pub gate: Gate,
    /// What each step found; a time in which nobody observed finds nothing.
    pub judgings: Vec<(DateTime<Utc>, Judging)>,
}

impl Recording {
    /// Judges it all again.
    ///
    /// # Errors
    ///
    /// [`NothingToJudge`] when these rules would not have opened the gate.
    pub fn replay(&self, rules: &Rules) -> Result<Replayed, NothingToJudge> {
        let mut gate = Gate::open(self.opening.clone(), rules)?;
        let mut judgings = Vec::new();
        for RecordedStep { now, known } in &self.steps {
            let judging = match known {
                Known::Facts(facts) => gate.judge(&facts.index(), &self.catalogue, *now, rules),
                Known::Unreadable(what) => gate.cannot_read(*what, *now, rules),
                Known::UnobservedMs(gap_ms) => {
                    gate.unobserved(Duration::from_millis(*gap_ms));
                    continue;
                }
            };
            judgings.push((*now, judging));
        }
        Ok(Replayed { gate, judgings })
    }
}
