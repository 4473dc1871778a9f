//! Failures: recorded, merged into what stands, or older than a retry.

use super::Book;
use crate::change::RowKey;
use crate::entries::{Failure, HoldRan, MarkerWish, Record, Time, known};
use crate::hosts::Hosts;
use crate::step::Step;

/// What a reported failure came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a failure from before a retry has no consequences"]
pub enum Recorded {
    /// It is the first failure of this build: a record stands now.
    Recorded,
    /// A record stood, and this failure changed it.
    Merged,
    /// A record stood, and had all of it.
    Unchanged,
    /// The execution started before a retry of this build, so its failure says nothing against
    /// what the retry let through. None of what follows a failure follows this one.
    PreRetry,
}

impl Book {
    /// Records a failure.
    ///
    /// What the execution did to the data stands, whatever the failure comes to: a marker that it
    /// asks for is set first, in the same save. A stale failure that was to hold its own host down
    /// leaves a marker in its place.
    pub fn record(&mut self, mut failure: Failure, now: Time) -> Step<Recorded> {
        for time in [&mut failure.promoted_at, &mut failure.at] {
            *time = known(*time);
        }
        let recorded = self.take(&failure, now);
        self.settle(recorded)
    }

    /// Takes a failure, without landing anything.
    pub(super) fn take(&mut self, failure: &Failure, now: Time) -> Recorded {
        let Failure { build, host, snapshot, .. } = failure;
        let is_stale = snapshot.is_some_and(|snapshot| self.clears.is_stale(build, host, snapshot));
        let leaves_marker = match failure.marker {
            MarkerWish::Set => true,
            MarkerWish::Leave => is_stale && failure.held_down.contains(host),
        };
        if leaves_marker {
            let ran =
                HoldRan { build: build.clone(), exec: failure.exec.clone(), at: failure.start };
            self.set_marker(host, ran, now);
        }
        if is_stale {
            return Recorded::PreRetry;
        }
        let recorded = match self.records.first_mut(build) {
            Some((ordinal, record)) => {
                if !merge(record, failure) {
                    return Recorded::Unchanged;
                }
                self.owed.touch(RowKey::Record(ordinal));
                Recorded::Merged
            }
            None => {
                let ordinal = self.records.push(first(failure));
                self.apps.add_record(build, ordinal);
                self.owed.touch(RowKey::Record(ordinal));
                Recorded::Recorded
            }
        };
        self.move_generation(&build.app());
        recorded
    }
}

/// The record of a first failure: nothing is retried.
fn first(failure: &Failure) -> Record {
    Record {
        build: failure.build.clone(),
        host: failure.host.clone(),
        cause: failure.cause.clone(),
        mode: failure.mode.clone(),
        reason: failure.reason.clone(),
        promoted_at: failure.promoted_at,
        at: failure.at,
        held_down: failure.held_down.clone(),
        retried: Hosts::default(),
    }
}

/// Merges a failure into the record that stands; answers whether that changed it.
///
/// The first failure's words stand. This one spends its host's retry, moves the pointer's stamp
/// forward, and holds more hosts down.
fn merge(record: &mut Record, failure: &Failure) -> bool {
    let mut is_changed = record.retried.remove(&failure.host);
    if failure.promoted_at > record.promoted_at {
        record.promoted_at = failure.promoted_at;
        is_changed = true;
    }
    for host in failure.held_down.iter() {
        is_changed |= record.held_down.insert(host);
    }
    is_changed
}
