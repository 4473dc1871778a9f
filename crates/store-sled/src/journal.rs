//! The failure book's journal on disk: each row is a document of a store of its own.
//!
//! So a change is one commit, and all that is said of commits holds: it is one batch of one tree, answered when it is
//! on the disk; a row of many kilobytes is cut into small values; and a journal that was cut, or that misses a row in
//! the middle, does not open as a smaller book.

mod error;
mod row_key;

use std::path::Path;

use failure_book::{Change, Journal, Kept, RowError};
use store::{Batch, Entry, Expect, Prefix, Reserve};

pub use self::error::JournalError;
use crate::Options;
use crate::engine::Engine;
use crate::folder::Keeps;
use crate::note::Note;
use crate::open::OpenError;

/// Where a machine keeps its failure book. Dropped, it closes, and its folder can be opened again.
///
/// It works on the thread that calls it, and waits there for the disk: nothing for a thread that others wait for.
#[derive(Debug)]
pub struct SledJournal {
    engine: Engine,
}

/// A journal that was opened, and what its operator should know about that.
#[derive(Debug)]
pub struct OpenedJournal {
    /// The journal.
    pub journal: SledJournal,
    /// What was wrong and was put right; empty in the ordinary case.
    ///
    /// After [`Note::DamagedMark`] or [`Note::MissingMark`] nothing could tell whether the newest changes are missing. The
    /// book then is like one that was restored from an older copy, and needs another identity before anything else:
    /// [`Book::rotate_identity`](failure_book::Book::rotate_identity).
    pub notes: Vec<Note>,
}

impl SledJournal {
    /// Opens the journal in a folder of its own, making an empty one where there is none. Waits up to 2 s for another
    /// that is just closing.
    ///
    /// The room that [`Options`] keep is also the book's: what it writes is about failures, so it may use the half of it.
    ///
    /// # Errors
    /// Whatever [`OpenError`] says. A store of documents is no journal, and none is ever taken for an empty one because
    /// it could not be read: not even one that was made and in which nothing ever landed, when its mark is gone too.
    pub fn open(options: Options) -> Result<OpenedJournal, OpenError> {
        let (engine, notes) = Engine::open(options, Keeps::FailureBook)?;
        Ok(OpenedJournal { journal: Self { engine }, notes })
    }

    fn folder(&self) -> &Path {
        self.engine.place().folder.root()
    }
}

impl Journal for SledJournal {
    type Error = JournalError;

    fn load(&mut self) -> Result<Option<Kept>, JournalError> {
        let found = self.engine.answer(|session, _| session.scan(&Prefix::all()));
        let folder = &self.engine.place().folder;
        let found = found.map_err(|error| JournalError::of_read(folder, error))?;
        let row = |(key, document): (store::Key, store::Document)| match row_key::decode(&key) {
            Some(row) => Ok((row, document.bytes)),
            None => Err(RowError::UnknownKey { key: key.to_string() }),
        };
        let rows: Result<Vec<(String, Vec<u8>)>, RowError> = found.into_iter().map(row).collect();
        let kept = rows.and_then(Kept::from_entries);
        kept.map_err(|error| JournalError::Damaged { file: folder.db(), source: error.into() })
    }

    fn land(&mut self, change: &Change) -> Result<(), JournalError> {
        let batch = batch(change)?;
        let landed = self.engine.answer(|session, place| {
            if batch.entries().is_empty() {
                session.commit_nothing(&place.folder, place.room, Reserve::Used)
            } else {
                session.commit(&place.folder, place.room, batch).map(drop)
            }
        });
        landed.map_err(|error| JournalError::of_commit(self.folder(), error))
    }
}

fn batch(change: &Change) -> Result<Batch, JournalError> {
    let rows = change.entries().map_err(|error| JournalError::Refused(error.into()))?;
    let entry = |failure_book::Entry { key: row, value }| {
        let key = match row_key::encode(&row) {
            Ok(key) => key,
            Err(source) => return Err(JournalError::NameTooLong { row, source }),
        };
        Ok(match value {
            Some(bytes) => Entry::put(key, Expect::Any, bytes),
            None => Entry::delete(key, Expect::Any),
        })
    };
    let entries: Result<Vec<Entry>, JournalError> = rows.into_iter().map(entry).collect();
    let batch = Batch::new(entries?).map_err(|error| JournalError::Refused(error.into()))?;
    Ok(batch.with_reserve(Reserve::Used))
}
