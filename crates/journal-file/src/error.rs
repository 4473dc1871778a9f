//! What can be wrong: with opening a journal, with its file, and with a change.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use failure_book::RowError;

use crate::frame::FRAME_BYTES_MAX;
use crate::header::SCHEMA;

/// What is wrong with a journal's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It is gone.
    #[error("it is missing")]
    Missing,
    /// Something else is in its place.
    #[error("it is no file")]
    NoFile,
    /// Its first line is not as it was written.
    #[error("its first line is not that of a failure book")]
    Header,
    /// Nothing is in it, and its mark, which would tell whether anything ever was, is missing or damaged.
    #[error("it holds nothing, and no mark says that nothing was ever written")]
    Empty,
    /// What stands there was acknowledged, or written together with what was, and is not as it was written.
    #[error("what was written there is not there as it was written")]
    Changed,
    /// The frame is whole, and its rows make no sense.
    #[error("the rows there make no sense")]
    Rows,
    /// It is an older file than the one that was last written to.
    #[error("it is an older file, of writing {found}, and writing {written} had begun")]
    Older {
        /// Which writing it is.
        found: u64,
        /// The newest of which something was acknowledged.
        written: u64,
    },
}

/// Why a journal is not open. Where its file is damaged it was left as it was found.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its lock is held, by a process that cannot be told.
    #[error("another process already uses this failure book: {}", folder.display())]
    InUse {
        /// The journal's folder.
        folder: PathBuf,
    },
    /// It was written by another version, or is something else.
    #[error(
        "{} says {found:?}, and this build opens \"bellwether failure book {SCHEMA}\": start the build that wrote it, \
         or give the failure book another folder",
        file.display()
    )]
    Schema {
        /// The file that says it.
        file: PathBuf,
        /// What it says, shortened.
        found: String,
    },
    /// Not everything is there that was written.
    #[error(
        "{} is damaged at byte {place}: {what}; restore a backup of the failure book, and give it another identity",
        file.display()
    )]
    Damaged {
        /// The file that has the damage.
        file: PathBuf,
        /// Where in it, in bytes from its beginning.
        place: u64,
        /// What is wrong there.
        what: Damage,
    },
    /// The file is whole, and its rows are no failure book.
    #[error("{} cannot be read as a failure book", file.display())]
    Rows {
        /// The journal's file.
        file: PathBuf,
        /// Which row is wrong, and how.
        source: RowError,
    },
    /// Opening writes a little, and there is no room for it.
    #[error("no space left to open {}", path.display())]
    Full {
        /// What was to be written.
        path: PathBuf,
    },
    /// Opening writes a little, and the disk can only be read.
    #[error("{} is on a disk that is read-only", path.display())]
    ReadOnly {
        /// What was to be written.
        path: PathBuf,
    },
    /// The operating system refuses something.
    #[error("the failure book needs {}", path.display())]
    Io {
        /// What it was needed for.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl OpenError {
    pub(crate) fn of_io(path: PathBuf, error: io::Error) -> Self {
        match Refusal::of(&error) {
            Refusal::Full => Self::Full { path },
            Refusal::ReadOnly => Self::ReadOnly { path },
            Refusal::Other => Self::Io { path, source: error },
        }
    }
}

/// Why the journal has no answer. After any of these a change is not known to have landed; after
/// [`JournalError::TooLong`] and [`JournalError::Refused`] it has not.
#[derive(Debug, thiserror::Error)]
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
    /// The disk did not take the change.
    #[error("the failure book in {} could not be written", folder.display())]
    Unwritten {
        /// The journal's folder.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// It could not be read, or not be opened again after a write that failed.
    #[error(transparent)]
    Unread(OpenError),
    /// The change is longer than a frame.
    #[error(
        "the change is longer than {FRAME_BYTES_MAX} bytes, and cannot be kept by the failure book"
    )]
    TooLong,
    /// The change cannot be made into bytes.
    #[error("the change cannot be kept by the failure book")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
}

impl JournalError {
    pub(crate) fn of_write(folder: &Path, error: io::Error) -> Self {
        let folder = folder.to_owned();
        match Refusal::of(&error) {
            Refusal::Full => Self::Full { folder },
            Refusal::ReadOnly => Self::ReadOnly { folder },
            Refusal::Other => Self::Unwritten { folder, source: error },
        }
    }

    pub(crate) fn of_open(folder: &Path, error: OpenError) -> Self {
        let folder = folder.to_owned();
        match error {
            OpenError::Full { .. } => Self::Full { folder },
            OpenError::ReadOnly { .. } => Self::ReadOnly { folder },
            OpenError::InUse { .. }
            | OpenError::Schema { .. }
            | OpenError::Damaged { .. }
            | OpenError::Rows { .. }
            | OpenError::Io { .. } => Self::Unread(error),
        }
    }
}

/// What the disk answers in place of doing its work, sorted by what an operator would do about it.
enum Refusal {
    Full,
    ReadOnly,
    Other,
}

impl Refusal {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "io::ErrorKind is foreign and grows; whatever is not one of these needs a person"
    )]
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Other,
        }
    }
}
