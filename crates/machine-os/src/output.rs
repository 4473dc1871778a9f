//! A workload's output on disk: bounded, and its last lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that has grown to this size becomes the older of two. Two of them hold what is needed to see why something
/// failed, and a machine with a hundred workloads stays within 200 MiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How much of the newest output is looked at for the last lines.
const TAIL_BYTES: u64 = 16 * 1024;

/// How many lines are the last ones, and how much of each is told.
const LINES_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 400;

/// Stands before the output of each process of one resource, so that nobody takes one's last words for another's.
const MARK: &str = "=== bellwether: ";

/// The output of one resource, as it is written.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Output {
    /// Goes on after what earlier processes of the resource wrote.
    pub(crate) fn open(path: PathBuf, title: &str) -> io::Result<Self> {
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        let mut output = Self { path, file, bytes };
        output.write(format!("{MARK}{title}\n").as_bytes())?;
        Ok(output)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes >= FILE_BYTES_MAX {
            fs::rename(&self.path, older(&self.path))?;
            self.file = append(&self.path)?;
            self.bytes = 0;
        }
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// The last lines that the newest process wrote, the oldest first; none when nothing can be read.
pub(crate) fn last_lines(path: &Path) -> Vec<String> {
    let mut bytes = tail(&older(path)).unwrap_or_default();
    bytes.extend(tail(path).unwrap_or_default());
    lines(&String::from_utf8_lossy(&bytes))
}

fn lines(text: &str) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    let begin = all.iter().rposition(|line| line.starts_with(MARK)).map_or(0, |mark| mark + 1);
    let own = all.get(begin..).unwrap_or_default();
    let last = own.get(own.len().saturating_sub(LINES_MAX)..).unwrap_or_default();
    last.iter().map(|line| line.chars().take(LINE_CHARS_MAX).collect()).collect()
}

fn append(path: &Path) -> io::Result<File> {
    // Output can hold secrets: it is for the agent and its group.
    OpenOptions::new().create(true).append(true).mode(0o640).open(path)
}

fn older(path: &Path) -> PathBuf {
    path.with_added_extension("1")
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let begin = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_those_of_the_newest_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        Output::open(path.clone(), "a1-1").unwrap().write(b"old words\n").unwrap();
        let mut output = Output::open(path.clone(), "a1-1").unwrap();
        assert_eq!(last_lines(&path), Vec::<String>::new());
        output.write(b"one\ntwo").unwrap();
        assert_eq!(last_lines(&path), ["one", "two"]);
        let many: String = (0..100).map(|n| format!("{n} {}\n", "x".repeat(1_000))).collect();
        output.write(many.as_bytes()).unwrap();
        let last = last_lines(&path);
        assert!(last.len() <= LINES_MAX && last.iter().all(|line| line.len() <= LINE_CHARS_MAX));
        assert!(last.last().unwrap().starts_with("99 "));
    }

    #[test]
    fn two_bounded_files_hold_the_newest_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        let mut output = Output::open(path.clone(), "a1-1").unwrap();
        let block = [b'x'; 64 * 1024];
        for _ in 0..50 {
            output.write(&block).unwrap();
        }
        output.write(b"\nthe end\n").unwrap();
        let bytes: Vec<u64> = folder
            .path()
            .read_dir()
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(bytes.len(), 2);
        assert!(bytes.iter().all(|bytes| *bytes <= FILE_BYTES_MAX + 64 * 1024), "{bytes:?}");
        assert_eq!(last_lines(&path).last().unwrap(), "the end");
    }

    #[test]
    fn no_file_is_no_line() {
        assert!(last_lines(Path::new("/nowhere/web.log")).is_empty());
    }
}
