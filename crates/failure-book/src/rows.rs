//! Rows as keyed entries of bytes, for journals that keep such.
//!
//! Keys are text: `book`, `generation/<account>/<app>`, `record/<place in 16 digits>`,
//! `marker/<host>`, `intent/<host>`. Values are JSON.

use crate::change::{Change, Row, RowChange, RowKey};
use crate::identity::BookId;
use crate::index::Ordinal;
use crate::kept::Kept;
use crate::names::{App, Host};
use crate::shapes::read::{Object, ReadIntent, ReadMarker, ReadRecord};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The form of the rows. A journal that holds another is not read.
const FORMAT: u32 = 1;

const BOOK: &str = "book";
const GENERATION: &str = "generation/";
const RECORD: &str = "record/";
const MARKER: &str = "marker/";
const INTENT: &str = "intent/";

/// One keyed entry of a journal, as a change wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// What is to be kept under it; `None` when nothing is to be kept any more.
    pub value: Option<Vec<u8>>,
}

/// Why the entries of a journal are no book. Nothing of them is used then.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The key is none of ours. A newer version may have written it.
    #[error("the failure book's journal has an entry {key:?}, of which nothing is known")]
    UnknownKey {
        /// The key, as far as it is text.
        key: String,
    },
    /// The rows are in a form that is not known.
    #[error("the failure book's journal is in form {format}, and only form {FORMAT} can be read")]
    UnknownFormat {
        /// The form's number.
        format: u32,
    },
    /// The value cannot be read.
    #[error("the entry {key:?} of the failure book's journal is damaged")]
    Damaged {
        /// The entry's key.
        key: String,
        /// What the decoder missed.
        source: serde_json::Error,
    },
    /// There are entries, and none says which book it is.
    #[error("the failure book's journal has entries, and none that says which book it is")]
    NoBook,
}

#[derive(Serialize, Deserialize)]
struct BookShape {
    format: u32,
    book: BookId,
    seq: u64,
}

impl Change {
    /// The change as keyed entries, in the order in which they are to be written.
    ///
    /// # Errors
    ///
    /// A [`serde_json::Error`] only if a row could not be made into JSON, which none is known for.
    pub fn entries(&self) -> Result<Vec<Entry>, serde_json::Error> {
        self.rows().iter().map(entry).collect()
    }
}

impl Kept {
    /// What a journal's entries hold, in any order; `None` when there are none, which is a book
    /// that was never saved.
    ///
    /// # Errors
    ///
    /// [`RowError`] when any of them cannot be read: a damaged book is never an empty one.
    pub fn from_entries<K, V>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Option<Self>, RowError>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let mut kept: Option<Self> = None;
        for (key, value) in entries {
            kept.get_or_insert_default().put(row(key.as_ref(), value.as_ref())?);
        }
        if kept.as_ref().is_some_and(|kept| kept.id.is_none()) {
            return Err(RowError::NoBook);
        }
        Ok(kept)
    }
}

fn entry(change: &RowChange) -> Result<Entry, serde_json::Error> {
    match change {
        RowChange::Put(row) => Ok(Entry { key: key(&row.key()), value: Some(value(row)?) }),
        RowChange::Drop(dropped) => Ok(Entry { key: key(dropped), value: None }),
    }
}

fn key(key: &RowKey) -> String {
    match key {
        RowKey::Book => BOOK.to_owned(),
        RowKey::Generation(app) => format!("{GENERATION}{app}"),
        RowKey::Record(ordinal) => format!("{RECORD}{:016x}", ordinal.get()),
        RowKey::Marker(host) => format!("{MARKER}{host}"),
        RowKey::Intent(host) => format!("{INTENT}{host}"),
    }
}

fn value(row: &Row) -> Result<Vec<u8>, serde_json::Error> {
    match row {
        Row::Book { id, seq } => {
            serde_json::to_vec(&BookShape { format: FORMAT, book: *id, seq: *seq })
        }
        Row::Generation(_, generation) => serde_json::to_vec(generation),
        Row::Record(_, record) => serde_json::to_vec(record),
        Row::Marker(_, marker) => serde_json::to_vec(marker),
        Row::Intent(_, intent) => serde_json::to_vec(intent),
    }
}

fn row(key: &[u8], value: &[u8]) -> Result<Row, RowError> {
    let unknown = || RowError::UnknownKey { key: String::from_utf8_lossy(key).into_owned() };
    let text = core::str::from_utf8(key).map_err(|_| unknown())?;
    let damaged = |source| RowError::Damaged { key: text.to_owned(), source };
    if text == BOOK {
        let Object(BookShape { format, book, seq }) = read(value).map_err(damaged)?;
        if format != FORMAT {
            return Err(RowError::UnknownFormat { format });
        }
        return Ok(Row::Book { id: book, seq });
    }
    if let Some(app) = text.strip_prefix(GENERATION) {
        let app = App::from_joined(app).map_err(|_| unknown())?;
        return Ok(Row::Generation(app, read(value).map_err(damaged)?));
    }
    if let Some(place) = text.strip_prefix(RECORD) {
        let ordinal = place_of(place).ok_or_else(unknown)?;
        let ReadRecord { record, epochs: _ } = read(value).map_err(damaged)?;
        return Ok(Row::Record(ordinal, record));
    }
    if let Some(host) = text.strip_prefix(MARKER) {
        let ReadMarker(marker) = read(value).map_err(damaged)?;
        return Ok(Row::Marker(Host::new(host).map_err(|_| unknown())?, marker));
    }
    if let Some(host) = text.strip_prefix(INTENT) {
        let ReadIntent(intent) = read(value).map_err(damaged)?;
        return Ok(Row::Intent(Host::new(host).map_err(|_| unknown())?, intent));
    }
    Err(unknown())
}

fn read<'a, T: Deserialize<'a>>(value: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(value)
}

/// The place in a record's key: sixteen digits, so that the order of keys is book order, and below
/// the upper half, so that a next one can always be had.
fn place_of(text: &str) -> Option<Ordinal> {
    let is_digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = is_digits.then(|| u64::from_str_radix(text, 16).ok())??;
    (number <= u64::MAX / 2).then(|| Ordinal::new(number))
}
