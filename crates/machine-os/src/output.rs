//! A workload's output on disk: bounded, and its last lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// A file that has grown to this size becomes the older of two. Two of them hold what is needed to see why something
/// failed, and a machine with a hundred workloads stays within 200 MiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// How much of the newest output is looked at for the last lines.
const TAIL_BYTES: usize = 16 * 1024;

/// How many lines are the last ones, and how much of each is told.
const LINES_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 400;

/// Stands before the output of each process of one resource, so that nobody takes one's last words for another's.
const MARK: &str = "=== bellwether: ";

/// The output of one process on disk. What cannot be written is lost: nobody waits for a log.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    /// What stands at its beginning, so that nobody takes one process's words for another's.
    head: String,
    file: Option<File>,
    bytes: u64,
}

impl Log {
    /// Goes on after what earlier processes of the resource wrote.
    pub(crate) fn new(path: PathBuf, title: &str, notes: &[String]) -> Self {
        let notes = notes.iter().map(String::as_str);
        let head = notes.chain([title]).map(note).collect();
        let mut log = Self { path, head, file: None, bytes: 0 };
        log.write(b"");
        log
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        // A file that was removed takes space that nobody sees and holds what nobody reads.
        if self
            .file
            .as_ref()
            .is_some_and(|file| file.metadata().is_ok_and(|file| file.nlink() == 0))
        {
            self.file = None;
        }
        if self.bytes >= FILE_BYTES_MAX {
            self.turn();
        }
        if self.file.is_none() {
            self.open();
        }
        if let Some(file) = &mut self.file {
            match file.write_all(bytes) {
                Ok(()) => self.bytes += bytes.len() as u64,
                // On a full disk part of it may be there.
                Err(_) => self.bytes = file.metadata().map_or(self.bytes, |file| file.len()),
            }
        }
    }

    /// Begins a new file; where the folder takes none, the same one again.
    fn turn(&mut self) {
        match fs::rename(&self.path, older(&self.path)) {
            Ok(()) => self.file = None,
            Err(_) => {
                let emptied = self.file.as_ref().map(|file| file.set_len(0));
                if !matches!(emptied, Some(Ok(()))) {
                    self.file = None;
                }
            }
        }
        self.bytes = 0;
    }

    fn open(&mut self) {
        let opened = append(&self.path).or_else(|_| {
            make_folder(&self.path)?;
            append(&self.path)
        });
        let Ok(mut file) = opened else { return };
        self.bytes = file.metadata().map_or(0, |file| file.len());
        if file.write_all(self.head.as_bytes()).is_ok() {
            self.bytes += self.head.len() as u64;
        }
        self.file = Some(file);
    }
}

/// The newest output in memory: what is told of it does not hang on any disk.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let last = bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        self.bytes.extend_from_slice(last);
        if self.bytes.len() > 2 * TAIL_BYTES {
            self.bytes.drain(..self.bytes.len() - TAIL_BYTES);
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let begin = self.bytes.len().saturating_sub(TAIL_BYTES);
        lines(&String::from_utf8_lossy(self.bytes.get(begin..).unwrap_or_default()))
    }
}

/// A line in a log that no workload wrote.
pub(crate) fn note(words: &str) -> String {
    format!("{MARK}{words}\n")
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
    // Output can hold secrets: it is for the agent and its group. Whatever may lie there, opening it does not wait.
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(true)
        .mode(0o640)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options.open(path)
}

/// Makes the folder of a log again, and the one above it, should somebody have made room. When more than these is gone, it
/// is with the whole machine's, and nothing of that comes back.
fn make_folder(log: &Path) -> io::Result<()> {
    let mut folders = log.ancestors().skip(1);
    let (Some(folder), Some(above)) = (folders.next(), folders.next()) else { return Ok(()) };
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(above)?;
            fs::create_dir(folder)
        }
        made => made,
    }
}

fn older(path: &Path) -> PathBuf {
    path.with_added_extension("1")
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let begin = file.metadata()?.len().saturating_sub(TAIL_BYTES as u64);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many() -> String {
        (0..100).map(|n| format!("{n} {}\n", "x".repeat(1_000))).collect()
    }

    #[test]
    fn the_last_lines_are_those_of_the_newest_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        Log::new(path.clone(), "a1-1", &[]).write(b"old words\n");
        let mut log = Log::new(path.clone(), "a1-1", &["a note".to_owned()]);
        assert_eq!(last_lines(&path), Vec::<String>::new());
        log.write(b"one\ntwo");
        assert_eq!(last_lines(&path), ["one", "two"]);
        log.write(many().as_bytes());
        let last = last_lines(&path);
        assert!(last.len() <= LINES_MAX && last.iter().all(|line| line.len() <= LINE_CHARS_MAX));
        assert!(last.last().unwrap().starts_with("99 "));
    }

    #[test]
    fn two_bounded_files_hold_the_newest_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        let mut log = Log::new(path.clone(), "a1-1", &[]);
        let block = [b'x'; 64 * 1024];
        for _ in 0..50 {
            log.write(&block);
        }
        log.write(b"\nthe end\n");
        let files = folder.path().read_dir().unwrap();
        let bytes: Vec<u64> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert_eq!(bytes.len(), 2);
        assert!(bytes.iter().all(|bytes| *bytes <= FILE_BYTES_MAX + 65 * 1024), "{bytes:?}");
        assert_eq!(last_lines(&path).last().unwrap(), "the end");
    }

    #[test]
    fn a_log_that_is_removed_begins_again_and_one_without_a_place_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        let mut log = Log::new(path.clone(), "a1-1", &[]);
        log.write(b"one\n");
        fs::remove_file(&path).unwrap();
        log.write(b"two\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{MARK}a1-1\ntwo\n"));
        let mut lost = Log::new(folder.path().join("no/such/place/web.log"), "a1-1", &[]);
        lost.write(b"one\n");
        assert!(!folder.path().join("no").exists());
    }

    #[test]
    fn a_log_makes_its_folder_again_when_that_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("blog/blog-1/web.log");
        let mut log = Log::new(path.clone(), "a1-1", &[]);
        for gone in ["blog", "blog/blog-1"] {
            log.write(b"old\n");
            fs::remove_dir_all(root.path().join(gone)).unwrap();
            log.write(b"new\n");
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{MARK}a1-1\nnew\n"), "{gone}");
        }
    }

    #[test]
    fn what_a_full_disk_took_of_a_write_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        let mut log = Log::new(path.clone(), "a1-1", &[]);
        // Like a full disk it takes nothing; it is the same file, only not for writing.
        log.file = Some(File::open(&path).unwrap());
        log.bytes = 0;
        log.write(b"one\n");
        assert_eq!(log.bytes, fs::metadata(&path).unwrap().len());
    }

    #[test]
    fn a_log_where_a_pipe_lies_waits_for_no_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.log");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Log::new(path, "a1-1", &[]).write(b"one\n");
    }

    #[test]
    fn the_tail_is_the_newest_output_and_bounded() {
        let mut tail = Tail::default();
        tail.push(b"one\n\xfftwo");
        assert_eq!(tail.lines(), ["one", "\u{fffd}two"]);
        for _ in 0..1_000 {
            tail.push(&[b'x'; 50_000]);
        }
        assert!(tail.bytes.len() <= 2 * TAIL_BYTES);
        assert_eq!(tail.lines(), ["x".repeat(LINE_CHARS_MAX)]);
        many().as_bytes().chunks(7).for_each(|chunk| tail.push(chunk));
        assert!(tail.lines().last().unwrap().starts_with("99 "));
    }

    #[test]
    fn no_file_is_no_line() {
        assert!(last_lines(Path::new("/nowhere/web.log")).is_empty());
    }
}
