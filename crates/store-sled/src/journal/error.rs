//! Why the journal could not be read, or did not say that a change landed.

use std::path::{Path, PathBuf};

use store::{CommitError, KeyError, ReadError, Source};
use thiserror::Error;

use crate::folder::Folder;

/// Why the failure book's journal on disk has no answer. After any of these a change is not known to have landed; after
/// [`JournalError::NameTooLong`] and [`JournalError::Refused`] it has not.
#[derive(Debug, Error)]
pub enum JournalError {
    /// No space left, or a quota reached. Worth trying again when there is room.
    #[error("no space left for the failure book in {}", folder.display())]
    Full {
        /// The journal's folder.
        folder: PathBuf,
    },
    /// The disk can only be read.
    #[error("the disk of the failure book in {} is read-only", folder.display())]
    ReadOnly {
        /// The journal's folder.
        folder: PathBuf,
    },
    /// What is kept is no failure book, or not as it was written. It was left as it was found.
    #[error("{} cannot be read as a failure book", file.display())]
    Damaged {
        /// The file that has the damage.
        file: PathBuf,
        /// What is wrong with it.
        source: Source,
    },
    /// The engine could not read, or could not be opened again after it failed.
    #[error("the failure book in {} could not be read", folder.display())]
    Unread {
        /// The journal's folder.
        folder: PathBuf,
        /// What the engine says.
        source: Source,
    },
    /// The engine could not write, or could not be opened again after it failed.
    #[error("the failure book in {} could not be written", folder.display())]
    Unwritten {
        /// The journal's folder.
        folder: PathBuf,
        /// What the engine says.
        source: Source,
    },
    /// A row's names make a key that is longer than the store keeps.
    #[error("the names in the row {row:?} are too long for the failure book")]
    NameTooLong {
        /// The row.
        row: String,
        /// By how much.
        source: KeyError,
    },
    /// The change cannot be written as it is.
    #[error("the change cannot be kept by the failure book")]
    Refused(#[source] Source),
}

impl JournalError {
    pub(super) fn of_read(folder: &Folder, error: ReadError) -> Self {
        let unread = |source| Self::Unread { folder: folder.root().to_owned(), source };
        match error {
            ReadError::Damaged(_) => Self::Damaged { file: folder.db(), source: error.into() },
            ReadError::Failed(source) => unread(source),
            ReadError::Closed => unread(error.into()),
        }
    }

    pub(super) fn of_commit(folder: &Path, error: CommitError) -> Self {
        let folder = folder.to_owned();
        match error {
            CommitError::Full => Self::Full { folder },
            CommitError::ReadOnly => Self::ReadOnly { folder },
            CommitError::Failed(source) => Self::Unwritten { folder, source },
            CommitError::Conflict { .. } | CommitError::Closed => {
                Self::Unwritten { folder, source: error.into() }
            }
        }
    }
}
