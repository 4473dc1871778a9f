//! What is kept of a book, on a disk or in a document.

use crate::change::{Change, Row, RowChange, RowKey};
use crate::counter::Generation;
use crate::entries::{Intent, Marker, Record};
use crate::identity::BookId;
use crate::index::Ordinal;
use crate::names::{App, Host};
use alloc::collections::BTreeMap;

/// What is kept of a book: everything but what this process remembers of retries.
///
/// A journal answers it, a document is read into it and written of it, and
/// [`Book::open`](crate::Book::open) begins with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// `None` when no grant may name it any more: the open gives it a new one.
    pub(crate) id: Option<BookId>,
    /// The largest number given so far.
    pub(crate) seq: u64,
    pub(crate) records: BTreeMap<Ordinal, Record>,
    pub(crate) markers: BTreeMap<Host, Marker>,
    pub(crate) intents: BTreeMap<Host, Intent>,
    pub(crate) generations: BTreeMap<App, u64>,
    /// It was read from something that has more than is written today: a save is owed.
    pub(crate) is_outdated: bool,
}

impl Kept {
    /// Whether an open will ask for a new identity.
    #[must_use]
    pub fn needs_identity(&self) -> bool {
        self.id.is_none()
    }

    /// Which book it is; `None` when the next open gives it a new identity.
    #[must_use]
    pub fn id(&self) -> Option<BookId> {
        self.id
    }

    /// The failure records, in book order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.records.values()
    }

    /// The hold-ran markers, by host.
    pub fn markers(&self) -> impl ExactSizeIterator<Item = (&Host, &Marker)> {
        self.markers.iter()
    }

    /// The intents, by host: executions whose outcome was not written.
    pub fn intents(&self) -> impl ExactSizeIterator<Item = (&Host, &Intent)> {
        self.intents.iter()
    }

    /// The generations, by the joined names of their apps; `None` for one that the next open gives.
    pub fn generations(&self) -> impl ExactSizeIterator<Item = (&App, Option<Generation>)> {
        self.generations.iter().map(|(app, kept)| (app, Generation::new(*kept)))
    }

    /// Makes a change in it: what a journal does that keeps a book as a value.
    pub fn apply(&mut self, change: &Change) {
        for row in change.rows() {
            match row {
                RowChange::Put(row) => self.put(row.clone()),
                RowChange::Drop(key) => self.drop(key),
            }
        }
    }

    pub(crate) fn put(&mut self, row: Row) {
        match row {
            Row::Book { id, seq } => {
                self.id = Some(id);
                self.seq = seq;
                self.is_outdated = false;
            }
            Row::Generation(app, generation) => {
                self.generations.insert(app, generation);
            }
            Row::Record(ordinal, record) => {
                self.records.insert(ordinal, record);
            }
            Row::Marker(host, marker) => {
                self.markers.insert(host, marker);
            }
            Row::Intent(host, intent) => {
                self.intents.insert(host, intent);
            }
        }
    }

    fn drop(&mut self, key: &RowKey) {
        match key {
            RowKey::Book => self.id = None,
            RowKey::Generation(app) => {
                self.generations.remove(app);
            }
            RowKey::Record(ordinal) => {
                self.records.remove(ordinal);
            }
            RowKey::Marker(host) => {
                self.markers.remove(host);
            }
            RowKey::Intent(host) => {
                self.intents.remove(host);
            }
        }
    }

    /// All of it as rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> {
        let Self { id, seq, records, markers, intents, generations, is_outdated: _ } = self;
        let book = id.map(|id| Row::Book { id, seq: *seq });
        let generations = generations.iter().map(|(app, kept)| Row::Generation(app.clone(), *kept));
        let records = records.iter().map(|(ordinal, kept)| Row::Record(*ordinal, kept.clone()));
        let markers = markers.iter().map(|(host, kept)| Row::Marker(host.clone(), kept.clone()));
        let intents = intents.iter().map(|(host, kept)| Row::Intent(host.clone(), kept.clone()));
        book.into_iter().chain(generations).chain(records).chain(markers).chain(intents)
    }
}
