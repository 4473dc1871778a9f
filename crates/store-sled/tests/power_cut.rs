//! A power cut on a simulated disk: every write that was synced is there, of every other each sector may be there
//! or not. Whatever was acknowledged before the cut must be in the store, whole.
//!
//! The disk is made from the writer's own system calls: its writes to sled's file and when each sync of it returned.

use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;
#[path = "child/trace.rs"]
mod trace;

use trace::{strace_is_here, trace};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Commits before the trace, so that sled has segments to use again.
const BEFORE: u64 = 60;
const COMMITS: u64 = 30;

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;

/// A change of sled's file, and where in the trace it had returned.
struct Change {
    what: What,
    returned: usize,
}

enum What {
    Write { offset: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

#[tokio::test]
async fn a_power_cut_loses_no_acknowledged_write() -> Outcome {
    if !strace_is_here("a_power_cut_loses_no_acknowledged_write")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("store");
    trace(&[], &root, 1, BEFORE)?;
    let db = root.join("data/db");
    let mut synced = fs::read(&db)?;
    let calls = trace(&["-xx", "-s", "2000000"], &root, BEFORE + 1, BEFORE + COMMITS)?;
    let name = hex(db.to_str().ok_or("a folder's name is not text")?);

    let mut contents = model::Contents::new();
    for number in 1..=BEFORE {
        model::apply(&mut contents, number)?;
    }
    let mut unsynced = Vec::new();
    let mut acknowledged = BEFORE;
    let mut seed = 1;
    for call in &calls {
        if call.syncs(&name) {
            let returned = |change: &mut Change| change.returned < call.began;
            for change in unsynced.extract_if(.., returned) {
                put(&mut synced, &change.what, || true);
            }
        } else if call.text.starts_with("ftruncate(") && call.text.contains(&name) {
            let what = parse_cut(&call.text)?;
            unsynced.push(Change { what, returned: call.returned });
        } else if call.writes(&name) {
            let what = parse_write(&call.text)?;
            unsynced.push(Change { what, returned: call.returned });
            // In the middle of a commit; before the first, sled is still opening.
            if acknowledged > BEFORE {
                let found = cut(&root, &synced, &unsynced, &mut seed).await?;
                let mut next = contents.clone();
                model::apply(&mut next, acknowledged + 1)?;
                let right = found == contents || found == next;
                assert!(right, "cut in the commit after {acknowledged}");
            }
        } else if call.acknowledges() {
            acknowledged += 1;
            model::apply(&mut contents, acknowledged)?;
            let found = cut(&root, &synced, &unsynced, &mut seed).await?;
            assert!(found == contents, "{acknowledged} was acknowledged and lost");
        }
    }
    assert_eq!(acknowledged, BEFORE + COMMITS);
    Ok(())
}

/// The store as it is found on a disk that has what was synced, and of the rest what the seed leaves.
async fn cut(
    root: &Path,
    synced: &[u8],
    unsynced: &[Change],
    seed: &mut u64,
) -> Outcome<model::Contents> {
    let mut disk = synced.to_vec();
    for change in unsynced {
        put(&mut disk, &change.what, || next(seed).is_multiple_of(2));
    }
    let after = tempfile::tempdir()?;
    copy(root, after.path())?;
    fs::write(after.path().join("data/db"), disk)?;
    model::read(after.path()).await
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
    if bytes.len() != length.parse()? || bytes.len() != written.parse()? {
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
