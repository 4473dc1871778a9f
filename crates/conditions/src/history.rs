//! How often and how long a condition was open, and whether it flaps.

use alloc::vec::Vec;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// A condition that appeared this often within [`FLAPPING_WINDOW`] flaps. Once is trouble, twice may
/// be a repair that did not hold; the third time it is the coming and going that is the trouble.
pub const FLAPPING_APPEARANCES: usize = 3;

/// See [`FLAPPING_APPEARANCES`]. As long as a gate's usual bound, so that within one gate a resource
/// that comes and goes does not look well in between.
pub const FLAPPING_WINDOW: TimeDelta = TimeDelta::minutes(10);

/// What is remembered of a key after its condition cleared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// How often it was raised.
    pub times_raised: u32,
    /// How long it was open in all, in milliseconds; an open condition's present time not included.
    pub open_ms_total: u64,
    /// When it last cleared; `None` while it has been open once only.
    pub last_cleared: Option<DateTime<Utc>>,
    /// When it was last said after not being said, newest last, at most [`FLAPPING_APPEARANCES`].
    appearances: Vec<DateTime<Utc>>,
}

impl History {
    pub(crate) fn appeared(&mut self, now: DateTime<Utc>) {
        if self.appearances.len() == FLAPPING_APPEARANCES {
            self.appearances.remove(0);
        }
        self.appearances.push(now);
    }

    pub(crate) fn cleared(&mut self, raised: DateTime<Utc>, now: DateTime<Utc>) {
        // A clock that was set back counts as no time at all.
        let open_ms = u64::try_from((now - raised).num_milliseconds()).unwrap_or(0);
        self.open_ms_total = self.open_ms_total.saturating_add(open_ms);
        self.last_cleared = Some(now);
    }

    /// Whether it came and went too often of late.
    #[must_use]
    pub fn steadiness(&self, now: DateTime<Utc>) -> Steadiness {
        let often = self.appearances.len() == FLAPPING_APPEARANCES;
        if often && self.appearances.iter().all(|appeared| now - *appeared < FLAPPING_WINDOW) {
            Steadiness::Flapping
        } else {
            Steadiness::Steady
        }
    }
}

/// Whether a condition comes and goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Steadiness {
    /// It is there or it is not.
    Steady,
    /// It appeared [`FLAPPING_APPEARANCES`] times within [`FLAPPING_WINDOW`].
    Flapping,
}
