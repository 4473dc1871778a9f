//! The journal's folder: what is in it, its lock, and putting a file in another's place.
//!
//! ```text
//! lock      held by the process that has the journal open
//! journal   the rows, as one frame for each change
//! mark      how far the journal had come when it last answered
//! ```
//!
//! Beside the last two there can be a `….new` for a moment. One that stays behind means nothing.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::OpenError;

pub(crate) const JOURNAL: &str = "journal";
pub(crate) const MARK: &str = "mark";

/// Only a store has this.
const OF_A_STORE: &str = "schema";

/// How often a lock that is held is tried again: one that a closing journal or a child between fork and exec holds is
/// gone by then.
const LOCK_TRIES: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// The folder, locked for this process.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder if it is not there, takes it for this process, and removes what an earlier one did not finish.
    pub(crate) fn take(root: &Path) -> Result<Self, OpenError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| OpenError::of_io(path, error)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(at(root))?;
        refuse_a_store(root)?;
        let path = root.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(&path).map_err(at(&path))?;
        if !lock_patiently(&lock).map_err(at(&path))? {
            return Err(OpenError::InUse { folder: root.to_owned() });
        }
        let folder = Self { root: root.to_owned(), _lock: lock };
        for name in [JOURNAL, MARK] {
            let unfinished = folder.unfinished(name);
            match fs::remove_file(&unfinished) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(OpenError::of_io(unfinished, error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(folder)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn unfinished(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.new"))
    }

    /// Puts a new file in the place of the one of this name. After an error either may be there; before the rename,
    /// nothing is left of the new one.
    pub(crate) fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<File> {
        let file = self.write_aside(name, write)?;
        self.put_in_place(name)?;
        Ok(file)
    }

    /// Writes a new file beside the one of this name, and syncs it. After an error nothing of it is left.
    pub(crate) fn write_aside(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<File> {
        let path = self.unfinished(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&path)?;
        match write(&mut file).and_then(|()| file.sync_all()) {
            Ok(()) => Ok(file),
            Err(error) => {
                // What cannot be removed now is removed by the next open.
                fs::remove_file(&path).ok();
                Err(error)
            }
        }
    }

    /// Gives what was written aside its name, on the disk.
    pub(crate) fn put_in_place(&self, name: &str) -> io::Result<()> {
        fs::rename(self.unfinished(name), self.path(name))?;
        self.sync()
    }

    /// Syncs which files there are.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(&self.root)?.sync_all()
    }

    /// Syncs that the folder itself is there.
    pub(crate) fn sync_parent(&self) -> io::Result<()> {
        match self.root.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
            Some(_) | None => File::open(".")?.sync_all(),
        }
    }
}

/// Whether there is a file under this path, and nothing else; `None` when there is nothing.
pub(crate) fn is_regular(path: &Path) -> io::Result<Option<bool>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found.is_file())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A journal never moves in with a store.
fn refuse_a_store(root: &Path) -> Result<(), OpenError> {
    let file = root.join(OF_A_STORE);
    match fs::read(&file) {
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().chars().take(80).collect();
            Err(OpenError::Schema { file, found })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(OpenError::of_io(file, error)),
    }
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
