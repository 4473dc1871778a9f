//! One direction of a connection: what is read on one side is written on the other, and nothing is read while anything is left
//! to be written.
//!
//! Little is copied through memory that all connections of a thread share; much goes through a pipe, uncopied. So a connection
//! that is idle has no memory of its own, and one whose reader is slow has at most what was read at a time.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};

use rustix::net::{Shutdown, shutdown};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use super::pipes::{Pipe, Pipes};

/// The most that is read at a time into memory.
const READ_BYTES: usize = 64 * 1024;

/// A read of so much is a large one: the kernel seldom has a whole buffer at a time.
const LARGE_BYTES: usize = 16 * 1024;

/// So many large reads in a row are bulk.
const BULK_READS: u8 = 3;

/// How often a direction may move something before others get their turn.
const TURN: u32 = 32;

thread_local! {
    /// What was read and is written at once. Each thread has one, and no connection keeps anything in it.
    static SCRATCH: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Read and not written yet.
    left: Vec<u8>,
    pipe: Option<Pipe>,
    large_reads: u8,
    course: Course,
}

/// How far a direction is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Course {
    #[default]
    Open,
    /// The reading side has ended, and that was passed on.
    Ended,
    /// The writing side takes nothing any more.
    Broken,
}

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Nothing,
    Something,
}

impl Flow {
    /// A direction that another router had.
    pub(super) fn of(left: Vec<u8>, course: Course) -> Self {
        Self { left, course, ..Self::default() }
    }

    pub(super) fn course(&self) -> Course {
        self.course
    }

    /// Whether nothing is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty() && self.pipe.as_ref().is_none_or(Pipe::is_empty)
    }

    /// Moves what there is, until there is nothing or it is the turn of others. Ready when the direction is over.
    ///
    /// # Errors
    /// When reading fails: what was sent on is not all that was meant to come.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        (from, to): (&TcpStream, &TcpStream),
        pipes: &Pipes,
        moved: &mut Moved,
    ) -> Poll<io::Result<()>> {
        for _ in 0..TURN {
            if self.course != Course::Open {
                return Poll::Ready(Ok(()));
            }
            if !self.is_empty() {
                match self.write(to) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        // A socket that fails is writable, and then the write says so.
                        let _ = ready!(to.poll_write_ready(cx));
                    }
                    Err(_) => self.break_off(pipes),
                    Ok(()) => {}
                }
                continue;
            }
            match self.read(from, to, pipes) {
                Ok(0) => {
                    // The other side sees the end of this one, and may go on by itself.
                    let _ = shutdown(to, Shutdown::Write);
                    self.course = Course::Ended;
                    self.put_pipe_back(pipes);
                }
                Ok(_) => *moved = Moved::Something,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.put_pipe_back(pipes);
                    ready!(from.poll_read_ready(cx))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn write(&mut self, to: &TcpStream) -> io::Result<()> {
        if let Some(pipe) = self.pipe.as_mut().filter(|pipe| !pipe.is_empty()) {
            return pipe.empty(to);
        }
        let written = to.try_write(&self.left)?;
        self.left.drain(..written);
        if self.left.is_empty() {
            self.left = Vec::new();
        }
        Ok(())
    }

    /// Reads what there is, and writes of it what can be written at once.
    fn read(&mut self, from: &TcpStream, to: &TcpStream, pipes: &Pipes) -> io::Result<usize> {
        if self.large_reads >= BULK_READS && self.pipe.is_none() {
            self.pipe = pipes.take();
        }
        if let Some(pipe) = &mut self.pipe {
            let read = pipe.fill(from)?;
            self.note(read);
            return Ok(read);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let read = from.try_read(scratch)?;
            self.note(read);
            let all = scratch.get(..read).unwrap_or_default();
            // What fails here fails again, and is seen then.
            let written = if read > 0 { to.try_write(all).unwrap_or(0) } else { 0 };
            self.left.extend_from_slice(all.get(written..).unwrap_or_default());
            Ok(read)
        })
    }

    fn note(&mut self, read: usize) {
        self.large_reads = if read >= LARGE_BYTES { self.large_reads.saturating_add(1) } else { 0 };
    }

    /// Nobody takes what is read here any more.
    fn break_off(&mut self, pipes: &Pipes) {
        self.course = Course::Broken;
        self.left = Vec::new();
        self.put_pipe_back(pipes);
    }

    fn put_pipe_back(&mut self, pipes: &Pipes) {
        if let Some(pipe) = self.pipe.take() {
            pipes.give_back(pipe);
        }
    }

    /// What another router needs to go on: what is left to be written.
    pub(super) fn into_left(self) -> io::Result<(Vec<u8>, Course)> {
        let piped = self.pipe.map_or(Ok(Vec::new()), Pipe::into_bytes)?;
        Ok(([piped, self.left].concat(), self.course))
    }
}
