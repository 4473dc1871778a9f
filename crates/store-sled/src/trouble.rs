//! What the disk or sled can answer instead of doing its work, sorted by what an operator would do about it.

use std::io::{self, ErrorKind};

use store::{CommitError, ReadError, Source};

/// A failure of the engine, after which its memory is not to be trusted.
#[derive(Debug)]
pub(crate) enum Trouble {
    Full,
    ReadOnly,
    Other(Source),
}

impl From<io::Error> for Trouble {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "io::ErrorKind is foreign and grows; whatever is not one of these needs a person"
    )]
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Other(error.into()),
        }
    }
}

impl From<sled::Error> for Trouble {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => error.into(),
            sled::Error::CollectionNotFound(_)
            | sled::Error::Unsupported(_)
            | sled::Error::ReportableBug(_)
            | sled::Error::Corruption { .. } => Self::Other(error.into()),
        }
    }
}

impl From<Trouble> for CommitError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full => Self::Full,
            Trouble::ReadOnly => Self::ReadOnly,
            Trouble::Other(source) => Self::Failed(source),
        }
    }
}

impl From<Trouble> for ReadError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full => Self::Failed("no space left to open the store again".into()),
            Trouble::ReadOnly => Self::Failed("the store's disk became read-only".into()),
            Trouble::Other(source) => Self::Failed(source),
        }
    }
}
