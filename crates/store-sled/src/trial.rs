//! The trial: a copy of the engine's files is opened and read through before the files themselves are touched.
//!
//! When sled opens a damaged log, it ends the log at the damage and overwrites what comes after. Done to a copy, a
//! damaged store stays as it was found, for whoever can make something of it; and whether only a snapshot is to blame
//! can simply be tried.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::statvfs;

use crate::damage::{Damage, Unsound, without_panic};
use crate::expected::Expected;
use crate::folder::{Folder, files, make_folder};
use crate::open::config;
use crate::trouble::Trouble;

/// What sled writes at most while it opens, beside what is there: the rest of a segment, and a snapshot.
const WRITTEN_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// What came of it, if the store is sound.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// Everything is there.
    Sound(Sound),
    /// The disk has no room for a copy.
    NoRoom,
}

/// A store in which everything is there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sound {
    pub(crate) snapshots: Snapshots,
    /// What sled writes into its settings where there are none.
    pub(crate) settings: Vec<u8>,
}

/// Whether everything is there with sled's snapshots, or only without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Snapshots {
    Good,
    Bad,
}

/// Finds out whether everything is there that is expected.
pub(crate) fn run(folder: &Folder, expected: Expected) -> Result<Tried, Unsound> {
    match sound(folder, expected) {
        Ok(Some(sound)) => Ok(Tried::Sound(sound)),
        Ok(None) | Err(Unsound::Trouble(Trouble::Full)) => Ok(Tried::NoRoom),
        Err(unsound) => Err(unsound),
    }
}

fn sound(folder: &Folder, expected: Expected) -> Result<Option<Sound>, Unsound> {
    let snapshots = folder.snapshots()?;
    let sound = |snapshots| move |settings| Sound { snapshots, settings };
    let mut damage = None;
    if snapshots.iter().all(|snapshot| snapshot.is_file()) {
        match settings(folder, &snapshots, expected) {
            Err(Unsound::Damage(with)) if !snapshots.is_empty() => damage = Some(with),
            tried => return Ok(tried?.map(sound(Snapshots::Good))),
        }
    }
    match (settings(folder, &[], expected), damage) {
        // With them it came further.
        (Err(Unsound::Damage(Damage::Engine(_))), Some(with)) => Err(with.into()),
        (tried, _) => Ok(tried?.map(sound(Snapshots::Bad))),
    }
}

/// Opens and reads a copy with these snapshots, and answers the settings that sled wrote there.
fn settings(
    folder: &Folder,
    snapshots: &[PathBuf],
    expected: Expected,
) -> Result<Option<Vec<u8>>, Unsound> {
    let Some(copy) = Copy::make(folder, snapshots)? else { return Ok(None) };
    let config = config(copy.path.clone()).temporary(true);
    let db = without_panic(|| config.open())??;
    let checked = without_panic(|| expected.check(&db));
    let settings = copy.settings();
    // It removes the copy. Nothing of it is needed any more, whatever sled says about that.
    without_panic(|| drop(db)).ok();
    checked??;
    Ok(Some(settings?))
}

/// The trials of this process so far.
static TRIALS: AtomicU64 = AtomicU64::new(0);

/// A copy of the engine's files but its settings. Dropped, it is gone.
#[derive(Debug)]
struct Copy {
    /// Where this store's trials are.
    trials: PathBuf,
    /// Where this one is. sled removes the folder too, when the last of its threads lets go of it: maybe long after the
    /// trial. So no two have the same.
    path: PathBuf,
}

impl Copy {
    /// `None` where the disk has no room for it.
    fn make(folder: &Folder, snapshots: &[PathBuf]) -> io::Result<Option<Self>> {
        let trials = folder.root().join("trial");
        // One of a process that was killed may be there.
        at(&trials, remove(&trials))?;
        let number = TRIALS.fetch_add(1, Ordering::Relaxed);
        let copy = Self { path: trials.join(number.to_string()), trials };
        let blobs = folder.data().join("blobs");
        let mut sources = vec![folder.db()];
        sources.extend_from_slice(snapshots);
        // A folder that is empty but for the worst, and that sled makes again: a backup may have left it out.
        if blobs.exists() {
            sources.extend(at(&blobs, files(&blobs))?);
        }
        let mut bytes = WRITTEN_BYTES_MAX;
        for source in &sources {
            bytes = bytes.saturating_add(at(source, fs::metadata(source))?.len());
        }
        let disk = statvfs(folder.root())?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < bytes {
            return Ok(None);
        }
        at(&copy.path, make_folder(&copy.path.join("blobs")))?;
        for source in sources {
            let below = source.strip_prefix(folder.data()).unwrap_or(&source);
            at(&source, fs::copy(&source, copy.path.join(below)))?;
        }
        Ok(Some(copy))
    }

    /// The settings in it, which sled wrote.
    fn settings(&self) -> io::Result<Vec<u8>> {
        let path = self.path.join("conf");
        at(&path, fs::read(&path))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next trial.
        remove(&self.trials).ok();
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => fs::remove_file(path),
        removed => removed,
    }
}

/// Says of what it was.
fn at<T>(path: &Path, outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}
