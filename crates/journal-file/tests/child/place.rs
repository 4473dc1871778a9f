//! Journals for tests, in places of their own.

use std::error::Error;
use std::path::{Path, PathBuf};

use journal_file::{FileJournal, OpenError, OpenedJournal, Options, Trust};
use tempfile::TempDir;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// In memory where there is such a place, since many are opened.
pub(crate) fn place() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Opens a journal that nothing is wrong with.
pub(crate) fn open(folder: &Path) -> Result<FileJournal, OpenError> {
    let OpenedJournal { journal, trust, notes } = FileJournal::open(Options::new(folder))?;
    assert_eq!((trust, &notes[..]), (Trust::Whole, &[][..]));
    Ok(journal)
}

pub(crate) fn journal_of(folder: &Path) -> PathBuf {
    folder.join("journal")
}
