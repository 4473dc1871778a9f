//! Pipes through which bulk goes from socket to socket without being copied, shared by all connections.
//!
//! A connection takes a pipe only while much goes through it, so there need not be many.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The most pipes. Beyond them bulk is copied.
pub(super) const PIPES_MAX: usize = 64;

/// What a pipe is asked to hold. One user may have so much in pipes and no more, so it can be less.
const PIPE_BYTES: usize = 512 * 1024;

/// What every pipe holds.
const PIPE_BYTES_MIN: usize = 64 * 1024;

/// All pipes of a router.
#[derive(Debug, Clone)]
pub(super) struct Pipes {
    /// Locked for a push or a pop, by connections on any thread.
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Debug)]
struct Shelf {
    free: Vec<Pipe>,
    unmade: usize,
}

/// A pipe with what is in it.
#[derive(Debug)]
pub(super) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
    filled: usize,
}

impl Pipes {
    pub(super) fn new(most: usize) -> Self {
        let shelf = Shelf { free: Vec::new(), unmade: most };
        Self { shelf: Arc::new(Mutex::new(shelf)) }
    }

    /// An empty pipe, if there is one to be had.
    pub(super) fn take(&self) -> Option<Pipe> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = shelf.free.pop() {
            return Some(pipe);
        }
        shelf.unmade = shelf.unmade.checked_sub(1)?;
        let made = Pipe::make();
        if made.is_none() {
            shelf.unmade += 1;
        }
        made
    }

    /// Takes a pipe back. One in which something is left is of no use to others.
    pub(super) fn give_back(&self, pipe: Pipe) {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if pipe.filled == 0 {
            shelf.free.push(pipe);
        } else {
            shelf.unmade += 1;
        }
    }
}

impl Pipe {
    fn make() -> Option<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        let capacity = fcntl_setpipe_size(&write, PIPE_BYTES).unwrap_or(PIPE_BYTES_MIN);
        Some(Self { read, write, capacity, filled: 0 })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Fills it from a socket, if it is empty; 0 is the socket's end.
    pub(super) fn fill(&mut self, from: &TcpStream) -> io::Result<usize> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = from.try_io(Interest::READABLE, || {
            Ok(splice(from, None, &self.write, None, self.capacity, flags)?)
        })?;
        self.filled += moved;
        Ok(moved)
    }

    /// Empties it into a socket, as far as that takes it.
    pub(super) fn empty(&mut self, to: &TcpStream) -> io::Result<()> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = to.try_io(Interest::WRITABLE, || {
            Ok(splice(&self.read, None, to, None, self.filled, flags)?)
        })?;
        self.filled = self.filled.saturating_sub(moved);
        Ok(())
    }

    /// Takes out what is in it.
    pub(super) fn into_bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.filled];
        File::from(self.read).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
