//! A change: the rows that differ from the last landing, as they are now.

use crate::entries::{Intent, Marker, Record};
use crate::identity::BookId;
use crate::index::Ordinal;
use crate::names::{App, Host};
use alloc::vec::Vec;

/// Which row. A book is a set of rows, and a change names a few of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    /// The book's identity and its counter.
    Book,
    /// An app's generation.
    Generation(App),
    /// A failure record, by its place in book order.
    Record(Ordinal),
    /// A host's hold-ran marker.
    Marker(Host),
    /// A host's intent.
    Intent(Host),
}

/// A row as it is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// The book's identity and its counter.
    Book {
        /// Which book it is.
        id: BookId,
        /// The largest number given so far.
        seq: u64,
    },
    /// An app's generation.
    Generation(App, u64),
    /// A failure record at its place.
    Record(Ordinal, Record),
    /// A host's hold-ran marker.
    Marker(Host, Marker),
    /// A host's intent.
    Intent(Host, Intent),
}

/// What becomes of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChange {
    /// It is kept like this, whatever was there.
    Put(Row),
    /// It is kept no longer, if it was.
    Drop(RowKey),
}

/// A change, for a journal to land: all of it, or nothing.
///
/// It holds absolute values, so landing it twice is landing it once, and what an earlier change
/// left open is part of the next. It can be empty: that asks the journal for a proof that it takes
/// writes.
///
/// The rows are in an order that is safe even where a journal lands only the first of them before
/// the machine dies: the book's counter, then the generations, then what restricts, then what is
/// lifted, then the intents. So a generation is never older than the restrictions beside it, and
/// an intent is there until its outcome is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a change is not on the disk before a journal has landed it"]
pub struct Change {
    rows: Vec<RowChange>,
}

impl Change {
    /// A change of these rows, brought into the safe order.
    pub(crate) fn new(mut rows: Vec<RowChange>) -> Self {
        rows.sort_by_key(step);
        Self { rows }
    }

    /// What becomes of each row, in the order in which they are to be written.
    #[must_use]
    pub fn rows(&self) -> &[RowChange] {
        &self.rows
    }
}

/// When in a change a row is written.
fn step(change: &RowChange) -> u8 {
    match change {
        RowChange::Put(Row::Book { .. }) | RowChange::Drop(RowKey::Book) => 0,
        RowChange::Put(Row::Generation(..)) | RowChange::Drop(RowKey::Generation(_)) => 1,
        RowChange::Put(Row::Record(..) | Row::Marker(..)) => 2,
        RowChange::Drop(RowKey::Record(_) | RowKey::Marker(_)) => 3,
        RowChange::Put(Row::Intent(..)) | RowChange::Drop(RowKey::Intent(_)) => 4,
    }
}

impl Row {
    /// Which row it is.
    #[must_use]
    pub fn key(&self) -> RowKey {
        match self {
            Self::Book { .. } => RowKey::Book,
            Self::Generation(app, _) => RowKey::Generation(app.clone()),
            Self::Record(ordinal, _) => RowKey::Record(*ordinal),
            Self::Marker(host, _) => RowKey::Marker(host.clone()),
            Self::Intent(host, _) => RowKey::Intent(host.clone()),
        }
    }
}
