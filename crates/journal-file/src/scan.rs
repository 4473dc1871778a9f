//! Reading a journal's file, and telling a write that was cut short from damage.
//!
//! One change at a time is on its way. So only the end of a file can be a write that was cut short, and only beyond what
//! is known to have been acknowledged. All else that does not fit is damage.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::check::Check;
use crate::error::{Damage, OpenError};
use crate::frame::{self, Frames, Next, RowBytes, Unfit};
use crate::header::{BadHeader, HEADER_BYTES, Header};
use crate::mark::{Marked, Reached};

/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;

/// What a file holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanned {
    /// How many bytes are known to be on the disk, since they were acknowledged or synced before the file had its name.
    pub(crate) certain: u64,
    /// How far its frames go.
    pub(crate) reached: Reached,
    /// How long it is: more than that when its last write was cut short.
    pub(crate) length: u64,
}

/// The rows of a journal, by their keys.
pub(crate) type Rows = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// Reads all rows.
pub(crate) fn rows(path: &Path, file: &File, known: Marked) -> Result<Rows, OpenError> {
    let mut rows = Rows::new();
    scan(path, file, known, |RowBytes { key, value }| {
        match value {
            Some(value) => rows.insert(key.into(), value.into()),
            None => rows.remove(key),
        };
    })?;
    Ok(rows)
}

/// Reads every frame, and gives each row to `take`.
///
/// `known` is how far the journal had come at least: by its mark, or by what this process acknowledged.
pub(crate) fn scan(
    path: &Path,
    file: &File,
    known: Marked,
    mut take: impl FnMut(RowBytes<'_>),
) -> Result<Scanned, OpenError> {
    let failed = |error| OpenError::of_io(path.to_owned(), error);
    let damaged = |place, what| OpenError::Damaged { file: path.to_owned(), place, what };
    // What is appended from now on is for the next who reads.
    let length = file.metadata().map_err(failed)?.len();
    let mut from = BufReader::with_capacity(READ_BYTES, FromBeginning { file, place: 0 });
    let Header { writing, base } = header(path, &mut from)?;
    let acknowledged = match known {
        Marked::At(at) if at.writing > writing => {
            return Err(damaged(0, Damage::Older { found: writing, written: at.writing }));
        }
        Marked::At(at) if at.writing == writing => Some(at),
        // Nothing is acknowledged in a file before its mark says so: it is as it was when it took its place.
        Marked::At(_) | Marked::Missing | Marked::Damaged => None,
    };
    let certain = acknowledged.map_or(base, |at| at.bytes.max(base));
    let mut frames = Frames::at(from, HEADER_BYTES, length, Check::first(writing));
    loop {
        let (place, check) = (frames.place, frames.check);
        if acknowledged.is_some_and(|at| at.bytes == place && at.check != check) {
            return Err(damaged(place, Damage::Changed));
        }
        match frames.next().map_err(failed)? {
            Next::Body(body) => {
                for row in frame::rows(body) {
                    take(row.ok_or_else(|| damaged(place, Damage::Rows))?);
                }
            }
            Next::Unfit(Unfit::Inside) => return Err(damaged(place, Damage::Changed)),
            Next::End | Next::Unfit(Unfit::Torn) if place < certain => {
                return Err(damaged(place, Damage::Changed));
            }
            Next::End | Next::Unfit(Unfit::Torn) => {
                let reached = Reached { writing, bytes: place, check };
                return Ok(Scanned { certain, reached, length });
            }
        }
        // A frame that goes on where an acknowledged one ended is another than was acknowledged.
        if acknowledged.is_some_and(|at| place < at.bytes && at.bytes < frames.place) {
            return Err(damaged(place, Damage::Changed));
        }
    }
}

fn header(path: &Path, from: &mut impl Read) -> Result<Header, OpenError> {
    let mut line = Vec::new();
    let read = from.take(HEADER_BYTES).read_to_end(&mut line);
    read.map_err(|error| OpenError::of_io(path.to_owned(), error))?;
    let file = path.to_owned();
    Header::parse(&line).map_err(|bad| match bad {
        BadHeader::Schema(found) => OpenError::Schema { file, found },
        BadHeader::Damaged => OpenError::Damaged { file, place: 0, what: Damage::Header },
    })
}

/// A file from its beginning, wherever its descriptor stands.
struct FromBeginning<'a> {
    file: &'a File,
    place: u64,
}

impl Read for FromBeginning<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.place)?;
        self.place = self.place.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
