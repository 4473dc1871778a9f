//! The engines that are connected to a shim: mostly one, none while it is restarted.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::net::sockopt::socket_peercred;

use crate::shim::words::{Fact, Order};

/// More engines at a time than there is a reason for.
const ENGINES_MAX: usize = 8;

/// More bytes than any order has.
const ORDER_BYTES_MAX: usize = 256;

/// One connected engine.
#[derive(Debug)]
pub(super) struct Engine {
    stream: UnixStream,
    unread: Vec<u8>,
}

impl Engine {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, unread: Vec::new() })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Says something. One that does not take it in is an engine that does not listen, and must not hold up anything.
    pub(super) fn say(&mut self, fact: &Fact) -> io::Result<()> {
        self.stream.write_all(format!("{fact}\n").as_bytes())
    }

    /// What it orders now; an error when it is gone or talks nonsense without an end.
    pub(super) fn orders(&mut self) -> io::Result<Vec<Order>> {
        let mut bytes = [0; ORDER_BYTES_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.unread.extend_from_slice(bytes.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut orders = Vec::new();
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            // An order that means nothing here is of a newer engine; there is no use in guessing.
            let order =
                std::str::from_utf8(&line).ok().map(|line| line.trim_end().parse::<Order>());
            orders.extend(order.and_then(Result::ok));
        }
        if self.unread.len() > ORDER_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(orders)
    }
}

impl Drop for Engine {
    /// Also where the descriptor is held twice, the other end must see that nobody listens here any more.
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Takes the next connection: only of this process's own user, or of root.
pub(super) fn accept(listener: &UnixListener, already: usize) -> io::Result<Engine> {
    let (stream, _) = listener.accept()?;
    let peer = socket_peercred(&stream)?.uid;
    if already >= ENGINES_MAX || !(peer.is_root() || peer == rustix::process::geteuid()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Engine::new(stream)
}
