//! The last lines of a log that is kept in two files.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The file before the one at this path.
pub(super) fn older(path: &Path) -> PathBuf {
    path.with_added_extension("1")
}

/// How far a log was read: in which file, and up to which byte of it, from where the next line begins.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) struct End {
    pub(super) inode: u64,
    pub(super) bytes: u64,
}

/// So many of the last lines, the oldest first, and where what comes after them begins. A last line that is not finished is
/// one of them, and not read again.
pub(super) fn last_lines(path: &Path, most: usize) -> io::Result<(Vec<String>, Option<End>)> {
    let older = read(&older(path))?;
    let newer = read(path)?;
    let end = newer.as_ref().map(|(end, _)| *end);
    let mut bytes = Vec::new();
    for (_, read) in older.into_iter().chain(newer) {
        bytes.extend(read);
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(most)..).unwrap_or_default();
    Ok((last.iter().map(|line| (*line).to_owned()).collect(), end))
}

/// A whole file, which its writer keeps small; none when there is none.
fn read(path: &Path) -> io::Result<Option<(End, Vec<u8>)>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let end = End { inode: file.metadata()?.ino(), bytes: bytes.len() as u64 };
    Ok(Some((end, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_last_lines_are_those_of_both_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("web.log");
        assert_eq!(last_lines(&path, 5).unwrap(), (Vec::new(), None));
        fs::write(older(&path), "one\ntwo\n").unwrap();
        assert_eq!(last_lines(&path, 5).unwrap().0, ["one", "two"]);
        fs::write(&path, b"three\nfo\xffr").unwrap();
        let (lines, end) = last_lines(&path, 3).unwrap();
        assert_eq!(lines, ["two", "three", "fo\u{fffd}r"]);
        assert_eq!(end.unwrap().bytes, 10);
        assert_eq!(last_lines(&path, 0).unwrap().0, [""; 0]);
    }
}
