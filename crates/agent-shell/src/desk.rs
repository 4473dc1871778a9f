//! The agent's one durable document: read when it starts, written before anything follows from it.

use agent_core::Kept;
use names::MachineName;
use store::{
    Batch, BatchError, CommitError, Document, Entry, Expect, Key, KeyError, Landed, Prefix,
    ReadError, Store,
};
use thiserror::Error;

use crate::work::words;

/// Where an agent keeps what it must remember.
#[derive(Debug)]
pub(crate) enum Desk<S> {
    /// In a store, under a key.
    Open { store: S, key: Key },
    /// Nowhere: there is no store, for this reason.
    Shut { why: String },
}

/// The store of a desk that is never open.
#[derive(Debug, Clone)]
pub(crate) enum NoStore {}

impl Store for NoStore {
    async fn read(&self, _: &Key) -> Result<Option<Document>, ReadError> {
        match *self {}
    }

    async fn scan(&self, _: &Prefix) -> Result<Vec<(Key, Document)>, ReadError> {
        match *self {}
    }

    async fn commit(&self, _: Batch) -> Result<Landed, CommitError> {
        match *self {}
    }
}

/// Why what was kept cannot be read. It is never taken for nothing: an agent that forgot its declaration would take an
/// older one.
#[derive(Debug, Error)]
pub enum ReopenError {
    /// The machine's name makes no key.
    #[error("there is no place in the store for this machine")]
    Key(#[from] KeyError),
    /// The store does not answer.
    #[error("the agent's document cannot be read")]
    Read(#[from] ReadError),
    /// The document is not what an agent writes.
    #[error("the agent's document cannot be understood; a newer agent may have written it")]
    Content(#[from] serde_json::Error),
}

#[derive(Debug, Error)]
enum KeepError {
    #[error("it cannot be encoded")]
    Encode(#[from] serde_json::Error),
    #[error("it is too large")]
    Batch(#[from] BatchError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl<S: Store> Desk<S> {
    /// Opens the desk of a machine and reads what lies on it.
    pub(crate) async fn open(
        store: S,
        machine: &MachineName,
    ) -> Result<(Self, Option<Kept>), ReopenError> {
        let key = Key::new("agent", [machine.as_str()])?;
        let document = store.read(&key).await?;
        let kept = document.map(|document| serde_json::from_slice(&document.bytes));
        Ok((Self::Open { store, key }, kept.transpose()?))
    }

    /// Returns once it is on the disk; an error says, in words, why that is not known.
    pub(crate) async fn keep(&self, kept: &Kept) -> Result<(), String> {
        match self {
            Self::Open { store, key } => {
                write(store, key, kept).await.map_err(|error| words(&error))
            }
            Self::Shut { why } => Err(why.clone()),
        }
    }
}

async fn write(store: &impl Store, key: &Key, kept: &Kept) -> Result<(), KeepError> {
    // This agent is the only writer of its document, so it has nothing to compare with.
    let entry = Entry::put(key.clone(), Expect::Any, serde_json::to_vec(kept)?);
    store.commit(Batch::new(vec![entry])?).await?;
    Ok(())
}
