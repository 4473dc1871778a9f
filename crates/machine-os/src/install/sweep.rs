//! Clearing up: what interrupted work left, and fetches that nobody goes on with.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use names::Digest;
use rustix::time::{ClockId, clock_gettime};

use crate::install::INCOMING;

const TRASH: &str = "trash";
const PART: &str = ".part";

/// Fetches that were interrupted are kept, so that they can be gone on with: the newest of them, for a week. A machine that
/// cannot fetch for longer than that has other troubles.
const PARTS_MAX: usize = 8;
const PART_SECONDS_MAX: i64 = 7 * 24 * 60 * 60;

/// The name of the file of a fetch.
pub(super) fn part(digest: &Digest) -> String {
    format!("{digest}{PART}")
}

/// Removes all that is not whole and not a fetch that may be gone on with. `needed` are names of fetches to be kept in any
/// case. What cannot be removed is tried again another time.
pub(super) fn sweep(root: &Path, needed: &BTreeSet<String>) {
    let now = clock_gettime(ClockId::Realtime).tv_sec;
    let mut parts = clear(root);
    parts.sort_by_key(|part| std::cmp::Reverse(part.modified));
    let kept = parts.iter().filter(|part| !needed.contains(&part.name));
    for (nth, part) in kept.enumerate() {
        if nth >= PARTS_MAX || now.saturating_sub(part.modified) > PART_SECONDS_MAX {
            let _ = remove(&part.path);
        }
    }
}

/// Removes all that is not whole, and every fetch but those that are needed: the disk is short of room.
pub(super) fn make_room(root: &Path, needed: &BTreeSet<String>) {
    for part in clear(root).iter().filter(|part| !needed.contains(&part.name)) {
        let _ = remove(&part.path);
    }
}

struct Part {
    name: String,
    path: PathBuf,
    /// In seconds, by the time of day.
    modified: i64,
}

/// Removes what is no fetch, and gives what is.
fn clear(root: &Path) -> Vec<Part> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(root.join(INCOMING)).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap_or_default();
        let is_part = name.strip_suffix(PART).is_some_and(|digest| Digest::new(digest).is_ok());
        match entry.metadata() {
            Ok(found) if is_part && found.is_file() => {
                parts.push(Part { name, path, modified: found.mtime() });
            }
            // The folder itself stays: a disk that is full may have no room for one, and then nothing could be removed.
            Ok(found) if name == TRASH && found.is_dir() => {
                for thrown in fs::read_dir(&path).into_iter().flatten().flatten() {
                    let _ = remove(&thrown.path());
                }
            }
            Ok(_) | Err(_) => {
                let _ = remove(&path);
            }
        }
    }
    parts
}

/// Makes the folders in which nothing is worth keeping.
pub(super) fn make_folders(root: &Path) -> io::Result<()> {
    make_folder(&root.join(INCOMING))?;
    make_folder(&root.join(INCOMING).join(TRASH))
}

/// Moves something aside to be removed, so that an interruption leaves nothing that looks half whole.
pub(super) fn throw_away(root: &Path, path: &Path) -> io::Result<()> {
    make_folders(root)?;
    let trash = root.join(INCOMING).join(TRASH);
    let target = trash.join(format!("{:016x}", crate::host::draw()?));
    fs::rename(path, target)
}

/// Makes a folder; whatever is there instead goes.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    remove(path)?;
    fs::create_dir(path)
}

/// Removes a file, or a folder with all that is in it. What is not there is removed.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    fn named(nth: u8) -> String {
        part(&Digest::from_bytes([nth; 32]))
    }

    /// A host's folder with this many fetches, the first the newest, each a day older than the one before.
    fn root(count: u8) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let incoming = root.path().join(INCOMING);
        fs::create_dir(&incoming).unwrap();
        let now = u64::try_from(clock_gettime(ClockId::Realtime).tv_sec).unwrap();
        for nth in 0..count {
            let age = u64::from(nth) * 24 * 60 * 60;
            let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(now - age);
            let file = File::create(incoming.join(named(nth))).unwrap();
            file.set_modified(modified).unwrap();
        }
        root
    }

    fn left(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root.join(INCOMING)).unwrap();
        let mut left: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        left
    }

    fn names(all: impl IntoIterator<Item = u8>) -> Vec<String> {
        all.into_iter().map(named).collect()
    }

    #[test]
    fn what_was_interrupted_goes_and_fetches_stay_for_a_while() {
        let root = root(12);
        let incoming = root.path().join(INCOMING);
        fs::create_dir_all(incoming.join("content/bin")).unwrap();
        fs::create_dir_all(incoming.join(TRASH).join("x/bin")).unwrap();
        fs::create_dir_all(incoming.join(named(20)).join("a folder in its place")).unwrap();
        fs::write(incoming.join("record"), "half").unwrap();
        fs::write(incoming.join("short.part"), "no digest").unwrap();
        sweep(root.path(), &BTreeSet::new());
        let trash = [TRASH.to_owned()];
        assert_eq!(left(root.path()), [&names(0..8)[..], &trash].concat(), "not older than a week");
        assert_eq!(fs::read_dir(incoming.join(TRASH)).unwrap().count(), 0);
        let root = self::root(3);
        sweep(root.path(), &BTreeSet::new());
        assert_eq!(left(root.path()), names(0..3));
    }

    #[test]
    fn what_is_needed_stays() {
        let root = root(12);
        sweep(root.path(), &[named(11)].into());
        assert_eq!(left(root.path()), names((0..8).chain([11])));
        make_room(root.path(), &[named(2)].into());
        assert_eq!(left(root.path()), names([2]));
    }

    #[test]
    fn nothing_to_sweep_is_no_trouble() {
        let root = tempfile::tempdir().unwrap();
        sweep(root.path(), &BTreeSet::new());
        fs::write(root.path().join(INCOMING), "no folder").unwrap();
        sweep(root.path(), &BTreeSet::new());
        make_folders(root.path()).unwrap();
        assert_eq!(left(root.path()), [TRASH]);
    }
}
