//! The two halves of a connection: frames in, frames out. Whatever waits here can be given up and begun again, so one
//! task minds both.

use std::io;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep_until};

use crate::frame::{self, Frame, FrameError, MAGIC, VERSION};

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// How much may be left to be written before nothing more is taken in to be sent. Enough to keep the other side busy,
/// and little, so that what waits does so in the queues of the bus.
const UNWRITTEN_BYTES: usize = 64 * 1024;

/// How long the other side is heard out after it takes nothing any more: what it said last may be on its way.
pub(crate) const LAST_WORD: Duration = Duration::from_secs(1);

/// Why nothing more comes from the other side.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    /// What it says first is no hello.
    #[error("the other side does not speak as this bus does")]
    NoHello,
    /// What it says is no frame.
    #[error("what the other side says cannot be understood")]
    Frame(#[from] FrameError),
    /// It is gone.
    #[error("the other side hung up")]
    HungUp,
    /// The socket failed.
    #[error("the socket failed")]
    Io(#[source] io::Error),
}

/// Both halves of a connected socket.
pub(crate) fn halves(stream: UnixStream) -> (Incoming<OwnedReadHalf>, Outgoing<OwnedWriteHalf>) {
    let (from, to) = stream.into_split();
    (Incoming::new(from), Outgoing::new(to))
}

/// The half that is read.
#[derive(Debug)]
pub(crate) struct Incoming<R> {
    from: R,
    buffer: Vec<u8>,
    /// How many bytes of the buffer have been dealt with.
    taken: usize,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    fn new(from: R) -> Self {
        Self { from, buffer: Vec::new(), taken: 0 }
    }

    /// The version that the other side speaks.
    pub(crate) async fn hello(&mut self) -> Result<u8, ReadError> {
        loop {
            let said = &self.buffer[self.taken..];
            let begins = said.len().min(MAGIC.len());
            if said[..begins] != MAGIC[..begins] {
                return Err(ReadError::NoHello);
            }
            if let Some(version) = said.get(MAGIC.len()) {
                self.taken += MAGIC.len() + 1;
                return Ok(*version);
            }
            self.fill().await?;
        }
    }

    /// The next frame. Safe to cancel: a frame is taken only when it is returned.
    pub(crate) async fn next<F: Frame>(&mut self) -> Result<F, ReadError> {
        loop {
            if let Some((frame, length)) = frame::first(&self.buffer[self.taken..])? {
                self.taken += length;
                return Ok(frame);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        if self.buffer.is_empty() {
            // The room that one large frame took is not kept.
            self.buffer.shrink_to(READ_BYTES);
        }
        self.buffer.reserve(READ_BYTES);
        match self.from.read_buf(&mut self.buffer).await {
            Ok(0) => Err(ReadError::HungUp),
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error) => Err(ReadError::HungUp),
            Err(error) => Err(ReadError::Io(error)),
        }
    }
}

/// The half that is written.
#[derive(Debug)]
pub(crate) struct Outgoing<W> {
    to: W,
    buffer: Vec<u8>,
    /// How many bytes of the buffer are written.
    written: usize,
    /// When writing failed. Nothing is kept to be written from then on.
    failed: Option<Instant>,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    /// Its first bytes are the hello.
    fn new(to: W) -> Self {
        let mut buffer = MAGIC.to_vec();
        buffer.push(VERSION);
        Self { to, buffer, written: 0, failed: None }
    }

    /// Whether more should be taken in to be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.buffer.len() - self.written < UNWRITTEN_BYTES
    }

    /// Whether all is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.len() == self.written
    }

    /// Has `frame` written after all that was pushed before.
    pub(crate) fn push(&mut self, frame: &impl Frame) {
        if self.failed.is_some() {
            return;
        }
        if self.written >= UNWRITTEN_BYTES {
            self.buffer.drain(..self.written);
            self.written = 0;
        }
        frame::append(frame, &mut self.buffer);
    }

    /// Writes some of what was pushed. Safe to cancel.
    pub(crate) async fn write(&mut self) {
        match self.to.write(&self.buffer[self.written..]).await {
            Ok(bytes) if bytes > 0 => self.written += bytes,
            // The other side is gone, or as good as gone. What it said before can still be read.
            Ok(_) | Err(_) => {
                self.failed = Some(Instant::now());
                self.written = self.buffer.len();
            }
        }
        if self.is_empty() {
            self.buffer.clear();
            self.buffer.shrink_to(UNWRITTEN_BYTES);
            self.written = 0;
        }
    }

    /// When the other side, which takes nothing any more, has been heard out.
    pub(crate) fn heard_out_at(&self) -> Option<Instant> {
        self.failed.map(|failed| failed + LAST_WORD)
    }

    /// Writes all that was pushed, and says that nothing more comes. Bounded in time by the caller.
    pub(crate) async fn finish(&mut self) {
        while !self.is_empty() {
            self.write().await;
        }
        // Whoever is gone need not be told.
        let _ = self.to.shutdown().await;
    }
}

/// Waits for this moment, for ever if there is none.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
