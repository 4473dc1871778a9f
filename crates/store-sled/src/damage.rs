//! What can be wrong with the engine's files, told apart from what keeps them from being read at all.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::trouble::Trouble;

/// What is wrong with the file that holds the documents.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Damage {
    /// It is gone.
    #[error("it is missing")]
    Missing,
    /// Something else is in its place.
    #[error("it is no file")]
    NoFile,
    /// It was lost, and an empty one is in its place.
    #[error("it has nothing of the store that was made")]
    Empty,
    /// A document is there in part, or is not the one that was put.
    #[error("the document {0} is not as it was written")]
    Document(String),
    /// Documents are missing, or older than they were.
    #[error("its documents are not those that were last written")]
    Sum,
    /// Whole commits are missing.
    #[error("it ends at revision {found}, and revision {written} was written")]
    Behind {
        /// The newest revision in it.
        found: u64,
        /// The newest that was acknowledged, or a somewhat older one.
        written: u64,
    },
    /// The engine gives up on it.
    #[error("the engine cannot read it ({0})")]
    Engine(String),
}

/// Why a store is not to be worked with.
#[derive(Debug)]
pub(crate) enum Unsound {
    /// Its file is damaged.
    Damage(Damage),
    /// The disk or the operating system refuses something.
    Trouble(Trouble),
}

impl From<Damage> for Unsound {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl From<io::Error> for Unsound {
    fn from(error: io::Error) -> Self {
        Self::Trouble(error.into())
    }
}

impl From<sled::Error> for Unsound {
    fn from(error: sled::Error) -> Self {
        match error {
            // What the operating system did not word is that a file ends too early; and what it calls invalid is
            // a place in the file that makes no sense.
            sled::Error::Io(error)
                if error.raw_os_error().is_some()
                    && error.kind() != io::ErrorKind::InvalidInput =>
            {
                Self::Trouble(error.into())
            }
            sled::Error::Io(_)
            | sled::Error::CollectionNotFound(_)
            | sled::Error::Unsupported(_)
            | sled::Error::ReportableBug(_)
            | sled::Error::Corruption { .. } => Damage::Engine(error.to_string()).into(),
        }
    }
}

/// Lets sled work on what may be damaged: it panics on some of it, and its message is then on standard error.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> T) -> Result<T, Damage> {
    // Whatever panicked is dropped by whoever called, and nothing of it is looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Damage::Engine(text_of(&*panic)))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it broke off");
    text.lines().next().unwrap_or_default().to_owned()
}
