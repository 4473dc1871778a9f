//! The mark: how far the store had come when it last answered, kept beside the engine's own file.
//!
//! sled ends its log at the first thing that it cannot read, and says nothing about what came after. The log alone
//! can therefore not tell a store that was cut from one that never had more. The mark can: it is written each
//! time that a commit is on the disk, before that is answered. It is not synced then, which would double the
//! cost: after a power cut it may stand further back than the log, and never further ahead, since the log is on
//! the disk before the mark is written at all. A kill takes nothing from it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::fingerprint;
use crate::standing::Standing;

/// The mark, open to be moved.
#[derive(Debug)]
pub(crate) struct Mark(File);

/// What the mark's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// This is how far the store had come at least.
    At(Standing),
    /// There is no such file.
    Missing,
    /// It is there, and what it says cannot be relied on.
    Damaged,
}

pub(crate) fn path(root: &Path) -> PathBuf {
    root.join("mark")
}

/// Reads the mark of the store in this folder.
pub(crate) fn read(root: &Path) -> io::Result<Marked> {
    let path = path(root);
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => return Ok(Marked::Damaged),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Marked::Missing),
        Err(error) => return Err(error),
    }
    Ok(parse(&fs::read(&path)?).map_or(Marked::Damaged, Marked::At))
}

impl Mark {
    /// Makes the mark, or sets it anew, and syncs it.
    pub(crate) fn set(root: &Path, at: Standing) -> io::Result<Self> {
        // Renamed into place, so that a crash leaves no half of it.
        let unfinished = root.join("mark.new");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&unfinished)?;
        file.write_all_at(text(at).as_bytes(), 0)?;
        file.sync_all()?;
        fs::rename(&unfinished, path(root))?;
        File::open(root)?.sync_all()?;
        Ok(Self(file))
    }

    /// Moves it to where the store is now: everything up to there is on the disk.
    pub(crate) fn advance(&self, to: Standing) -> io::Result<()> {
        self.0.write_all_at(text(to).as_bytes(), 0)
    }

    /// Syncs it, which only a power cut makes worth the while.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// One line, always of the same length, and shorter than what a disk writes whole.
fn text(at: Standing) -> String {
    let said = format!("the store has come to revision {:020}, sum {:016x}", at.revision, at.sum);
    let line = format!("{said}, check {:016x}", fingerprint::of(said.as_bytes()));
    format!("{line}\n")
}

fn parse(bytes: &[u8]) -> Option<Standing> {
    let line = std::str::from_utf8(bytes).ok()?;
    let numbers = line.strip_prefix("the store has come to revision ")?;
    let (revision, rest) = numbers.split_once(", sum ")?;
    let (sum, _) = rest.split_once(", check ")?;
    let at = Standing { revision: revision.parse().ok()?, sum: u64::from_str_radix(sum, 16).ok()? };
    // Whatever is read, only what this version would have written is taken.
    (text(at) == line).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Standing = Standing { revision: 1_204, sum: 0x0123_4567_89ab_cdef };

    #[test]
    fn it_comes_back_as_it_was_set_and_advanced() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::Missing);
        let mark = Mark::set(root.path(), AT).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::At(AT));
        let last = Standing { revision: u64::MAX, sum: u64::MAX };
        mark.advance(last).unwrap();
        mark.sync().unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::At(last));
        drop(Mark::set(root.path(), AT).unwrap());
        assert_eq!(read(root.path()).unwrap(), Marked::At(AT));
    }

    #[test]
    fn it_always_has_the_same_length_below_a_sector() {
        assert!(text(AT).len() < 512);
        for revision in [0, 9, 10, u64::MAX] {
            for sum in [0, 1, u64::MAX] {
                assert_eq!(text(Standing { revision, sum }).len(), text(AT).len());
            }
        }
    }

    #[test]
    fn what_is_not_exactly_a_mark_is_damaged() {
        let root = tempfile::tempdir().unwrap();
        let right = text(AT).into_bytes();
        for place in 0..right.len() {
            for changed in 0..=255 {
                let mut bytes = right.clone();
                bytes[place] = changed;
                assert_eq!(parse(&bytes).is_some(), bytes == right, "{changed} at {place}");
            }
            assert_eq!(parse(&right[..place]), None, "cut at {place}");
        }
        assert_eq!(parse(&[right.clone(), vec![b' ']].concat()), None);
        fs::create_dir(path(root.path())).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::Damaged);
    }
}
