//! Follows a log over everything that can become of its files: they are turned, emptied, removed, and made anew.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use super::{
    place::Source,
    tail::{End, older},
};

/// How often is looked for more.
pub(super) const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// How much is read at a time. What is more comes with the next look.
const READ_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A line that is longer is told in pieces.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// One log that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    source: Source,
    /// The file that was read from last, held open so that its end can be read when it is the newest no longer.
    file: Option<Open>,
    /// The beginning of a line whose end was not written yet.
    unfinished: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: File,
    inode: u64,
    read: u64,
}

impl Open {
    fn at(path: &Path, read: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let inode = file.metadata()?.ino();
        file.seek(SeekFrom::Start(read))?;
        Ok(Self { file, inode, read })
    }

    /// What was written since.
    fn more(&mut self) -> io::Result<Vec<u8>> {
        // A writer that cannot begin another file empties this one.
        if self.file.metadata()?.len() < self.read {
            self.file.seek(SeekFrom::Start(0))?;
            self.read = 0;
        }
        let mut bytes = Vec::new();
        (&self.file).take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }
}

impl Followed {
    /// From where it was read up to.
    pub(super) fn new(source: Source, end: Option<End>) -> Self {
        let open = end.and_then(|end| {
            // The file may have been turned since, and is the older one now.
            let paths = [source.path.clone(), older(&source.path)];
            let opened = paths.iter().filter_map(|path| Open::at(path, end.bytes).ok());
            opened.into_iter().find(|open| open.inode == end.inode)
        });
        Self { source, file: open, unfinished: Vec::new() }
    }

    /// With all that is there.
    pub(super) fn from_the_beginning(source: Source) -> Self {
        Self { source, file: None, unfinished: Vec::new() }
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    /// The lines that were finished since the last look. What cannot be read now is read later, or is gone.
    pub(super) fn look(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(open) = &mut self.file {
            let more = open.more().unwrap_or_default();
            let is_all = (more.len() as u64) < READ_BYTES_MAX;
            self.take(&more, &mut lines);
            if !is_all {
                return lines;
            }
        }
        let newest = self.source.path.metadata().ok().map(|found| found.ino());
        let before = self.file.as_ref().map(|open| open.inode);
        if newest.is_none() || newest == before {
            return lines;
        }
        // There is a newer file. Nothing more comes into the one before it, but what came while it was turned.
        if let Some(open) = &mut self.file {
            let rest = open.more().unwrap_or_default();
            self.take(&rest, &mut lines);
            self.finish(&mut lines);
            let last = older(&self.source.path);
            let is_last = last.metadata().is_ok_and(|found| Some(found.ino()) == before);
            if !is_last && last.exists() {
                lines.push(
                    "(more was written than could be followed; some of it is missing here)"
                        .to_owned(),
                );
                self.read_from(&last, &mut lines);
            }
        }
        let path = self.source.path.clone();
        self.read_from(&path, &mut lines);
        lines
    }

    fn read_from(&mut self, path: &Path, lines: &mut Vec<String>) {
        self.file = Open::at(path, 0).ok();
        let more = self.file.as_mut().and_then(|open| open.more().ok()).unwrap_or_default();
        self.take(&more, lines);
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        self.unfinished.extend_from_slice(bytes);
        if let Some(last) = self.unfinished.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.unfinished.split_off(last + 1);
            let finished = std::mem::replace(&mut self.unfinished, rest);
            lines.extend(finished.split_inclusive(|byte| *byte == b'\n').map(text));
        }
        if self.unfinished.len() > LINE_BYTES_MAX {
            self.finish(lines);
        }
    }

    fn finish(&mut self, lines: &mut Vec<String>) {
        if !self.unfinished.is_empty() {
            lines.push(text(&std::mem::take(&mut self.unfinished)));
        }
    }
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    /// A log in a folder of its own, and whoever follows it.
    struct Bed {
        dir: tempfile::TempDir,
        followed: Followed,
    }

    impl Bed {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("web.log");
            let source = Source { name: "web".to_owned(), path };
            Self { dir, followed: Followed::from_the_beginning(source) }
        }

        fn path(&self) -> std::path::PathBuf {
            self.dir.path().join("web.log")
        }

        fn write(&self, text: &str) {
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(self.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn turn(&self) {
            fs::rename(self.path(), older(&self.path())).unwrap();
        }
    }

    #[test]
    fn what_is_written_is_told_line_by_line() {
        let mut bed = Bed::new();
        assert_eq!(bed.followed.look(), [""; 0]);
        bed.write("one\r\ntw");
        assert_eq!(bed.followed.look(), ["one"]);
        assert_eq!(bed.followed.look(), [""; 0]);
        bed.write("o\nthree\n\n");
        assert_eq!(bed.followed.look(), ["two", "three", ""]);
    }

    #[test]
    fn a_log_that_is_turned_loses_nothing() {
        let mut bed = Bed::new();
        bed.write("one\n");
        assert_eq!(bed.followed.look(), ["one"]);
        bed.write("two\nthr");
        bed.turn();
        bed.write("four\n");
        assert_eq!(bed.followed.look(), ["two", "thr", "four"]);
        bed.turn();
        assert_eq!(bed.followed.look(), [""; 0]);
        bed.write("five\n");
        assert_eq!(bed.followed.look(), ["five"]);
    }

    #[test]
    fn one_that_is_turned_twice_between_two_looks_says_what_may_be_missing() {
        let mut bed = Bed::new();
        bed.write("one\n");
        bed.followed.look();
        bed.write("two\n");
        bed.turn();
        bed.write("three\n");
        bed.turn();
        bed.write("four\n");
        let told = bed.followed.look();
        assert_eq!(
            (told[0].as_str(), &told[2..]),
            ("two", &["three".to_owned(), "four".to_owned()][..])
        );
        assert!(told[1].contains("missing"), "{told:?}");
    }

    #[test]
    fn one_that_is_removed_or_emptied_is_followed_on() {
        let mut bed = Bed::new();
        bed.write("one\ntwo\n");
        bed.followed.look();
        fs::remove_file(bed.path()).unwrap();
        assert_eq!(bed.followed.look(), [""; 0]);
        bed.write("three\n");
        assert_eq!(bed.followed.look(), ["three"]);
        fs::write(bed.path(), "4\n").unwrap();
        assert_eq!(bed.followed.look(), ["4"]);
    }

    #[test]
    fn a_line_without_an_end_is_told_in_pieces() {
        let mut bed = Bed::new();
        bed.write(&"x".repeat(LINE_BYTES_MAX + 10));
        assert_eq!(bed.followed.look(), ["x".repeat(LINE_BYTES_MAX + 10)]);
    }

    #[test]
    fn it_goes_on_where_the_last_lines_ended() {
        let bed = Bed::new();
        bed.write("one\ntwo\n");
        let (_, end) = super::super::tail::last_lines(&bed.path(), 1).unwrap();
        bed.write("three\n");
        bed.turn();
        bed.write("four\n");
        let source = Source { name: "web".to_owned(), path: bed.path() };
        assert_eq!(Followed::new(source, end).look(), ["three", "four"]);
    }
}
