//! The store in memory: for tests and simulations, with faults by script.
//!
//! What it holds lives as long as any handle on it, so a "restart" of whoever uses it is a clone that is kept
//! from before: the documents are there, whatever the process forgot.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::key::{Key, Prefix};
use crate::port::{
    Batch, Change, CommitError, Document, Entry, Landed, ReadError, Reserve, Revision, Store,
};

/// Documents in memory, for one process.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    // The handles may be on several threads; the lock is held for one change of the map, never across an await.
    shared: Arc<Mutex<State>>,
}

/// What goes wrong with one commit. A commit that conflicts answers its conflict, and the fault is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing lands, and the failure is answered.
    Fails(Failure),
    /// Everything lands, and the failure is answered nevertheless: a write whose acknowledgement was lost.
    Lies(Failure),
    /// Only the first entries of the batch land, and the failure is answered: an engine without atomic batches.
    Torn {
        /// How many entries land.
        entries: usize,
        /// What is answered.
        failure: Failure,
    },
}

/// Which error a failing commit answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// [`CommitError::Full`].
    Full,
    /// [`CommitError::ReadOnly`].
    ReadOnly,
    /// [`CommitError::Failed`].
    Broken,
}

/// How the simulated disk is, until it is set otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disk {
    /// Writes land.
    #[default]
    Writable,
    /// Every commit that changes something answers the failure, and nothing lands. Reads go on.
    Refusing(Failure),
    /// Only the reserve is left: a commit that may not use it answers [`CommitError::Full`].
    Low,
}

#[derive(Debug, Default)]
struct State {
    documents: BTreeMap<Key, Document>,
    last_revision: u64,
    commits: u64,
    faults: BTreeMap<u64, Fault>,
    disk: Disk,
}

impl MemoryStore {
    /// An empty store on a disk without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many commits were asked for so far, landed or not.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.lock().commits
    }

    /// Scripts `fault` for the commit that comes after `skipped` others from now on. A later script for the same
    /// commit replaces it.
    pub fn fault_after(&self, skipped: u64, fault: Fault) {
        let mut state = self.lock();
        let number = state.commits.saturating_add(skipped).saturating_add(1);
        state.faults.insert(number, fault);
    }

    /// Sets how the disk is from now on.
    pub fn set_disk(&self, disk: Disk) {
        self.lock().disk = disk;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so what a poisoned lock guards is whole.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MemoryStore {
    async fn read(&self, key: &Key) -> Result<Option<Document>, ReadError> {
        Ok(self.lock().documents.get(key).cloned())
    }

    async fn scan(&self, prefix: &Prefix) -> Result<Vec<(Key, Document)>, ReadError> {
        let state = self.lock();
        let from_prefix = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let covered = state.documents.range::<str, _>(from_prefix);
        let covered = covered.take_while(|(key, _)| prefix.covers(key));
        Ok(covered.map(|(key, document)| (key.clone(), document.clone())).collect())
    }

    async fn commit(&self, batch: Batch) -> Result<Landed, CommitError> {
        self.lock().commit(batch)
    }
}

impl State {
    fn commit(&mut self, batch: Batch) -> Result<Landed, CommitError> {
        self.commits += 1;
        let fault = self.faults.remove(&self.commits);
        self.check(batch.entries())?;
        match (self.disk, batch.reserve()) {
            (Disk::Refusing(failure), Reserve::Kept | Reserve::Used) => return Err(failure.into()),
            (Disk::Low, Reserve::Kept) => return Err(CommitError::Full),
            (Disk::Low, Reserve::Used) | (Disk::Writable, Reserve::Kept | Reserve::Used) => {}
        }
        let entries = batch.into_entries();
        match fault {
            None => Ok(self.apply(entries)),
            Some(Fault::Fails(failure)) => Err(failure.into()),
            Some(Fault::Lies(failure)) => {
                self.apply(entries);
                Err(failure.into())
            }
            Some(Fault::Torn { entries: whole, failure }) => {
                self.apply(entries.into_iter().take(whole));
                Err(failure.into())
            }
        }
    }

    fn check(&self, entries: &[Entry]) -> Result<(), CommitError> {
        for Entry { key, expect, .. } in entries {
            let found = self.documents.get(key).map(|document| document.revision);
            if !expect.holds(found) {
                let (key, expected) = (key.clone(), *expect);
                return Err(CommitError::Conflict { key, expected, found });
            }
        }
        Ok(())
    }

    /// One revision for all entries of a commit, from a counter of the whole store: it grows for every key and
    /// cannot come back for a key that was deleted.
    fn apply(&mut self, entries: impl IntoIterator<Item = Entry>) -> Landed {
        let revision = NonZeroU64::MIN.saturating_add(self.last_revision);
        self.last_revision = revision.get();
        let revision = Revision::new(revision);
        let mut revisions = BTreeMap::new();
        for Entry { key, change, .. } in entries {
            match change {
                Change::Put(bytes) => {
                    revisions.insert(key.clone(), revision);
                    self.documents.insert(key, Document { revision, bytes });
                }
                Change::Delete => {
                    self.documents.remove(&key);
                }
            }
        }
        Landed::new(revisions)
    }
}

impl From<Failure> for CommitError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Full => Self::Full,
            Failure::ReadOnly => Self::ReadOnly,
            Failure::Broken => Self::Failed("the script says so".into()),
        }
    }
}
