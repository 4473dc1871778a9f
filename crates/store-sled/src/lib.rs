//! The store on disk, with sled.
//!
//! # What sled leaves to us
//!
//! - Its `flush` uses `sync_file_range`, which promises nothing when the power goes. A commit here has landed
//!   when sled's flush *and* an fsync of its file have returned.
//! - Its batches are atomic per tree, so everything is in one tree: documents, the pieces of large ones, and the
//!   counter of revisions.
//! - A page of more than about 128 KiB goes to a file in `blobs/` that nothing syncs. Documents are cut into
//!   parts small enough that no page gets there, and `blobs/` is looked at after every commit nevertheless.
//! - Its `open` ends the log at the first thing that it cannot read, overwrites what comes after, and says nothing:
//!   a store that was cut opens as one that never had more. See below.
//! - Its `open` gives up on a damaged snapshot although the log has everything, and takes an unfinished one for
//!   the newest. Such a snapshot is set aside, never deleted, and [`Opened::notes`] says so. So are damaged settings
//!   of its own, which are the same in every store.
//! - On some damage it panics. That is caught, and answered as what it is; its message is on standard error.
//! - It blocks, so it lives on a thread of its own.
//!
//! # Nothing is silently missing
//!
//! Every document has a checksum, and every commit leaves the sum of the fingerprints of all documents, and its own
//! number, with what it writes. Opening reads everything and counts again. That shows what is missing in the middle. The
//! end of the log is shown by the *mark*: a small file beside sled's, which says which commit was acknowledged last,
//! and with which sum. It is written when a commit is on the disk, before it is answered, and not synced: so it is never
//! ahead of the log, and after a kill it is where the log is. Only a power cut can leave it behind by what the kernel had
//! not yet written of it, some seconds at most.
//!
//! All this is done on a copy first, so a damaged store is left as it was found. Where the disk has no room for a
//! copy, the files themselves are opened.
//!
//! # After a commit that failed
//!
//! sled's memory then holds changes that may not be on the disk, and an answer from that memory could be a lie.
//! So the engine is dropped with everything it remembers, and the next call opens it anew, from the disk: pages
//! that the kernel could not write are dropped from its cache first, and the file is synced before anything is
//! answered from it. Until that works, every call answers an error. So a commit that answered
//! [`Full`](store::CommitError::Full), [`ReadOnly`](store::CommitError::ReadOnly) or
//! [`Failed`](store::CommitError::Failed) is either there afterwards, whole and durable, or not at all; and
//! once the cause is gone (space, a remount) the store works again by itself.
//!
//! To stay out of that corner in the ordinary case, [`Room`] has a commit refused before anything is touched while
//! the disk has less room than it should keep, or is mounted read-only. Reads then go on. What this cannot help:
//! to *open* a store, sled writes a snapshot and the rest of a segment, so on a disk that others filled to the last
//! byte opening answers [`OpenError::Full`].

mod damage;
mod engine;
mod expected;
mod fingerprint;
mod flush;
mod folder;
mod mark;
mod note;
mod open;
mod record;
mod room;
mod session;
mod standing;
mod trial;
mod trouble;
mod worker;

use std::path::PathBuf;

use store::{Batch, CommitError, Document, Key, Landed, Prefix, ReadError, Store};
use tokio::sync::{mpsc, oneshot};

pub use crate::damage::Damage;
pub use crate::folder::SCHEMA;
pub use crate::note::Note;
pub use crate::open::OpenError;
pub use crate::room::Room;
use crate::worker::Call;

/// Calls that wait for the engine before callers have to wait to be heard; enough to keep it busy.
const CALLS_MAX: usize = 64;

/// Where a store is, and how careful it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The store's folder; made when it is not there. Nothing else should be kept in it.
    pub folder: PathBuf,
    /// How much of the disk a commit may use.
    pub room: Room,
}

impl Options {
    /// A store in `folder` that leaves 8 MiB of the disk free: enough to open it after a restart, which takes
    /// up to a segment of 512 KiB and a snapshot with some bytes for each page; and for most stores also for a copy.
    /// Half of it can be used by what is about a failure.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), room: Room::Leave { bytes: 8 * 1024 * 1024 } }
    }
}

/// A handle on a store on disk. When the last one is dropped, the store closes by itself a moment later.
#[derive(Debug, Clone)]
pub struct SledStore {
    calls: mpsc::Sender<Call>,
}

/// A store that was opened, and what its operator should know about that.
#[derive(Debug)]
pub struct Opened {
    /// The store.
    pub store: SledStore,
    /// What was wrong and was put right; empty in the ordinary case.
    pub notes: Vec<Note>,
}

impl SledStore {
    /// Opens the store in a folder, making an empty one where there is none. Waits up to 2 s for another that is
    /// just closing.
    ///
    /// # Errors
    /// Whatever [`OpenError`] says. Nothing is ever taken for an empty store because it could not be read.
    pub async fn open(options: Options) -> Result<Opened, OpenError> {
        let (opened, answer) = oneshot::channel();
        let (calls, received) = mpsc::channel(CALLS_MAX);
        worker::start(options, opened, received)?;
        let notes = answer.await.map_err(|_| OpenError::Panicked)??;
        Ok(Opened { store: Self { calls }, notes })
    }

    /// Closes the store for all its handles, after the calls that are waiting; when this returns, its folder can
    /// be opened again.
    pub async fn close(&self) {
        let (answer, closed) = oneshot::channel();
        if self.calls.send(Call::Close { answer }).await.is_ok() {
            // An error means that the engine is gone already, which is what was asked for.
            closed.await.ok();
        }
    }

    async fn call<T>(&self, call: impl FnOnce(oneshot::Sender<T>) -> Call) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.calls.send(call(answer)).await.ok()?;
        answered.await.ok()
    }
}

impl Store for SledStore {
    async fn read(&self, key: &Key) -> Result<Option<Document>, ReadError> {
        let key = key.clone();
        self.call(|answer| Call::Read { key, answer }).await.unwrap_or(Err(ReadError::Closed))
    }

    async fn scan(&self, prefix: &Prefix) -> Result<Vec<(Key, Document)>, ReadError> {
        let prefix = prefix.clone();
        self.call(|answer| Call::Scan { prefix, answer }).await.unwrap_or(Err(ReadError::Closed))
    }

    async fn commit(&self, batch: Batch) -> Result<Landed, CommitError> {
        self.call(|answer| Call::Commit { batch, answer }).await.unwrap_or(Err(CommitError::Closed))
    }
}
