//! sled from one open to the next: reads, scans, and commits that land.

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use store::{
    Batch, Change, CommitError, Document, Entry, Key, Landed, Prefix, ReadError, Revision,
};

use crate::folder::{Folder, Making, Note};
use crate::open::{self, OpenError};
use crate::record::{self, Assembly, Damaged, Head};
use crate::room::Room;
use crate::trouble::Trouble;

/// How long to wait for sled before looking whether it forgot to say that it failed.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// An open engine whose memory is what is on the disk. After [`Failure::Doubtful`] it is not, and must go.
#[derive(Debug)]
pub(crate) struct Session {
    db: sled::Db,
    // A descriptor of our own on sled's file, for the fsync that sled does not do.
    file: File,
    last_revision: u64,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// For a reason that leaves the engine as it was.
    Sound(E),
    /// The engine failed, and its memory may differ from the disk.
    Doubtful(Trouble),
}

impl<E, T: Into<Trouble>> From<T> for Failure<E> {
    fn from(trouble: T) -> Self {
        Self::Doubtful(trouble.into())
    }
}

impl Session {
    pub(crate) fn open(folder: &Folder) -> Result<(Self, Vec<Note>), OpenError> {
        let making = folder.settle_schema()?;
        let (db, notes) = open::open(folder)?;
        let path = folder.db();
        let file = File::open(&path).map_err(|error| OpenError::of_io(path, error))?;
        let damaged = |source| OpenError::Damaged { folder: folder.root().to_owned(), source };
        let last_revision = last_revision(&db).map_err(damaged)?;
        let session = Self { db, file, last_revision };
        if making == Making::BeingMade {
            session.mark_made(folder)?;
        } else if !session.db.contains_key(record::MADE_KEY).map_err(|e| damaged(e.into()))? {
            return Err(damaged("it is empty, and was not when it was made".into()));
        }
        Ok((session, notes))
    }

    /// Lands the mark that a store which was made has, and then says that it was made.
    fn mark_made(&self, folder: &Folder) -> Result<(), OpenError> {
        let mark = || -> Result<(), Trouble> {
            self.db.insert(record::MADE_KEY, &[])?;
            self.land(folder)
        };
        mark().map_err(|trouble| OpenError::of_trouble(folder.root().to_owned(), trouble))?;
        folder.write_schema(Making::Made)
    }

    /// Lets the engine go, whatever state it is in.
    pub(crate) fn close(self) {
        // sled unwraps a last sync of its own when it is dropped. It is right to be loud, but the disk's error was
        // answered already, or there is nothing left that it could concern.
        catch_unwind(AssertUnwindSafe(|| drop(self))).ok();
    }

    pub(crate) fn read(&self, key: &Key) -> Result<Option<Document>, Failure<ReadError>> {
        match self.db.get(record::head_key(key))? {
            Some(head) => self.assemble(key, &head).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn scan(&self, prefix: &Prefix) -> Result<Vec<(Key, Document)>, Failure<ReadError>> {
        let mut documents = Vec::new();
        for found in self.db.scan_prefix(record::head_keys(prefix)) {
            let (head_key, head) = found?;
            let key = record::key_of(&head_key).map_err(|Damaged| {
                let text = String::from_utf8_lossy(&head_key).into_owned();
                Failure::Sound(ReadError::Damaged(text))
            })?;
            let document = self.assemble(&key, &head)?;
            documents.push((key, document));
        }
        Ok(documents)
    }

    fn assemble(&self, key: &Key, head: &[u8]) -> Result<Document, Failure<ReadError>> {
        let damaged = |Damaged| Failure::Sound(ReadError::Damaged(key.to_string()));
        let head = record::head(head).map_err(damaged)?;
        let mut assembly = Assembly::begin(head);
        for number in record::part_numbers(head.length) {
            let part = self.db.get(record::part_key(key, number))?;
            let part = part.ok_or(Damaged).map_err(damaged)?;
            assembly.add(&part).map_err(damaged)?;
        }
        assembly.finish().map_err(damaged)
    }

    /// Checks, writes, and answers when it has landed.
    pub(crate) fn commit(
        &mut self,
        folder: &Folder,
        room: Room,
        batch: Batch,
    ) -> Result<Landed, Failure<CommitError>> {
        let revision = NonZeroU64::MIN.saturating_add(self.last_revision);
        let mut writes = Vec::new();
        let mut revisions = BTreeMap::new();
        let mut bytes = 0_u64;
        for Entry { key, expect, change } in batch.into_entries() {
            let before = self.db.get(record::head_key(&key))?;
            let before = match &before {
                Some(head) => Some(record::head(head).map_err(|Damaged| damaged(&key))?),
                None => None,
            };
            let found = before.map(|head| head.revision);
            if !expect.holds(found) {
                let conflict = CommitError::Conflict { key, expected: expect, found };
                return Err(Failure::Sound(conflict));
            }
            if let Change::Put(put) = &change {
                revisions.insert(key.clone(), Revision::new(revision));
                bytes = bytes.saturating_add(u64::try_from(put.len()).unwrap_or(u64::MAX));
            }
            write(&mut writes, Revision::new(revision), &key, before, &change);
        }
        if writes.is_empty() {
            return Ok(Landed::new(revisions));
        }
        room.check(folder.root(), bytes).map_err(|trouble| Failure::Sound(trouble.into()))?;
        self.apply(revision, writes)?;
        self.land(folder)?;
        self.last_revision = revision.get();
        Ok(Landed::new(revisions))
    }

    /// Makes the writes of one commit whole. One put of one value is whole by itself, at half the cost of a
    /// batch: its head holds the newest revision, so the count of revisions may stay behind.
    fn apply(&self, revision: NonZeroU64, writes: Vec<Write>) -> Result<(), sled::Error> {
        let mut writes = writes;
        if let [(key, Some(value))] = writes.as_mut_slice() {
            return self.db.insert(std::mem::take(key), std::mem::take(value)).map(drop);
        }
        let mut batch = sled::Batch::default();
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        batch.insert(&record::LAST_REVISION_KEY, &revision.get().to_be_bytes());
        self.db.apply_batch(batch)
    }

    /// Returns when everything that sled has in memory is on the disk.
    fn land(&self, folder: &Folder) -> Result<(), Trouble> {
        self.flush()?;
        self.file.sync_all()?;
        folder.sync_blobs()?;
        Ok(())
    }

    /// sled's flush, which can sleep for ever: its thread that writes the beginning of a batch does not wake it
    /// when that write fails, and a failing disk may tell its error to that thread only. So the flush runs aside,
    /// and is shaken when it takes long and sled has noted an error.
    fn flush(&self) -> Result<(), sled::Error> {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut flush = pin!(self.db.flush_async());
        loop {
            if let Poll::Ready(flushed) = flush.as_mut().poll(&mut Context::from_waker(&waker)) {
                return flushed.map(|_bytes| ());
            }
            thread::park_timeout(FLUSH_PATIENCE);
            if self.db.context.global_error().is_err() {
                // With its error known, a further flush returns at once, and wakes whoever waits.
                self.db.flush().ok();
            }
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A value for a key of the tree, or its removal.
type Write = (Vec<u8>, Option<Vec<u8>>);

/// Adds to `writes` what makes one change whole: the new head and parts, and the removal of old ones.
fn write(
    writes: &mut Vec<Write>,
    revision: Revision,
    key: &Key,
    before: Option<Head<'_>>,
    change: &Change,
) {
    let parts_before = record::part_numbers(before.map_or(0, |head| head.length));
    let mut parts = 0;
    match change {
        Change::Put(bytes) => {
            let (head, rest) = record::cut(revision, bytes);
            writes.push((record::head_key(key), Some(head)));
            for (number, part) in (1..).zip(rest) {
                writes.push((record::part_key(key, number), Some(part)));
                parts = number;
            }
        }
        Change::Delete if before.is_some() => writes.push((record::head_key(key), None)),
        Change::Delete => {}
    }
    for number in parts_before.filter(|number| *number > parts) {
        writes.push((record::part_key(key, number), None));
    }
}

/// The newest revision that was ever given: of a document that is there, or counted when others went.
fn last_revision(db: &sled::Db) -> Result<u64, store::Source> {
    let damaged = |Damaged| "a document's head or the count of revisions is damaged";
    let mut last = match db.get(record::LAST_REVISION_KEY)? {
        Some(value) => record::last_revision(&value).map_err(damaged)?,
        None => 0,
    };
    for found in db.scan_prefix(record::head_keys(&Prefix::all())) {
        let (_, head) = found?;
        last = last.max(record::head(&head).map_err(damaged)?.revision.get());
    }
    Ok(last)
}

fn damaged(key: &Key) -> Failure<CommitError> {
    let error = ReadError::Damaged(key.to_string());
    Failure::Sound(CommitError::Failed(error.into()))
}
