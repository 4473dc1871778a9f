//! The mark: how far the journal had come when it last answered, kept beside its file.
//!
//! A file that was cut at the end of a frame cannot tell that it ever had more, nor a frame that its write was answered. The
//! mark can: it is written each time that a change is on the disk, before that is answered. It is not synced then, which
//! would double the cost: after a power cut it may stand further back than the file, and never further ahead, since the
//! change is on the disk before the mark is written at all. A kill takes nothing from it. Only when the file is
//! written anew is it synced, before anything else is answered.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::check::{self, Check};
use crate::folder::{Folder, MARK, is_regular};

/// How far a journal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Which file that is, in the row of those that took one another's place; 0 while the first is being made.
    pub(crate) writing: u64,
    /// How many bytes of it.
    pub(crate) bytes: u64,
    /// What they come to.
    pub(crate) check: Check,
}

impl Reached {
    /// Before there was a file.
    pub(crate) const NOTHING: Self = Self { writing: 0, bytes: 0, check: Check(0) };
}

/// What the mark's file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// This is how far the journal had come at least.
    At(Reached),
    /// There is no such file.
    Missing,
    /// It is there, and what it says cannot be relied on.
    Damaged,
}

/// The mark, open to be moved.
#[derive(Debug)]
pub(crate) struct Mark(File);

/// Reads the mark of the journal in this folder.
pub(crate) fn read(root: &Path) -> io::Result<Marked> {
    let path = root.join(MARK);
    match is_regular(&path)? {
        None => Ok(Marked::Missing),
        Some(false) => Ok(Marked::Damaged),
        Some(true) => Ok(parse(&fs::read(&path)?).map_or(Marked::Damaged, Marked::At)),
    }
}

impl Mark {
    /// Makes the mark, or sets it anew, and syncs it.
    pub(crate) fn set(folder: &Folder, at: Reached) -> io::Result<Self> {
        let file = folder.replace(MARK, |file| file.write_all_at(text(at).as_bytes(), 0))?;
        Ok(Self(file))
    }

    /// Opens a mark that is there and was read, so that moving it needs no room on the disk.
    pub(crate) fn open(folder: &Folder) -> io::Result<Self> {
        File::options().write(true).open(folder.path(MARK)).map(Self)
    }

    /// Moves it to where the journal is now: everything up to there is on the disk.
    pub(crate) fn advance(&self, to: Reached) -> io::Result<()> {
        self.0.write_all_at(text(to).as_bytes(), 0)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // What it says is true already; this is for a loss of power soon after.
        self.sync().ok();
    }
}

/// One line, always of the same length, and shorter than what a disk writes whole.
fn text(at: Reached) -> String {
    let Reached { writing, bytes, check: Check(check) } = at;
    let said = format!(
        "the failure book has come to writing {writing:020}, byte {bytes:020}, which come to {check:08x}"
    );
    format!("{said}, check {:08x}\n", check::of_text(&said))
}

fn parse(bytes: &[u8]) -> Option<Reached> {
    let line = std::str::from_utf8(bytes).ok()?;
    let numbers = line.strip_prefix("the failure book has come to writing ")?;
    let (writing, rest) = numbers.split_once(", byte ")?;
    let (bytes, rest) = rest.split_once(", which come to ")?;
    let (check, _) = rest.split_once(", check ")?;
    let at = Reached {
        writing: writing.parse().ok()?,
        bytes: bytes.parse().ok()?,
        check: Check(u32::from_str_radix(check, 16).ok()?),
    };
    // Whatever is read, only what this version would have written is taken.
    (text(at) == line).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Reached = Reached { writing: 3, bytes: 1_204, check: Check(0x0123_4567) };
    const LAST: Reached = Reached { writing: u64::MAX, bytes: u64::MAX, check: Check(u32::MAX) };

    #[test]
    fn it_comes_back_as_it_was_set_and_advanced() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::take(root.path()).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::Missing);
        let mark = Mark::set(&folder, AT).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::At(AT));
        mark.advance(LAST).unwrap();
        mark.sync().unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::At(LAST));
        Mark::open(&folder).unwrap().advance(Reached::NOTHING).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::At(Reached::NOTHING));
    }

    #[test]
    fn it_always_has_the_same_length_below_a_sector() {
        assert!(text(AT).len() < 512);
        assert_eq!(text(AT).len(), text(LAST).len());
        assert_eq!(text(AT).len(), text(Reached::NOTHING).len());
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
        fs::create_dir(root.path().join(MARK)).unwrap();
        assert_eq!(read(root.path()).unwrap(), Marked::Damaged);
    }
}
