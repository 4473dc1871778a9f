//! Opening: what sled would stumble over is moved out of its way, everything is read once, and synced.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;

use store::Source;
use thiserror::Error;

use crate::damage::{Damage, Unsound, without_panic};
use crate::expected::Expected;
use crate::folder::{Folder, LOCK_PAUSE, LOCK_TRIES, Making};
use crate::mark::{self, Marked};
use crate::note::Note;
use crate::standing::Standing;
use crate::trial::{self, Snapshots, Tried};
use crate::trouble::Trouble;

/// How much memory sled may use to keep pages, in bytes. A whole fleet's documents fit.
const CACHE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Why a store is not open.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Its lock is held, by a process that cannot be told.
    #[error("another process already uses this store: {}", folder.display())]
    InUse {
        /// The store's folder.
        folder: PathBuf,
    },
    /// Its layout is not one that this build knows, or its file that says so is damaged.
    #[error(
        "{} says {found:?}, and what this build opens there says {known:?}: start the build that wrote the store, or \
         restore a backup of it into an empty folder",
        file.display()
    )]
    Schema {
        /// The file that says it.
        file: PathBuf,
        /// What it says, shortened.
        found: String,
        /// What it would have to say.
        known: String,
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
    /// Not everything is there that was written. The store was left as it was found.
    #[error("{} is damaged: {what}; restore a backup of the store into an empty folder", file.display())]
    Damaged {
        /// The file that has the damage.
        file: PathBuf,
        /// What is wrong with it.
        what: Damage,
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
    /// The store's thread is gone; its message is on standard error.
    #[error("the store's thread broke off while it opened the store")]
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

    pub(crate) fn of_unsound(folder: &Folder, unsound: Unsound) -> Self {
        match unsound {
            Unsound::Damage(what) => Self::Damaged { file: folder.db(), what },
            Unsound::Trouble(trouble) => Self::of_trouble(folder.root().to_owned(), trouble),
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

/// An engine in which everything is there, on the disk.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) db: sled::Db,
    pub(crate) standing: Standing,
    pub(crate) notes: Vec<Note>,
}

/// Opens sled in the folder, after a trial on a copy, and makes sure that what it found and wrote is on the disk.
pub(crate) fn open(folder: &Folder, making: Making) -> Result<Opened, OpenError> {
    folder.settle_db(making)?;
    let mut notes = Vec::new();
    let expected = Expected { making, marked: settle_mark(folder, making, &mut notes)? };
    let tried = if folder.db().exists() {
        settle_unfinished(folder, &mut notes)?;
        let tried = trial::run(folder, expected);
        Some(tried.map_err(|unsound| OpenError::of_unsound(folder, unsound))?)
    } else {
        None
    };
    if let Some(Tried::Sound(sound)) = &tried {
        settle_snapshots(folder, sound.snapshots, &mut notes)?;
        settle_settings(folder, &sound.settings, &mut notes)?;
    }
    match open_checked(folder, expected) {
        Ok((db, standing)) => Ok(Opened { db, standing, notes }),
        // With some room it is found out on a copy what is wrong, and whether that can be done without.
        Err(Unsound::Damage(_)) if tried == Some(Tried::NoRoom) => {
            Err(OpenError::Full { folder: folder.root().to_owned() })
        }
        Err(unsound) => Err(OpenError::of_unsound(folder, unsound)),
    }
}

/// Reads the mark. One that cannot be read is set aside; another is written when the store is open.
fn settle_mark(
    folder: &Folder,
    making: Making,
    notes: &mut Vec<Note>,
) -> Result<Marked, OpenError> {
    let path = mark::path(folder.root());
    let marked = mark::read(folder.root()).map_err(|e| OpenError::of_io(path.clone(), e))?;
    match marked {
        Marked::At(_) => {}
        Marked::Damaged => notes.push(Note::DamagedMark { kept: set_aside(folder, &path)? }),
        Marked::Missing => match making {
            Making::Made => notes.push(Note::MissingMark { mark: path }),
            Making::MadeBefore(_) | Making::BeingMade => {}
        },
    }
    Ok(marked)
}

/// Sets aside the snapshots that sled did not finish: it would take one for its newest.
fn settle_unfinished(folder: &Folder, notes: &mut Vec<Note>) -> Result<(), OpenError> {
    for snapshot in snapshots(folder)? {
        if snapshot.extension() == Some(OsStr::new("generating")) {
            notes.push(Note::UnfinishedSnapshot { kept: set_aside(folder, &snapshot)? });
        }
    }
    Ok(())
}

/// Sets aside the snapshots from which sled does not come to all that is there.
fn settle_snapshots(
    folder: &Folder,
    tried: Snapshots,
    notes: &mut Vec<Note>,
) -> Result<(), OpenError> {
    match tried {
        Snapshots::Good => {}
        Snapshots::Bad => {
            for snapshot in snapshots(folder)? {
                notes.push(Note::DamagedSnapshot { kept: set_aside(folder, &snapshot)? });
            }
        }
    }
    Ok(())
}

/// Sets aside settings that sled did not write so, since it would refuse them, or worse, go by them.
fn settle_settings(folder: &Folder, right: &[u8], notes: &mut Vec<Note>) -> Result<(), OpenError> {
    let path = folder.settings();
    let is_right = fs::read(&path).is_ok_and(|found| found == right);
    if !is_right && fs::symlink_metadata(&path).is_ok() {
        notes.push(Note::DamagedSettings { kept: set_aside(folder, &path)? });
    }
    Ok(())
}

fn snapshots(folder: &Folder) -> Result<Vec<PathBuf>, OpenError> {
    folder.snapshots().map_err(|error| OpenError::of_io(folder.data(), error))
}

fn set_aside(folder: &Folder, path: &Path) -> Result<PathBuf, OpenError> {
    folder.set_aside(path).map_err(|error| OpenError::of_io(folder.aside(), error))
}

fn open_checked(folder: &Folder, expected: Expected) -> Result<(sled::Db, Standing), Unsound> {
    let db = open_patiently(folder)?;
    folder.sync_all()?;
    let standing = without_panic(|| expected.check(&db))??;
    Ok((db, standing))
}

/// The folder is ours, so whoever has sled's file is on the way out: an engine that failed a moment ago, or a child
/// that has not yet begun its own program.
fn open_patiently(folder: &Folder) -> Result<sled::Db, Unsound> {
    let mut tries = 0;
    loop {
        match without_panic(|| config(folder.data()).open())? {
            Err(error) if is_locked(&error) && tries < LOCK_TRIES => {
                tries += 1;
                thread::sleep(LOCK_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

/// Whether sled says that its lock is held. It words that itself, and the kind is its only such error's.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.kind() == ErrorKind::Other && error.raw_os_error().is_none())
}

/// How sled is set up, in this folder.
pub(crate) fn config(data: PathBuf) -> sled::Config {
    sled::Config::new()
        .path(data)
        .cache_capacity(CACHE_BYTES_MAX)
        // Every commit flushes; nothing is ever left for a timer.
        .flush_every_ms(None)
}
