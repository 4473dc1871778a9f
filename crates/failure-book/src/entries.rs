//! The three kinds of entry: failure records, hold-ran markers, intents.

use crate::hosts::Hosts;
use crate::identity::ExecutionId;
use crate::names::{Build, Host};
use alloc::borrow::Cow;
use alloc::string::String;
use chrono::{DateTime, Utc};
use core::fmt;
use core::num::NonZeroU64;

/// A time of day. Where one may not be known it is an `Option`: `None` is earlier than any.
///
/// Rows and documents write the first second of the first year for a time that is not known, so
/// that very second is taken for `None` also where it is given.
pub type Time = DateTime<Utc>;

/// What is written for a time that is not known.
pub(crate) const NO_TIME: Time = match DateTime::from_timestamp(-62_135_596_800, 0) {
    Some(time) => time,
    None => Time::MIN_UTC,
};

/// The time, if it is one.
pub(crate) fn known(time: Option<Time>) -> Option<Time> {
    time.filter(|time| *time != NO_TIME)
}

/// How an execution moves an instance onto a build.
///
/// The text is kept as it was given, also one that is neither of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode(Cow<'static, str>);

impl Mode {
    /// The new one starts beside the old one.
    pub const OVERLAP: Self = Self(Cow::Borrowed("overlap"));
    /// The old one stops before the new one starts: the build has the data to itself, and may
    /// migrate it.
    pub const HOLD: Self = Self(Cow::Borrowed("hold"));

    /// The mode of this text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is exactly [`Mode::HOLD`].
    #[must_use]
    pub fn is_hold(&self) -> bool {
        *self == Self::HOLD
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an instance has served a build already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// It has: the build is good there, and no record keeps the instance from it.
    Already,
    /// It has not.
    NotYet,
}

/// A failure record: this build failed here, and no instance of the app moves onto it, but those
/// that served it already and those that a retry freed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What failed.
    pub build: Build,
    /// Where it failed first.
    pub host: Host,
    /// What kind of failure it was. The book does not read it.
    pub cause: String,
    /// How the failed execution moved the instance.
    pub mode: Mode,
    /// What is told of it to people.
    pub reason: String,
    /// The stamp of the newest pointer that led to a failure of this build. Only a newer pointer
    /// lifts the record.
    pub promoted_at: Option<Time>,
    /// When it failed first.
    pub at: Option<Time>,
    /// Where a `hold` build ran and failed: nothing falls back there by itself.
    pub held_down: Hosts,
    /// Where a retry lifted the record.
    pub retried: Hosts,
}

impl Record {
    /// Whether the record keeps a host from the build.
    #[must_use]
    pub fn blocks(&self, host: &Host, served: Served) -> bool {
        match served {
            Served::Already => false,
            Served::NotYet => !self.retried.contains(host),
        }
    }

    /// Whether a host is held down.
    #[must_use]
    pub fn holds_down(&self, host: &Host) -> bool {
        self.held_down.contains(host) && !self.retried.contains(host)
    }
}

/// Says that a `hold` build ran on a host, and neither passed nor was held down there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRan {
    /// What ran.
    pub build: Build,
    /// The execution; `None` when it is not known.
    pub exec: Option<ExecutionId>,
    /// When it started; `None` when it is not known, and the book's clock stands in.
    pub at: Option<Time>,
}

/// A hold-ran marker: the host's data may be migrated, so nothing falls back there by itself.
///
/// It restricts its host only: it keeps no other instance from the build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// What ran.
    pub build: Build,
    /// The execution; `None` when it is not known.
    pub exec: Option<ExecutionId>,
    /// The number of the event that set it. `None` only in what older documents hold: each open
    /// numbers what has none.
    pub seq: Option<NonZeroU64>,
    /// When the execution started; `None` only in what older documents hold.
    pub at: Option<Time>,
}

/// An intent: an execution of a build that its instance has not served yet.
///
/// It lands before anything runs, and is removed after the outcome is written. What is still there
/// when a book is opened is an execution whose outcome nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// What is to run.
    pub build: Build,
    /// How, in effect.
    pub mode: Mode,
    /// The execution.
    pub id: ExecutionId,
    /// When it starts; `None` when that is not said.
    pub start: Option<Time>,
}

/// A failure, as it is reported to the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What failed.
    pub build: Build,
    /// Where.
    pub host: Host,
    /// What kind of failure it is. The book records it unread: what was never tried is for the
    /// caller to keep away.
    pub cause: String,
    /// How the execution moved the instance.
    pub mode: Mode,
    /// What is told of it to people.
    pub reason: String,
    /// The stamp of the newest accepted pointer for the build, else the time at which the
    /// declaration was composed.
    pub promoted_at: Option<Time>,
    /// When it failed.
    pub at: Option<Time>,
    /// Where the failed build is to hold instances down.
    pub held_down: Hosts,
    /// Whether the host's hold-ran marker is to be set in the same save.
    pub marker: MarkerWish,
    /// The execution, for a marker; `None` when it is not known.
    pub exec: Option<ExecutionId>,
    /// When the execution started, for a marker; `None` when it is not known.
    pub start: Option<Time>,
    /// The book's snapshot when the execution started. With `None` the failure is never stale.
    pub snapshot: Option<crate::Snapshot>,
}

/// Whether a failure asks for its host's hold-ran marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerWish {
    /// It does: the build executed as a `hold`.
    Set,
    /// It does not. A stale failure that was to hold its own host down sets one all the same.
    Leave,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_mode_is_shown_as_it_was_given() {
        for (mode, text) in [(Mode::HOLD, "hold"), (Mode::new("Hold ".into()), "Hold ")] {
            assert_eq!(mode.to_string(), text);
        }
    }
}
