//! A simulated disk: every write that was synced is there, of every other each sector may be there or not.
//!
//! It is made from a child's own system calls: its writes to sled's file and to the mark, and when each sync of them
//! returned.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use program_test::trace::Call;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;

/// A file as the simulated disk has it.
pub(crate) struct OnDisk {
    path: PathBuf,
    /// The path as the trace writes it.
    name: String,
    synced: Vec<u8>,
    unsynced: Vec<Change>,
}

/// A change of a file, and where in the trace it had returned.
struct Change {
    what: What,
    returned: usize,
}

enum What {
    Write { offset: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

impl OnDisk {
    /// A file that a process before has closed, and synced.
    pub(crate) fn closed(path: PathBuf) -> Outcome<Self> {
        let name = hex(path.to_str().ok_or("a folder's name is not text")?);
        Ok(Self { synced: fs::read(&path)?, unsynced: Vec::new(), path, name })
    }

    /// Follows one call, and answers whether it wrote to the file.
    pub(crate) fn follow(&mut self, call: &Call) -> Outcome<bool> {
        let what = if call.syncs(&self.name) {
            let returned = |change: &mut Change| change.returned < call.began;
            for change in self.unsynced.extract_if(.., returned) {
                put(&mut self.synced, &change.what, || true);
            }
            return Ok(false);
        } else if call.text.starts_with("ftruncate(") && call.text.contains(&self.name) {
            parse_cut(&call.text)?
        } else if call.writes(&self.name) {
            parse_write(&call.text)?
        } else {
            return Ok(false);
        };
        let writes = matches!(what, What::Write { .. });
        self.unsynced.push(Change { what, returned: call.returned });
        Ok(writes)
    }

    /// What is in it after a cut: what was synced, and of the rest what the seed leaves.
    fn after_cut(&self, seed: &mut u64) -> Vec<u8> {
        let mut found = self.synced.clone();
        for change in &self.unsynced {
            put(&mut found, &change.what, || next(seed).is_multiple_of(2));
        }
        found
    }
}

/// The folder as it is found after a cut.
pub(crate) fn cut(root: &Path, disk: [&OnDisk; 2], seed: &mut u64) -> Outcome<TempDir> {
    // In memory where there is such a place, since many are opened.
    let after = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    copy(root, after.path())?;
    for file in disk {
        fs::write(after.path().join(file.path.strip_prefix(root)?), file.after_cut(seed))?;
    }
    Ok(after)
}

/// Makes the change as far as it lands: of a write, each sector for itself.
fn put(disk: &mut Vec<u8>, what: &What, mut lands: impl FnMut() -> bool) {
    let (offset, bytes) = match what {
        What::Write { offset, bytes } => (*offset, bytes),
        What::Cut { length } => {
            if lands() {
                disk.resize(*length, 0);
            }
            return;
        }
    };
    let end = offset + bytes.len();
    if disk.len() < end {
        disk.resize(end, 0);
    }
    let mut begin = offset;
    while begin < end {
        let sector_end = (begin / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let part = begin..sector_end.min(end);
        if lands() {
            disk[part.clone()].copy_from_slice(&bytes[part.start - offset..part.end - offset]);
        }
        begin = part.end;
    }
}

/// Takes `pwrite64(4<path>, "\x01\x02", 2, 4096) = 2` apart.
fn parse_write(call: &str) -> Outcome<What> {
    let what = || format!("not a whole write: {call:.200}");
    let (_, rest) = call.split_once(", \"").ok_or_else(what)?;
    let (text, rest) = rest.split_once("\", ").ok_or_else(what)?;
    let (numbers, written) = rest.split_once(')').ok_or_else(what)?;
    let written = written.trim().strip_prefix("= ").ok_or_else(what)?;
    let (length, offset) = numbers.split_once(", ").ok_or_else(what)?;
    let bytes: Result<Vec<u8>, _> =
        text.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16)).collect();
    let bytes = bytes?;
    if bytes.len() != length.parse::<usize>()? || bytes.len() != written.parse::<usize>()? {
        return Err(what().into());
    }
    Ok(What::Write { offset: offset.parse()?, bytes })
}

/// Takes `ftruncate(4<path>, 524288) = 0` apart.
fn parse_cut(call: &str) -> Outcome<What> {
    let what = || format!("not a cut that worked: {call:.200}");
    let (_, rest) = call.split_once(", ").ok_or_else(what)?;
    let (length, answer) = rest.split_once(')').ok_or_else(what)?;
    if answer.trim() != "= 0" {
        return Err(what().into());
    }
    Ok(What::Cut { length: length.parse()? })
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// `XorShift`: enough to have some sectors land and some not.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
