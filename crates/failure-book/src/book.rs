//! The book itself: its state, and the questions that it answers at once.

mod executions;
mod importing;
mod markers;
mod opening;
mod pruning;
mod recording;
mod retries;
mod saving;

pub use executions::{Begun, NotBegun};
pub use importing::NotImported;
pub use opening::RECONCILED_REASON;
pub use recording::Recorded;
pub use retries::{Cleared, Freed, Grant, Granted, NotFreed};

use crate::change::RowKey;
use crate::counter::{Counter, Generation, Snapshot};
use crate::entries::{Intent, Marker, Record, Served};
use crate::identity::BookId;
use crate::index::{Apps, Clears, Records};
use crate::kept::Kept;
use crate::names::{App, Build, Host};
use crate::owed::Owed;
use crate::rules::Rules;
use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

/// The failure book of one machine, as a value: no I/O, no clock, no randomness.
///
/// What changes it answers a [`Step`](crate::Step), whose change is to be landed; then
/// [`Book::landed`] gives the answer. One change is in flight at a time: the owner of the book
/// holds other operations back until its landing is answered. What is asked in between sees the
/// new memory, and nothing is published.
#[derive(Debug, Clone)]
pub struct Book {
    rules: Rules,
    id: BookId,
    counter: Counter,
    records: Records,
    markers: BTreeMap<Host, Marker>,
    intents: BTreeMap<Host, Intent>,
    apps: Apps,
    clears: Clears,
    reconciled: usize,
    owed: Owed,
}

impl Book {
    /// Which book it is.
    #[must_use]
    pub fn id(&self) -> BookId {
        self.id
    }

    /// Where the book's events stand now, for an execution that starts: its outcome is older than
    /// every event from now on.
    ///
    /// `None` when the book has no numbers left. Then nothing that is managed may be started.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.counter.snapshot()
    }

    /// The largest number given so far, or what the open began from.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.counter.last()
    }

    /// Whether a change needed a number when there was none left. Until the book is opened anew
    /// nothing of it is saved or published.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.counter.is_exhausted()
    }

    /// Whether memory differs from the last landing, or the last landing failed.
    #[must_use]
    pub fn save_owed(&self) -> bool {
        self.owed.is_save()
    }

    /// How many intents the open made into failures.
    #[must_use]
    pub fn reconciled(&self) -> usize {
        self.reconciled
    }

    /// The failure record that counts for a build.
    #[must_use]
    pub fn lookup(&self, build: &Build) -> Option<&Record> {
        self.records.first(build)
    }

    /// Whether a host may not be moved onto a build.
    #[must_use]
    pub fn blocks(&self, build: &Build, host: &Host, served: Served) -> bool {
        self.lookup(build).is_some_and(|record| record.blocks(host, served))
    }

    /// Whether a retry freed a host from the build's record.
    #[must_use]
    pub fn retried(&self, build: &Build, host: &Host) -> bool {
        self.lookup(build).is_some_and(|record| record.retried.contains(host))
    }

    /// Whether a host is held down by the build's record.
    #[must_use]
    pub fn held_down(&self, build: &Build, host: &Host) -> bool {
        self.lookup(build).is_some_and(|record| record.holds_down(host))
    }

    /// The hold-ran marker of a host.
    #[must_use]
    pub fn hold_ran_on(&self, host: &Host) -> Option<&Marker> {
        self.markers.get(host)
    }

    /// How many hosts have a hold-ran marker.
    #[must_use]
    pub fn hold_ran_count(&self) -> usize {
        self.markers.len()
    }

    /// The intent of a host.
    #[must_use]
    pub fn intent_of(&self, host: &Host) -> Option<&Intent> {
        self.intents.get(host)
    }

    /// The records of an app, in book order.
    pub fn for_app(&self, app: &App) -> impl Iterator<Item = &Record> {
        self.apps.records(app).filter_map(|ordinal| self.records.at(ordinal))
    }

    /// How many records an app has.
    #[must_use]
    pub fn for_app_len(&self, app: &App) -> usize {
        self.apps.record_count(app)
    }

    /// All records, in book order.
    pub fn list(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(_, record)| record)
    }

    /// The generation of what a build restricts on a host that has not served it: the app's, when
    /// the build's record blocks the host or the host's marker names the build.
    ///
    /// It is memory's, and may not be on the disk. What others may act on is
    /// [`Book::published_generation`].
    #[must_use]
    pub fn restriction_generation(&self, build: &Build, host: &Host) -> Option<Generation> {
        let is_restricted =
            self.blocks(build, host, Served::NotYet) || self.marker_names(host, build);
        is_restricted.then(|| self.apps.generation_of(build)).flatten()
    }

    /// The generation that a grant can be signed for: that of the restriction, once all of the
    /// book is on the disk. `None` while a save is owed.
    #[must_use]
    pub fn published_generation(&self, build: &Build, host: &Host) -> Option<Generation> {
        if self.save_owed() { None } else { self.restriction_generation(build, host) }
    }

    /// All of the book, as it is in memory now.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let with_app = |(app, generation): (&App, u64)| (app.clone(), generation);
        let with_place = |(ordinal, record): (_, &Record)| (ordinal, record.clone());
        Kept {
            id: Some(self.id),
            seq: self.counter.last(),
            records: self.records.iter().map(with_place).collect(),
            markers: self.markers.clone(),
            intents: self.intents.clone(),
            generations: self.apps.generations().into_iter().map(with_app).collect(),
            is_outdated: false,
        }
    }

    fn marker_names(&self, host: &Host, build: &Build) -> bool {
        self.markers.get(host).is_some_and(|marker| marker.build == *build)
    }

    /// Moves an app's generation: some restriction of it changed.
    fn move_generation(&mut self, app: &App) {
        let generation = self.counter.next();
        self.apps.set_generation(app, generation.get());
        self.owed.touch(RowKey::Generation(app.clone()));
    }

    /// The number of an event.
    fn event(&mut self) -> NonZeroU64 {
        self.counter.next()
    }
}
