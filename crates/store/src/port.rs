//! The port: documents under keys, read, scan, and a compare-and-set commit that has landed when it answers.
//!
//! Everything that outlives a process goes through here, so the words are exact:
//!
//! - **Landed** means on the disk, through fsync (or, for a replicated engine, wherever that engine keeps what
//!   no single crash can take away). [`Store::commit`] answers `Ok` only after that.
//! - **Conflict** means that an expectation did not hold; see [`CommitError::Conflict`].
//! - Every other error means *not known to have landed*: all of the batch, none of it, or with an engine that
//!   has no atomic batches a part of it may be there, now or after a restart. Read again before deciding.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::num::NonZeroU64;

use thiserror::Error;

use crate::key::{Key, Prefix};

/// Largest document, in bytes. A plan of 10,000 machines is a few MiB; what grows past this bound is not one
/// document but many.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A handle on durable documents. Cheap to clone; all clones see the same documents.
pub trait Store: Clone + Send + Sync + 'static {
    /// The document under `key`, or `None` when there is none.
    fn read(&self, key: &Key) -> impl Future<Output = Result<Option<Document>, ReadError>> + Send;

    /// All documents that `prefix` covers, in the order of their keys, as they were at one moment where the
    /// engine can tell.
    fn scan(
        &self,
        prefix: &Prefix,
    ) -> impl Future<Output = Result<Vec<(Key, Document)>, ReadError>> + Send;

    /// Checks every expectation of `batch` and then writes all of it, or nothing where the engine has atomic
    /// batches (memory and sled have). An engine that has none writes the entries in their order and stops at
    /// the first that fails, so a core's order of writes must be right without atomicity.
    ///
    /// `Ok` means landed. Dropping the future does not take a write back.
    fn commit(&self, batch: Batch) -> impl Future<Output = Result<Landed, CommitError>> + Send;
}

/// One document as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    /// Changes with every put, and never comes back for this key, not even after a delete.
    pub revision: Revision,
    /// What the owner wrote; the store does not look inside.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Document {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Document({}, {} bytes)", self.revision, self.bytes.len())
    }
}

/// Which write of a document this is. Later writes of one key have larger revisions; revisions of different
/// keys say nothing about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(NonZeroU64);

impl Revision {
    /// The revision with this number, as an engine counts.
    #[must_use]
    pub const fn new(number: NonZeroU64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "revision {}", self.0)
    }
}

/// What must be true of a key for a change of it to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: whatever is there is written over.
    Any,
    /// No document.
    Absent,
    /// A document at exactly this revision.
    At(Revision),
}

impl Expect {
    /// Whether a key at `found` (`None`: no document) is as expected.
    #[must_use]
    pub fn holds(self, found: Option<Revision>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => found.is_none(),
            Self::At(revision) => found == Some(revision),
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => out.write_str("anything"),
            Self::Absent => out.write_str("no document"),
            Self::At(revision) => revision.fmt(out),
        }
    }
}

/// One change of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The document's key.
    pub key: Key,
    /// What must be true of it before.
    pub expect: Expect,
    /// What is done to it.
    pub change: Change,
}

/// What an [`Entry`] does.
#[derive(Clone, PartialEq, Eq)]
pub enum Change {
    /// Keep these bytes under the key.
    Put(Vec<u8>),
    /// Keep nothing under the key; without harm where nothing is.
    Delete,
}

impl fmt::Debug for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(bytes) => write!(out, "Put({} bytes)", bytes.len()),
            Self::Delete => out.write_str("Delete"),
        }
    }
}

impl Entry {
    /// Keeps `bytes` under `key` if it is as expected.
    #[must_use]
    pub fn put(key: Key, expect: Expect, bytes: Vec<u8>) -> Self {
        let change = Change::Put(bytes);
        Self { key, expect, change }
    }

    /// Removes the document under `key` if it is as expected.
    #[must_use]
    pub fn delete(key: Key, expect: Expect) -> Self {
        let change = Change::Delete;
        Self { key, expect, change }
    }
}

/// Changes that are committed together. Holding one proves that no key stands in it twice and that no document
/// is larger than [`DOCUMENT_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    entries: Vec<Entry>,
    reserve: Reserve,
}

/// What becomes of the room that a store keeps back for bad times, where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reserve {
    /// It stays: without room beside it the commit is refused as [`CommitError::Full`].
    #[default]
    Kept,
    /// The commit may use it: it is about a failure, and what follows from that cannot wait for room.
    Used,
}

/// Why entries make no [`Batch`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BatchError {
    /// Two entries for one key: which one should win is not for the store to guess.
    #[error("{0} stands twice in one batch")]
    Twice(Key),
    /// A document over the bound.
    #[error("{bytes} bytes are too many for {key}, the most is {DOCUMENT_BYTES_MAX}")]
    TooLarge {
        /// Whose document it is.
        key: Key,
        /// Its size.
        bytes: usize,
    },
}

impl Batch {
    /// A batch of these entries, in this order.
    ///
    /// # Errors
    /// Whatever [`BatchError`] says.
    pub fn new(entries: Vec<Entry>) -> Result<Self, BatchError> {
        let mut seen = BTreeSet::new();
        for entry in &entries {
            if !seen.insert(&entry.key) {
                return Err(BatchError::Twice(entry.key.clone()));
            }
            if let Change::Put(bytes) = &entry.change
                && bytes.len() > DOCUMENT_BYTES_MAX
            {
                let key = entry.key.clone();
                let bytes = bytes.len();
                return Err(BatchError::TooLarge { key, bytes });
            }
        }
        Ok(Self { entries, reserve: Reserve::Kept })
    }

    /// The same, with this to become of the reserve.
    #[must_use]
    pub fn with_reserve(self, reserve: Reserve) -> Self {
        Self { reserve, ..self }
    }

    /// What may become of the reserve.
    #[must_use]
    pub fn reserve(&self) -> Reserve {
        self.reserve
    }

    /// The entries, in the order they were given.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries themselves.
    #[must_use]
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

/// What a commit answers: every change of the batch is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed(BTreeMap<Key, Revision>);

impl Landed {
    /// For an engine to say at which revision each put document now is.
    #[must_use]
    pub fn new(revisions: BTreeMap<Key, Revision>) -> Self {
        Self(revisions)
    }

    /// The new revision of a document that this commit put; `None` for a key that it deleted or did not touch.
    #[must_use]
    pub fn revision(&self, key: &Key) -> Option<Revision> {
        self.0.get(key).copied()
    }
}

/// The engine's own error.
pub type Source = Box<dyn StdError + Send + Sync>;

/// Why a read or a scan has no answer. Nothing is ever answered as absent because it could not be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// What is kept cannot be put together; it needs a person.
    #[error("the document {0} is damaged in the store")]
    Damaged(String),
    /// The store was closed, or the thread behind it is gone.
    #[error("the store is closed")]
    Closed,
    /// The engine failed.
    #[error("the store could not be read")]
    Failed(#[source] Source),
}

/// Why a commit did not answer that it landed.
///
/// After [`CommitError::Conflict`] an engine with atomic batches has changed nothing, and one without has
/// changed nothing from the named entry on. After any other error it is *not known* whether the batch landed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// An expectation does not hold: someone else wrote first, or this very batch landed before, unnoticed.
    #[error("{key} has {}, expected was {expected}", Found(*.found))]
    Conflict {
        /// The first key of the batch that is not as expected.
        key: Key,
        /// What the batch expected.
        expected: Expect,
        /// What is there: a revision, or no document.
        found: Option<Revision>,
    },
    /// No space left, or a quota reached. Worth trying again when there is room.
    #[error("no space left for the store")]
    Full,
    /// The store's medium can only be read.
    #[error("the store's disk is read-only")]
    ReadOnly,
    /// The store was closed, or the thread behind it is gone.
    #[error("the store is closed")]
    Closed,
    /// The engine failed.
    #[error("the store could not be written")]
    Failed(#[source] Source),
}

struct Found(Option<Revision>);

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(revision) => revision.fmt(out),
            None => out.write_str("no document"),
        }
    }
}
