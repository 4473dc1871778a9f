//! The failure book's journal on disk: one file that is appended to.
//!
//! # What it promises
//!
//! - A change has landed when [`land`](failure_book::Journal::land) answers `Ok`: its frame was appended, and an fdatasync of
//!   the file has returned. No kill takes it away any more, and no loss of power, as far as the disk keeps its word.
//! - A change is there whole or not at all. A write that was cut short and never acknowledged is dropped by the next
//!   open.
//! - Nothing else that does not fit is ever read as a smaller book: that is [`Damaged`](OpenError::Damaged), with the
//!   place, and the file is left as it was found.
//! - What a change costs does not grow with the book. When more than half of the file counts no longer, it is written
//!   anew from its own frames, under another name, synced, and renamed; so it is never much longer than twice its
//!   rows. A crash in the middle leaves the one file or the other, with the same rows.
//!
//! # How a cut is told from damage
//!
//! Each frame has checks of its length and of its rows, chained to those of the frames before. Only one change at a
//! time is on its way, so only the end of the file can be a write that was cut short. That the end was never
//! acknowledged is told by the *mark*, a small file beside the journal that says how far it had come when it last
//! answered. It is written after each change without a sync of its own, so after a loss of power it may lag some
//! seconds behind, and it never leads. Without a mark that can be relied on a journal opens as [`Trust::Doubtful`], and
//! its book then must get another identity.
//!
//! # After a write that failed
//!
//! Only the disk knows then what is there. When an fdatasync fails, the kernel takes the pages that it could not write
//! for clean: they are read as if they were on the disk, and the next fdatasync of the same descriptor succeeds without
//! having written them. So after any error the descriptor is closed. Before anything else, the file is opened anew
//! and read; it must hold all that was acknowledged; what is beyond that is written again, byte for byte, if it is a whole
//! frame, and is cut off if it is not; and then the file is synced through the new descriptor, which is told of every
//! error from its opening on. Until all of that works, every call answers an error. The change that failed is then there,
//! whole and on the disk, or not at all. The book owes it in either case, and lands it again.
//!
//! The same is done by every open, since the process before may have died just then.
//!
//! # Threads
//!
//! It works on the thread that calls it, and waits there for the disk: nothing for a thread that others wait for.

mod check;
mod error;
mod folder;
mod frame;
mod header;
mod live;
mod mark;
mod room;
mod scan;
mod session;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use failure_book::{Change, Journal, Kept};

pub use crate::error::{Damage, JournalError, OpenError};
use crate::folder::{Folder, JOURNAL, MARK, is_regular};
pub use crate::frame::FRAME_BYTES_MAX;
use crate::frame::{RowBytes, TooLong};
pub use crate::header::SCHEMA;
use crate::mark::{Marked, Reached};
pub use crate::room::Room;
use crate::scan::Rows;
use crate::session::{Anew, Session};

/// Where a journal is, and how careful it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The journal's folder; made when it is not there. Nothing else should be kept in it.
    pub folder: PathBuf,
    /// How much of the disk a change may use.
    pub room: Room,
}

impl Options {
    /// A journal in `folder` that may use half of the 8 MiB that a store beside it leaves free.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), room: Room::Leave { bytes: 8 * 1024 * 1024 } }
    }
}

/// A journal that was opened, and what is to be thought of it.
#[derive(Debug)]
#[must_use = "a book over a doubtful journal needs another identity"]
pub struct OpenedJournal {
    /// The journal.
    pub journal: FileJournal,
    /// Whether all of the book is known to be there.
    pub trust: Trust,
    /// What was wrong and was put right; empty in the ordinary case.
    pub notes: Vec<Note>,
}

/// Whether a journal is known to hold all that was ever acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a book over a doubtful journal needs another identity"]
pub enum Trust {
    /// It is.
    Whole,
    /// Its mark was missing or damaged, so nothing could tell whether its newest changes are missing.
    ///
    /// The book is then like one that was restored from an older copy. Before anything else it needs another identity, so
    /// that no older grant counts: [`Book::rotate_identity`](failure_book::Book::rotate_identity). The journal stays
    /// doubtful, also when it is opened again, until a change has landed: that should be this one.
    Doubtful,
}

/// Something that was wrong in the folder and was put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The last write was cut short. It was never acknowledged, and was dropped.
    TornEnd {
        /// The journal's file.
        file: PathBuf,
        /// How many bytes of it there were.
        bytes: u64,
    },
    /// The mark was damaged: see [`Trust::Doubtful`]. The next change to land sets it anew.
    DamagedMark {
        /// Where it is.
        mark: PathBuf,
    },
    /// The same, of a mark that was not there.
    MissingMark {
        /// Where it will be.
        mark: PathBuf,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unchecked = "what the failure book holds is whole, but nothing could tell whether its end is missing, \
                         so it needs another identity";
        match self {
            Self::TornEnd { file, bytes } => write!(
                out,
                "the last {bytes} bytes of {} were a write that was cut short, and were dropped; nobody was told that \
                 it had landed",
                file.display()
            ),
            Self::DamagedMark { mark } => {
                write!(
                    out,
                    "the mark of the failure book, {}, is damaged; {unchecked}",
                    mark.display()
                )
            }
            Self::MissingMark { mark } => {
                write!(
                    out,
                    "the mark of the failure book, {}, was missing; {unchecked}",
                    mark.display()
                )
            }
        }
    }
}

/// Where a machine keeps its failure book. Dropped, it closes, and its folder can be opened again.
///
/// It blocks the thread that calls it until the disk has answered.
#[derive(Debug)]
pub struct FileJournal {
    folder: Folder,
    room: Room,
    state: State,
}

#[derive(Debug)]
enum State {
    /// What it says is on the disk.
    Sound(Session),
    /// A write failed: only the disk knows what is true, and at least this was acknowledged.
    Failed(Reached, Trust),
}

impl FileJournal {
    /// Opens the journal in a folder of its own, making an empty one where there is none. Waits up to 2 s for another
    /// that is just closing. What landed is on the disk when this returns, and an unfinished write is gone from it.
    ///
    /// # Errors
    /// Whatever [`OpenError`] says. None is ever taken for an empty one because it could not be read: not even one that
    /// was made and in which nothing ever landed, when its mark is gone too.
    pub fn open(options: Options) -> Result<OpenedJournal, OpenError> {
        let Options { folder, room } = options;
        let folder = Folder::take(&folder)?;
        let mut marked = read_mark(folder.root())?;
        if !is_there(folder.root(), marked)? {
            session::make(&folder)?;
            marked = Marked::At(Reached::NOTHING);
        }
        let mark = folder.path(MARK);
        let (trust, mut notes) = match marked {
            Marked::At(_) => (Trust::Whole, Vec::new()),
            Marked::Missing => (Trust::Doubtful, vec![Note::MissingMark { mark }]),
            Marked::Damaged => (Trust::Doubtful, vec![Note::DamagedMark { mark }]),
        };
        let (session, torn) = open_session(&folder, marked, trust)?;
        if torn > 0 {
            notes.push(Note::TornEnd { file: folder.path(JOURNAL), bytes: torn });
        }
        let journal = Self { folder, room, state: State::Sound(session) };
        Ok(OpenedJournal { journal, trust, notes })
    }

    /// Takes the session, opened anew after a write that failed. Unless it is put back, the next call opens it anew.
    fn take(&mut self) -> Result<Session, JournalError> {
        let (acknowledged, trust) = match &self.state {
            State::Sound(session) => (session.reached(), session.trust()),
            State::Failed(acknowledged, trust) => (*acknowledged, *trust),
        };
        match std::mem::replace(&mut self.state, State::Failed(acknowledged, trust)) {
            State::Sound(session) => Ok(session),
            State::Failed(..) => {
                let opened = open_session(&self.folder, Marked::At(acknowledged), trust);
                // A write that was cut short is no news here: its error was answered.
                let opened = opened.map(|(session, _torn)| session);
                opened.map_err(|error| JournalError::of_open(self.folder.root(), error))
            }
        }
    }
}

impl Journal for FileJournal {
    type Error = JournalError;

    fn load(&mut self) -> Result<Option<Kept>, JournalError> {
        let session = self.take()?;
        let rows = session.rows(&self.folder).map_err(JournalError::Unread)?;
        self.state = State::Sound(session);
        book(self.folder.path(JOURNAL), rows).map_err(JournalError::Unread)
    }

    fn land(&mut self, change: &Change) -> Result<(), JournalError> {
        let entries = change.entries().map_err(|error| JournalError::Refused(error.into()))?;
        let rows = || entries.iter().map(RowBytes::of);
        let mut session = self.take()?;
        let before = session.reached().check;
        let frame = frame::encode(rows(), before).map_err(|TooLong| JournalError::TooLong);
        let frame = frame.and_then(|(frame, check)| {
            let bytes = u64::try_from(frame.len()).unwrap_or(u64::MAX);
            let room = self.room.check(self.folder.root(), bytes);
            room.map(|()| (frame, check)).map_err(|error| self.unwritten(error))
        });
        let (frame, check) = match frame {
            Ok(frame) => frame,
            Err(error) => {
                // The disk was not touched.
                self.state = State::Sound(session);
                return Err(error);
            }
        };
        let appended = session.append(&self.folder, &frame, check, rows());
        appended.map_err(|error| self.unwritten(error))?;
        // The change has landed, whatever becomes of this.
        self.state = match session.tidy(&self.folder) {
            Anew::Sound => State::Sound(session),
            Anew::Doubtful => State::Failed(session.reached(), session.trust()),
        };
        Ok(())
    }
}

impl FileJournal {
    fn unwritten(&self, error: io::Error) -> JournalError {
        JournalError::of_write(self.folder.root(), error)
    }
}

/// Reads the failure book that is kept in a folder, without its lock, and changes nothing: also while another process
/// writes to it. A change that is on its way is not seen, or is. `None` when no journal is there, or nothing in it.
///
/// # Errors
/// As [`FileJournal::open`], but for what concerns the lock and writing. A mark that is missing or damaged is not told.
pub fn read(folder: &Path) -> Result<Option<Kept>, OpenError> {
    let mut tries = READ_TRIES;
    loop {
        let marked = read_mark(folder)?;
        let read = read_beside(folder, marked);
        tries -= 1;
        match read {
            // Whoever writes may have mended the end of the file just now, after a write that failed.
            Err(OpenError::Damaged { .. }) if tries > 0 && read_mark(folder)? != marked => {}
            read => return read,
        }
    }
}

/// Whether a journal that was [`read`] is known to hold all that was acknowledged: its mark can be relied on.
///
/// # Errors
/// When the mark cannot be looked at.
pub fn trust(folder: &Path) -> Result<Trust, OpenError> {
    Ok(match read_mark(folder)? {
        Marked::At(_) => Trust::Whole,
        Marked::Missing | Marked::Damaged => Trust::Doubtful,
    })
}

/// How often a journal that is written to meanwhile is read again.
const READ_TRIES: u32 = 5;

fn read_beside(folder: &Path, marked: Marked) -> Result<Option<Kept>, OpenError> {
    if !is_there(folder, marked)? {
        return Ok(None);
    }
    let path = folder.join(JOURNAL);
    let file = File::open(&path).map_err(|error| OpenError::of_io(path.clone(), error))?;
    let rows = scan::rows(&path, &file, marked)?;
    match marked {
        Marked::Missing | Marked::Damaged if rows.is_empty() => {
            Err(OpenError::Damaged { file: path, place: 0, what: Damage::Empty })
        }
        Marked::At(_) | Marked::Missing | Marked::Damaged => book(path, rows),
    }
}

fn read_mark(root: &Path) -> Result<Marked, OpenError> {
    mark::read(root).map_err(|error| OpenError::of_io(root.join(MARK), error))
}

/// Whether there is a journal; an error when there was one.
fn is_there(root: &Path, marked: Marked) -> Result<bool, OpenError> {
    let file = root.join(JOURNAL);
    let found = is_regular(&file).map_err(|error| OpenError::of_io(file.clone(), error))?;
    match (found, marked) {
        (Some(true), _) => Ok(true),
        (Some(false), _) => Err(OpenError::Damaged { file, place: 0, what: Damage::NoFile }),
        (None, Marked::Missing | Marked::At(Reached::NOTHING)) => Ok(false),
        (None, Marked::At(_) | Marked::Damaged) => {
            Err(OpenError::Damaged { file, place: 0, what: Damage::Missing })
        }
    }
}

fn open_session(folder: &Folder, known: Marked, trust: Trust) -> Result<(Session, u64), OpenError> {
    let (mut session, torn) = Session::open(folder, known)?;
    match trust {
        Trust::Whole => {
            let set = session.set_mark(folder);
            set.map_err(|error| OpenError::of_io(folder.path(MARK), error))?;
        }
        // The first change that lands sets it.
        Trust::Doubtful => {}
    }
    Ok((session, torn))
}

fn book(file: PathBuf, rows: Rows) -> Result<Option<Kept>, OpenError> {
    Kept::from_entries(rows).map_err(|source| OpenError::Rows { file, source })
}
