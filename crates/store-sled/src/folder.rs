//! The store's folder: its schema, its lock, what is set aside in it, and syncing it.
//!
//! ```text
//! schema       which layout this is, as text; read before sled touches anything
//! lock         held by the process that has the store open
//! data/        sled's own: db, conf, blobs/, snap.*
//! set-aside/   damaged and unfinished snapshots; nothing reads them
//! ```

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};

use crate::open::OpenError;

/// The layout that this build reads and writes: of the folder, of sled's files, and of documents in them.
pub const SCHEMA: u32 = 1;

const SCHEMA_NAME: &str = "bellwether store";

/// Stands in the schema file until the first commit of an empty store has landed.
const BEING_MADE: &str = "being made";

/// How often a lock that is held is tried again: one that a closing store or a child between fork and exec
/// holds is gone by then.
pub(crate) const LOCK_TRIES: u32 = 40;
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Something that was wrong in the folder and was put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// sled had not finished writing this snapshot when it was stopped. Nothing is lost.
    UnfinishedSnapshot {
        /// Where it is kept now.
        kept: PathBuf,
    },
    /// sled could not read this snapshot, and opened without it. Nothing is lost, unless the disk loses more.
    DamagedSnapshot {
        /// Where it is kept now.
        kept: PathBuf,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, kept) = match self {
            Self::UnfinishedSnapshot { kept } => ("an unfinished", kept),
            Self::DamagedSnapshot { kept } => ("a damaged", kept),
        };
        write!(out, "{what} snapshot of the store was set aside as {}", kept.display())
    }
}

/// Whether there should be anything in the store. A made store that sled finds empty has lost its file, and
/// must never be taken for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making {
    BeingMade,
    Made,
}

/// The folder, locked for this process.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder if it is not there, and takes it for this process.
    pub(crate) fn take(root: &Path) -> Result<Self, OpenError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| OpenError::of_io(path, error)
        };
        make_folder(root).map_err(at(root))?;
        let path = root.join("lock");
        let lock = open_or_create(&path).map_err(at(&path))?;
        if !lock_patiently(&lock).map_err(at(&path))? {
            return Err(OpenError::InUse { folder: root.to_owned() });
        }
        Ok(Self { root: root.to_owned(), _lock: lock })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(crate) fn db(&self) -> PathBuf {
        self.data().join("db")
    }

    /// Reads the schema, refuses any but ours, and begins the making of a store where there is nothing.
    pub(crate) fn settle_schema(&self) -> Result<Making, OpenError> {
        let path = self.root.join("schema");
        let refuse = |found: &str| {
            let found = found.trim().chars().take(80).collect();
            Err(OpenError::Schema { folder: self.root.clone(), found })
        };
        match fs::read(&path) {
            Ok(found) if found == schema_text(Making::Made).as_bytes() => Ok(Making::Made),
            Ok(found) if found == schema_text(Making::BeingMade).as_bytes() => {
                Ok(Making::BeingMade)
            }
            Ok(found) => refuse(&String::from_utf8_lossy(&found)),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(OpenError::of_io(path, error)),
            Err(_) if self.data().exists() => refuse("no schema file"),
            Err(_) => {
                self.write_schema(Making::BeingMade)?;
                Ok(Making::BeingMade)
            }
        }
    }

    /// Writes the schema file anew. Renamed into place, so that a crash leaves no half of it to be refused.
    pub(crate) fn write_schema(&self, making: Making) -> Result<(), OpenError> {
        let unfinished = self.root.join("schema.new");
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            file.write_all(schema_text(making).as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, self.root.join("schema"))?;
            sync(&self.root)
        };
        write().map_err(|error| OpenError::of_io(unfinished.clone(), error))
    }

    /// What must be so before sled reads its file: nobody else has it, and what is read from it is on the disk.
    ///
    /// A page that the kernel failed to write counts as clean afterwards, and would be read as if it were on
    /// the disk; so after the sync, the file's pages are dropped from the kernel's cache.
    pub(crate) fn settle_db(&self) -> Result<(), OpenError> {
        let path = self.db();
        let settle = || -> io::Result<bool> {
            let file = match OpenOptions::new().read(true).write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
                Err(error) => return Err(error),
            };
            // A store of this process that closes right now can still hold sled's own lock.
            if !lock_patiently(&file)? {
                return Ok(false);
            }
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
            Ok(true)
        };
        match settle() {
            Ok(true) => Ok(()),
            Ok(false) => Err(OpenError::InUse { folder: self.root.clone() }),
            Err(error) => Err(OpenError::of_io(path, error)),
        }
    }

    /// Sets aside the snapshots that sled did not finish: it would take one for its newest.
    pub(crate) fn set_unfinished_aside(&self, notes: &mut Vec<Note>) -> io::Result<()> {
        for snapshot in self.snapshots()? {
            if snapshot.extension() == Some(OsStr::new("generating")) {
                let kept = self.set_aside(&snapshot)?;
                notes.push(Note::UnfinishedSnapshot { kept });
            }
        }
        Ok(())
    }

    /// Sets the newest snapshot aside; `None` when there is none left.
    pub(crate) fn set_newest_aside(&self) -> io::Result<Option<Note>> {
        let Some(newest) = self.snapshots()?.pop() else { return Ok(None) };
        let kept = self.set_aside(&newest)?;
        Ok(Some(Note::DamagedSnapshot { kept }))
    }

    /// sled's snapshots, the newest last: their names are numbers of one width.
    fn snapshots(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = files(&self.data())?;
        found.retain(|path| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"snap."))
        });
        found.sort();
        Ok(found)
    }

    fn set_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let aside = self.root.join("set-aside");
        make_folder(&aside)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut free = (0_u32..).map(|number| aside.join(format!("{name}.{number}")));
        let kept = free.find(|kept| !kept.exists()).ok_or(ErrorKind::AlreadyExists)?;
        fs::rename(path, &kept)?;
        sync(&aside)?;
        sync(&self.data())?;
        Ok(kept)
    }

    /// Syncs everything that sled wrote while it opened, and the folders that name it.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        for path in files(&self.data())? {
            sync(&path)?;
        }
        self.sync_blobs()?;
        sync(&self.data())?;
        sync(&self.root)?;
        match self.root.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync(parent),
            Some(_) | None => sync(Path::new(".")),
        }
    }

    /// Syncs what sled put into files of their own. In the ordinary case there is nothing, and this is one look
    /// at an empty folder.
    pub(crate) fn sync_blobs(&self) -> io::Result<()> {
        let blobs = self.data().join("blobs");
        let found = files(&blobs)?;
        if found.is_empty() {
            return Ok(());
        }
        for blob in found {
            match sync(&blob) {
                // sled takes one away when its page is rewritten.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                synced => synced?,
            }
        }
        sync(&blobs)
    }
}

fn schema_text(making: Making) -> String {
    match making {
        Making::Made => format!("{SCHEMA_NAME} {SCHEMA}\n"),
        Making::BeingMade => format!("{SCHEMA_NAME} {SCHEMA}, {BEING_MADE}\n"),
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn open_or_create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn lock_patiently(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
