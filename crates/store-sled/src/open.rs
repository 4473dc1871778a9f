//! Opening: the folder is taken, what sled would stumble over is moved out of its way, everything is synced once.

use std::io;
use std::path::PathBuf;
use std::thread;

use store::Source;
use thiserror::Error;

use crate::folder::{Folder, LOCK_PAUSE, LOCK_TRIES, Note, SCHEMA};
use crate::trouble::Trouble;

/// How much memory sled may use to keep pages, in bytes. A whole fleet's documents fit.
const CACHE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Why a store is not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Its lock is held, by a process that cannot be told.
    #[error("another controller already uses this store: {}", folder.display())]
    InUse {
        /// The store's folder.
        folder: PathBuf,
    },
    /// Its layout is not the one that this build knows.
    #[error(
        "the store in {} is of another kind ({found:?}, this build knows schema {SCHEMA}): start the build that \
         wrote it, or restore a backup into an empty folder",
        folder.display()
    )]
    Schema {
        /// The store's folder.
        folder: PathBuf,
        /// What its `schema` file says, shortened.
        found: String,
    },
    /// Opening writes a little, and there is no room for it.
    #[error("no space left to open the store in {}", folder.display())]
    Full {
        /// The store's folder, or what is in it.
        folder: PathBuf,
    },
    /// Opening writes a little, and the disk can only be read.
    #[error("the disk of the store in {} is read-only", folder.display())]
    ReadOnly {
        /// The store's folder, or what is in it.
        folder: PathBuf,
    },
    /// What is there is not a whole store: sled refuses its files also without any snapshot, or finds nothing in a
    /// store that was made. Snapshots may have been set aside; nothing was deleted.
    #[error("the store in {} is damaged; restore a backup into an empty folder", folder.display())]
    Damaged {
        /// The store's folder.
        folder: PathBuf,
        /// What sled says.
        source: Source,
    },
    /// The engine failed for another reason.
    #[error("the store in {} could not be opened", folder.display())]
    Failed {
        /// The store's folder.
        folder: PathBuf,
        /// What sled or the operating system says.
        source: Source,
    },
    /// The operating system refuses something.
    #[error("the store needs {}", path.display())]
    Io {
        /// What it was needed for.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The engine panicked while it opened; its message is on standard error.
    #[error("the store's engine failed while it opened")]
    Panicked,
}

impl OpenError {
    pub(crate) fn of_io(path: PathBuf, error: io::Error) -> Self {
        // Sorted by kind first, and kept as it is where a person needs to see it.
        match Trouble::from(io::Error::from(error.kind())) {
            Trouble::Full => Self::Full { folder: path },
            Trouble::ReadOnly => Self::ReadOnly { folder: path },
            Trouble::Other(_) => Self::Io { path, source: error },
        }
    }

    pub(crate) fn of_trouble(folder: PathBuf, trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full => Self::Full { folder },
            Trouble::ReadOnly => Self::ReadOnly { folder },
            Trouble::Other(source) => Self::Failed { folder, source },
        }
    }
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Full { .. } => Self::Full,
            OpenError::ReadOnly { .. } => Self::ReadOnly,
            OpenError::InUse { .. }
            | OpenError::Schema { .. }
            | OpenError::Damaged { .. }
            | OpenError::Failed { .. }
            | OpenError::Io { .. }
            | OpenError::Panicked => Self::Other(error.into()),
        }
    }
}

/// Opens sled in the folder, without every snapshot that it cannot read, and makes sure that what it found and
/// wrote is on the disk.
pub(crate) fn open(folder: &Folder) -> Result<(sled::Db, Vec<Note>), OpenError> {
    let at_data = |error| OpenError::of_io(folder.data(), error);
    let mut notes = Vec::new();
    folder.settle_db()?;
    if folder.data().exists() {
        folder.set_unfinished_aside(&mut notes).map_err(at_data)?;
    }
    let mut tries = 0;
    let db = loop {
        match config(folder).open() {
            Ok(db) => break db,
            Err(error @ sled::Error::Corruption { .. }) => {
                match folder.set_newest_aside().map_err(at_data)? {
                    Some(note) => notes.push(note),
                    None => return Err(refused(folder, error)),
                }
            }
            // The folder is ours, so whoever has sled's file is on the way out: an engine that failed a moment ago, or a
            // child that has not yet begun its own program.
            Err(error) if is_of_sled(&error) && tries < LOCK_TRIES => {
                tries += 1;
                thread::sleep(LOCK_PAUSE);
            }
            Err(error) => return Err(refused(folder, error)),
        }
    };
    folder.sync_all().map_err(at_data)?;
    Ok((db, notes))
}

/// Whether an error is one that sled words itself, not the operating system's: so it says that its lock is held.
fn is_of_sled(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.raw_os_error().is_none())
}

fn config(folder: &Folder) -> sled::Config {
    sled::Config::new()
        .path(folder.data())
        .cache_capacity(CACHE_BYTES_MAX)
        // Every commit flushes; nothing is ever left for a timer.
        .flush_every_ms(None)
}

fn refused(folder: &Folder, error: sled::Error) -> OpenError {
    let root = folder.root().to_owned();
    match error {
        sled::Error::Io(error) => OpenError::of_io(root, error),
        sled::Error::Corruption { .. } => OpenError::Damaged { folder: root, source: error.into() },
        sled::Error::CollectionNotFound(_)
        | sled::Error::Unsupported(_)
        | sled::Error::ReportableBug(_) => OpenError::of_trouble(root, error.into()),
    }
}
