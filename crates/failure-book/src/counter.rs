//! The one counter that orders a book's events, and the numbers it gives.

use core::fmt;
use core::num::NonZeroU64;
use serde::{Deserialize, Serialize};

/// The last number that is given. Beyond it nothing can be ordered any more: the counter never
/// wraps, since a number that comes again could make a stale grant good.
const LAST: u64 = u64::MAX - 2;

/// What stands where a number would have gone when there was none left: larger than any number
/// that was given, so that every snapshot is older. It is in memory only, and never lands.
const PAST_THE_LAST: NonZeroU64 = NonZeroU64::MIN.saturating_add(LAST);

/// Where a book's events stood when an execution started.
///
/// An outcome is older than an event exactly when its snapshot is not greater than the event's
/// number. A snapshot is never zero: one that is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snapshot(NonZeroU64);

impl Snapshot {
    /// The snapshot of this value; `None` for zero.
    #[must_use]
    pub fn new(value: u64) -> Option<Self> {
        NonZeroU64::new(value).map(Self)
    }

    /// Its value.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }

    /// Whether the event of this number happened after the snapshot was taken.
    pub(crate) fn is_before(self, event: NonZeroU64) -> bool {
        self.0 <= event
    }
}

/// The number that changes whenever any restriction of an app changes.
///
/// Never zero: what has no generation is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(NonZeroU64);

impl Generation {
    /// The generation of this value; `None` for zero.
    #[must_use]
    pub fn new(value: u64) -> Option<Self> {
        NonZeroU64::new(value).map(Self)
    }

    /// Its value.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The counter.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    last: u64,
    is_exhausted: bool,
}

impl Counter {
    /// One whose last number was this.
    pub(crate) fn from_last(last: u64) -> Self {
        Self { last, is_exhausted: false }
    }

    /// The largest number given so far, or what it began from.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether a number was asked for when there was none left.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// The next number. When there is none left, the counter is exhausted from now on, and answers
    /// what is past the last.
    pub(crate) fn next(&mut self) -> NonZeroU64 {
        if self.last >= LAST {
            self.is_exhausted = true;
            return PAST_THE_LAST;
        }
        let next = NonZeroU64::MIN.saturating_add(self.last);
        self.last = next.get();
        next
    }

    /// Where the events stand now; `None` when no later event could be told apart.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        (self.last < LAST).then(|| Snapshot(NonZeroU64::MIN.saturating_add(self.last)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_generation_is_shown_as_its_number() {
        assert_eq!(Generation::new(17).unwrap().to_string(), "17");
    }

    #[test]
    fn it_counts_to_the_last_number_and_never_wraps() {
        let mut counter = Counter::from_last(0);
        assert_eq!(counter.snapshot(), Snapshot::new(1));
        assert_eq!(counter.next().get(), 1);

        let mut counter = Counter::from_last(u64::MAX - 3);
        assert_eq!(counter.snapshot(), Snapshot::new(u64::MAX - 2));
        assert_eq!(counter.next().get(), u64::MAX - 2);
        assert!(!counter.is_exhausted());
        assert_eq!(counter.snapshot(), None);
        for _ in 0..3 {
            assert_eq!(counter.next().get(), u64::MAX - 1);
            assert!(counter.is_exhausted());
            assert_eq!(counter.last(), u64::MAX - 2);
        }
    }

    #[test]
    fn a_counter_that_began_past_the_last_number_gives_none() {
        let mut counter = Counter::from_last(u64::MAX);
        assert_eq!(counter.snapshot(), None);
        assert!(!counter.is_exhausted());
        assert_eq!(counter.next().get(), u64::MAX - 1);
        assert_eq!(counter.last(), u64::MAX);
    }
}
