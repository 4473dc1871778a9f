//! The journal's file from one open to the next: changes are appended, and now and then it is written anew.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use crate::Trust;
use crate::check::Check;
use crate::error::{Damage, OpenError};
use crate::folder::{Folder, JOURNAL};
use crate::frame::{self, RowBytes};
use crate::header::{HEADER_BYTES, Header};
use crate::live::Live;
use crate::mark::{self, Mark, Marked, Reached};
use crate::room::Room;
use crate::scan::{self, Rows, Scanned};

/// How many bytes of a file may count no longer before it is written anew, however small what counts is: writing it anew
/// costs about as much as five changes.
const DEAD_BYTES_MIN: u64 = 256 * 1024;

/// About how long the frames of a file are that is written anew.
const FRAME_BYTES: u64 = 1024 * 1024;

/// What the kernel writes at once: whoever appends writes the last page again, with what was acknowledged in it.
const PAGE_BYTES: u64 = 4096;

/// How much is written again at once.
const AGAIN_BYTES: u64 = 1024 * 1024;

/// An open file of which everything up to where it reached is on the disk. After a write that failed that is not known,
/// and it must go.
#[derive(Debug)]
pub(crate) struct Session {
    file: File,
    /// `None` until the first change lands, when nothing could tell whether all is there.
    mark: Option<Mark>,
    reached: Reached,
    live: Live,
    /// It is not written anew before it has this many bytes, since that failed.
    patience: u64,
}

/// How writing the file anew went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Anew {
    /// It was done, or is tried again when the file has grown by as much again; this one is as it was.
    Sound,
    /// Nobody knows which of the two files is there after a loss of power. Both hold all that was acknowledged.
    Doubtful,
}

/// Makes a journal in which nothing is. The mark is there first, so a file without one has lost it.
pub(crate) fn make(folder: &Folder) -> Result<(), OpenError> {
    let make = || {
        Mark::set(folder, Reached::NOTHING)?;
        write_aside(folder, 1, &Rows::new())?;
        folder.put_in_place(JOURNAL)
    };
    make().map_err(|error| OpenError::of_io(folder.path(JOURNAL), error))
}

impl Session {
    /// Opens the file, drops a write that was cut short, and makes sure that all the rest is on the disk. Answers how many
    /// bytes it dropped. The mark is left alone.
    pub(crate) fn open(folder: &Folder, known: Marked) -> Result<(Self, u64), OpenError> {
        let path = folder.path(JOURNAL);
        let at_path = |error| OpenError::of_io(path.clone(), error);
        let file = File::options().read(true).write(true).open(&path).map_err(at_path)?;
        let mut live = Live::default();
        let scanned = scan::scan(&path, &file, known, |row| live.note(row))?;
        match known {
            // An empty book would let a build that failed start again, so this is for a person to decide.
            Marked::Missing | Marked::Damaged if live.is_empty() => {
                return Err(OpenError::Damaged { file: path, place: 0, what: Damage::Empty });
            }
            Marked::At(_) | Marked::Missing | Marked::Damaged => {}
        }
        settle(&file, scanned).map_err(at_path)?;
        let in_folder = |error| OpenError::of_io(folder.root().to_owned(), error);
        folder.sync().and_then(|()| folder.sync_parent()).map_err(in_folder)?;
        let Scanned { reached, length, .. } = scanned;
        let session = Self { file, mark: None, reached, live, patience: 0 };
        Ok((session, length - reached.bytes))
    }

    /// Has the mark say how far this file goes, on the disk. Only then may a change be acknowledged in it.
    pub(crate) fn set_mark(&mut self, folder: &Folder) -> io::Result<()> {
        let mark = match mark::read(folder.root())? {
            Marked::At(_) => {
                let mark = Mark::open(folder)?;
                mark.advance(self.reached)?;
                mark.sync()?;
                mark
            }
            Marked::Missing | Marked::Damaged => Mark::set(folder, self.reached)?,
        };
        self.mark = Some(mark);
        Ok(())
    }

    pub(crate) fn reached(&self) -> Reached {
        self.reached
    }

    pub(crate) fn trust(&self) -> Trust {
        if self.mark.is_some() { Trust::Whole } else { Trust::Doubtful }
    }

    pub(crate) fn rows(&self, folder: &Folder) -> Result<Rows, OpenError> {
        scan::rows(&folder.path(JOURNAL), &self.file, Marked::At(self.reached))
    }

    /// Appends a frame; when this returns it is on the disk, and the mark says so. Of these rows it is made.
    pub(crate) fn append<'a>(
        &mut self,
        folder: &Folder,
        frame: &[u8],
        check: Check,
        rows: impl IntoIterator<Item = RowBytes<'a>>,
    ) -> io::Result<()> {
        let Reached { writing, bytes, .. } = self.reached;
        self.file.write_all_at(frame, bytes)?;
        // The file's length comes with its data; when it was changed need not last.
        self.file.sync_data()?;
        let bytes = bytes.saturating_add(u64::try_from(frame.len()).unwrap_or(u64::MAX));
        let reached = Reached { writing, bytes, check };
        match &self.mark {
            Some(mark) => mark.advance(reached)?,
            None => self.mark = Some(Mark::set(folder, reached)?),
        }
        self.reached = reached;
        for row in rows {
            self.live.note(row);
        }
        Ok(())
    }

    /// Writes the file anew when more than half of it counts no longer.
    pub(crate) fn tidy(&mut self, folder: &Folder) -> Anew {
        let live = self.live.bytes();
        let dead = self.reached.bytes.saturating_sub(HEADER_BYTES).saturating_sub(live);
        if dead < live.max(DEAD_BYTES_MIN) || self.reached.bytes < self.patience {
            return Anew::Sound;
        }
        let Ok(rows) = self.rows(folder) else { return Anew::Doubtful };
        let writing = self.reached.writing.saturating_add(1);
        let room = Room::Leave { bytes: 0 }.check(folder.root(), live.saturating_add(HEADER_BYTES));
        let Ok((file, reached)) = room.and_then(|()| write_aside(folder, writing, &rows)) else {
            self.patience = self.reached.bytes.saturating_add(live.max(DEAD_BYTES_MIN));
            return Anew::Sound;
        };
        if folder.put_in_place(JOURNAL).is_err() {
            return Anew::Doubtful;
        }
        (self.file, self.reached, self.patience) = (file, reached, 0);
        match self.set_mark(folder) {
            Ok(()) => Anew::Sound,
            Err(_) => Anew::Doubtful,
        }
    }
}

/// Makes of what was read what is on the disk.
///
/// What is beyond the last acknowledged byte was perhaps never synced, or a sync of it failed. A page that the kernel could
/// not write counts as clean afterwards: it is read as if it were on the disk, and another sync says nothing of it. So
/// these bytes are written again, which makes their pages dirty, and are then synced through this descriptor, which is
/// told of every error from now on. What is no whole frame is cut off.
fn settle(file: &File, scanned: Scanned) -> io::Result<()> {
    let Scanned { certain, reached, length } = scanned;
    if length > certain {
        let mut place = certain - certain % PAGE_BYTES;
        let mut bytes = Vec::new();
        while place < reached.bytes {
            let part = (reached.bytes - place).min(AGAIN_BYTES);
            bytes.resize(usize::try_from(part).unwrap_or_default(), 0);
            file.read_exact_at(&mut bytes, place)?;
            file.write_all_at(&bytes, place)?;
            place += part;
        }
        file.set_len(reached.bytes)?;
    }
    file.sync_all()
}

/// Writes a file with these rows, synced, beside the one that there is.
fn write_aside(folder: &Folder, writing: u64, rows: &Rows) -> io::Result<(File, Reached)> {
    let mut reached = Reached { writing, bytes: HEADER_BYTES, check: Check::first(writing) };
    let file = folder.write_aside(JOURNAL, |file| {
        let mut out = BufWriter::new(&*file);
        // Its place; the line is written when it is known what it says.
        out.write_all(&[b' '; HEADER_BYTES as usize])?;
        let (mut part, mut bytes) = (Vec::new(), 0_u64);
        for (key, value) in rows {
            let row = RowBytes { key, value: Some(value) };
            if !part.is_empty() && bytes.saturating_add(row.bytes()) > FRAME_BYTES {
                write_frame(&mut out, &mut reached, part.drain(..))?;
                bytes = 0;
            }
            bytes = bytes.saturating_add(row.bytes());
            part.push(row);
        }
        if !part.is_empty() {
            write_frame(&mut out, &mut reached, part)?;
        }
        out.flush()?;
        drop(out);
        let header = Header { writing, base: reached.bytes };
        file.write_all_at(header.text().as_bytes(), 0)
    })?;
    Ok((file, reached))
}

fn write_frame<'a>(
    out: &mut impl Write,
    reached: &mut Reached,
    rows: impl IntoIterator<Item = RowBytes<'a>>,
) -> io::Result<()> {
    let encoded = frame::encode(rows, reached.check);
    // None is longer than the frame that it was read from.
    let (frame, check) = encoded.map_err(|frame::TooLong| io::ErrorKind::InvalidData)?;
    out.write_all(&frame)?;
    reached.bytes = reached.bytes.saturating_add(u64::try_from(frame.len()).unwrap_or(u64::MAX));
    reached.check = check;
    Ok(())
}
