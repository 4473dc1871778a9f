//! The store's folder: its schema, its lock, what is set aside in it, and syncing it.
//!
//! ```text
//! schema       which layout this is, as text; read before sled touches anything
//! lock         held by the process that has the store open
//! mark         how far the store had come when it last answered
//! data/        sled's own: db, conf, blobs/, snap.*
//! set-aside/   what was damaged and not needed; nothing reads it
//! trial/       a copy of data/, while the store is opened
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Advice, fadvise};

use crate::damage::Damage;
use crate::mark;
use crate::open::OpenError;

/// The layout that this build reads and writes: of the folder, of sled's files, and of documents in them.
pub const SCHEMA: u32 = 2;

/// The layout before it: without checksums of documents, sums and the mark. It is read, and brought to the present one.
const SCHEMA_BEFORE: u32 = 1;

/// What the schema file begins with.
const NAME: &str = "bellwether store";

/// Stands in the schema file until the first commit of an empty store has landed.
const BEING_MADE: &str = "being made";

/// How often a lock that is held is tried again: one that a closing store or a child between fork and exec
/// holds is gone by then.
pub(crate) const LOCK_TRIES: u32 = 40;
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Whether there should be anything in the store. A made store that sled finds empty has lost its file, and
/// must never be taken for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making {
    BeingMade,
    /// It was made with this older schema.
    MadeBefore(u32),
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

    /// Reads the schema, refuses those that are not known, and begins the making of a store where there is nothing.
    pub(crate) fn settle_schema(&self) -> Result<Making, OpenError> {
        let path = self.root.join("schema");
        let refuse = |found: &str| {
            let found = found.trim().chars().take(80).collect();
            let known = text_made(SCHEMA).trim().to_owned();
            Err(OpenError::Schema { file: path.clone(), found, known })
        };
        match fs::read(&path) {
            Ok(found) => match making(&found) {
                Some(making) => Ok(making),
                None => refuse(&String::from_utf8_lossy(&found)),
            },
            Err(error) if error.kind() != ErrorKind::NotFound => Err(OpenError::of_io(path, error)),
            Err(_) if self.data().exists() || mark::path(&self.root).exists() => {
                refuse("no such file, beside others of a store")
            }
            Err(_) => {
                self.write_schema(&text_being_made(SCHEMA))?;
                Ok(Making::BeingMade)
            }
        }
    }

    /// Says that the store was made, in the present schema.
    pub(crate) fn say_made(&self) -> Result<(), OpenError> {
        self.write_schema(&text_made(SCHEMA))
    }

    /// Writes the schema file anew. Renamed into place, so that a crash leaves no half of it to be refused.
    fn write_schema(&self, text: &str) -> Result<(), OpenError> {
        let unfinished = self.root.join("schema.new");
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&unfinished)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, self.root.join("schema"))?;
            sync(&self.root)
        };
        write().map_err(|error| OpenError::of_io(unfinished.clone(), error))
    }

    /// What must be so before sled reads its file: it is there if it ever was, nobody else has it, and what is read
    /// from it is on the disk.
    ///
    /// A page that the kernel failed to write counts as clean afterwards, and would be read as if it were on
    /// the disk; so after the sync, the file's pages are dropped from the kernel's cache.
    pub(crate) fn settle_db(&self, making: Making) -> Result<(), OpenError> {
        let path = self.db();
        let damaged = |what| Err(OpenError::Damaged { file: path.clone(), what });
        let found = match (fs::metadata(&path), making) {
            (Err(error), Making::BeingMade) if error.kind() == ErrorKind::NotFound => return Ok(()),
            (Err(error), _) if error.kind() == ErrorKind::NotFound => {
                return damaged(Damage::Missing);
            }
            (found, _) => found.map_err(|error| OpenError::of_io(path.clone(), error))?,
        };
        if !found.is_file() {
            return damaged(Damage::NoFile);
        }
        let settle = || -> io::Result<bool> {
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
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

    /// sled's snapshots, and whatever else has the name of one.
    pub(crate) fn snapshots(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.data())? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"snap.") {
                found.push(entry.path());
            }
        }
        found.sort();
        Ok(found)
    }

    /// sled's own settings.
    pub(crate) fn settings(&self) -> PathBuf {
        self.data().join("conf")
    }

    /// Where what is damaged and not needed is moved to.
    pub(crate) fn aside(&self) -> PathBuf {
        self.root.join("set-aside")
    }

    /// Moves it there, under a name that is free, and says where it is now.
    pub(crate) fn set_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let aside = self.aside();
        make_folder(&aside)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut names = (0_u32..).map(|number| aside.join(format!("{name}.{number}")));
        let is_free = |kept: &PathBuf| fs::symlink_metadata(kept).is_err();
        let kept = names.find(is_free).ok_or(ErrorKind::AlreadyExists)?;
        fs::rename(path, &kept)?;
        sync(&aside)?;
        sync(path.parent().unwrap_or(&self.root))?;
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

fn text_made(schema: u32) -> String {
    format!("{NAME} {schema}\n")
}

fn text_being_made(schema: u32) -> String {
    format!("{NAME} {schema}, {BEING_MADE}\n")
}

/// What the schema's file says, if this build knows it.
fn making(found: &[u8]) -> Option<Making> {
    let is = |text: String| found == text.as_bytes();
    if is(text_made(SCHEMA)) {
        Some(Making::Made)
    } else if is(text_made(SCHEMA_BEFORE)) {
        Some(Making::MadeBefore(SCHEMA_BEFORE))
    } else if [SCHEMA, SCHEMA_BEFORE].map(text_being_made).into_iter().any(is) {
        Some(Making::BeingMade)
    } else {
        None
    }
}

pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
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

pub(crate) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
