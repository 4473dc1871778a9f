//! What was freed by hand: a line of JSON for each time, kept in the engine's folder.
//!
//! A line is on the disk before the book changes, so nothing is freed that is not written down. A kill right between the
//! two leaves a line of something that stands all the same. Nothing in this file keeps anybody from freeing: one that cannot
//! be added to is moved aside, and a line that cannot be read is counted.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use failure_book::BookId;
use machine_os::set_aside;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::folder::Folder;

/// How many of the newest are told.
const TOLD_MAX: usize = 5;

/// How much of the file's end is read for them.
const READ_BYTES_MAX: u64 = 64 * 1024;

/// One time that an instance was freed by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Freed {
    pub(super) at: DateTime<Utc>,
    /// The user's number.
    pub(super) uid: u32,
    /// Who became that user by `sudo`, as the environment says.
    pub(super) sudo_user: Option<String>,
    pub(super) account: String,
    pub(super) module: String,
    pub(super) instance: String,
    pub(super) reason: String,
    /// Which book it was.
    pub(super) book: BookId,
    pub(super) held: Held,
}

/// What held an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Held {
    /// Builds whose records blocked it.
    pub(super) blocked: Vec<String>,
    /// Those of them that held it down.
    pub(super) held_down: Vec<String>,
    /// The build that its marker named.
    pub(super) marker: Option<String>,
}

/// The newest lines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Newest {
    /// Oldest first.
    pub(super) told: Vec<Freed>,
    /// What is wrong with the file; none: nothing.
    pub(super) trouble: Option<String>,
}

/// Why a line was not written down.
#[derive(Debug)]
pub(super) enum NotAdded {
    /// The disk or the folder takes nothing from this user now.
    Refused(io::Error),
    /// The file is none that can be added to, and cannot be moved aside.
    Damaged(io::Error),
}

/// Writes a line down, on the disk when this returns. Answers where a file is now that could not be added to.
pub(super) fn add(folder: &Folder, freed: &Freed) -> Result<Option<PathBuf>, NotAdded> {
    let path = folder.freed();
    let line = serde_json::to_vec(freed).map_err(|error| NotAdded::Damaged(error.into()))?;
    let Err(error) = append(folder, &path, &line) else { return Ok(None) };
    if is_refusal(&error) {
        return Err(NotAdded::Refused(error));
    }
    let aside = set_aside(folder.path(), &path).map_err(NotAdded::Damaged)?;
    append(folder, &path, &line).map_err(NotAdded::Damaged)?;
    Ok(Some(aside))
}

/// Whether it is what would keep the book from being changed, too.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::PermissionDenied
    )
}

fn append(folder: &Folder, path: &Path, line: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        // Whoever owns the folder leads root nowhere else, and keeps it waiting at no pipe.
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    // A line that was cut stays for itself.
    let mut bytes = Vec::new();
    if found.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            bytes.push(b'\n');
        }
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    file.write_all(&bytes)?;
    file.sync_all()?;
    File::open(folder.path())?.sync_all()
}

/// The newest lines of a file, as far as they can be read.
pub(super) fn newest(path: &Path) -> Newest {
    let end = match end_of(path) {
        Ok(end) => end,
        Err(error) if error.kind() == ErrorKind::NotFound => return Newest::default(),
        Err(error) => {
            let trouble = format!("{} cannot be read: {error}", path.display());
            return Newest { told: Vec::new(), trouble: Some(trouble) };
        }
    };
    let lines: Vec<&[u8]> =
        end.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let read: Vec<Freed> =
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let unread = lines.len() - read.len();
    let trouble = (unread > 0)
        .then(|| format!("{unread} of the newest lines of {} cannot be read", path.display()));
    let told = read[read.len().saturating_sub(TOLD_MAX)..].to_vec();
    Newest { told, trouble }
}

/// The end of a file, from the beginning of a line.
fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file =
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let skipped = found.len().saturating_sub(READ_BYTES_MAX);
    // With the byte before: when it ends a line, nothing is cut.
    file.seek(SeekFrom::Start(skipped.saturating_sub(1)))?;
    let mut end = Vec::new();
    file.take(READ_BYTES_MAX + 1).read_to_end(&mut end)?;
    if skipped > 0 {
        let first = end.iter().position(|byte| *byte == b'\n').map_or(end.len(), |at| at + 1);
        end.drain(..first);
    }
    Ok(end)
}
