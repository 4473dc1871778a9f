//! Hearing what a workload says of itself: the receiving end of `sd_notify`.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, UCred, recvmsg};

use crate::proc;
use crate::shim::words::Readiness;

/// Bytes of a message that are looked at, and of its own words that are kept.
const MESSAGE_BYTES_MAX: usize = 4096;
const WORDS_BYTES_MAX: usize = 300;

/// The socket of one workload, and what it has said.
#[derive(Debug)]
pub(super) struct Ears {
    socket: UnixDatagram,
    address: String,
    /// Who may speak, by user.
    uid: u32,
    pub(super) readiness: Readiness,
    pub(super) words: String,
}

impl Ears {
    /// Listens on a name that is not in the file system: a workload of another user reaches it, whatever folders may be in
    /// its way, and nothing of it stays.
    pub(super) fn open(name: &str, uid: u32) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_nonblocking(true)?;
        set_socket_passcred(&socket, true)?;
        let address = format!("@{name}");
        let (readiness, words) = (Readiness::NotReady, String::new());
        Ok(Self { socket, address, uid, readiness, words })
    }

    /// What the workload is told in `NOTIFY_SOCKET`.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes in what was said.
    pub(super) fn hear(&mut self) {
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        while let Ok((length, from)) = self.receive(&mut bytes) {
            if from.is_some_and(|from| self.may_speak(from)) {
                let message = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default());
                self.take(&message);
            }
        }
    }

    /// Only its own tree. Who is gone already, as a command that says one thing and ends, is known by its user.
    fn may_speak(&self, from: UCred) -> bool {
        let pid = from.pid.as_raw_nonzero().get().unsigned_abs();
        let is_ours = || {
            let tree = proc::descendants(std::process::id()).unwrap_or_default();
            tree.iter().any(|one| one.pid == pid)
        };
        is_ours() || (from.uid.as_raw() == self.uid && proc::stat(pid).is_none())
    }

    fn take(&mut self, message: &str) {
        for line in message.lines() {
            match line.split_once('=') {
                Some(("READY", "1")) => self.readiness = Readiness::Ready,
                Some(("STATUS", words)) => {
                    let end = words.floor_char_boundary(WORDS_BYTES_MAX);
                    self.words = words.get(..end).unwrap_or_default().to_owned();
                }
                // There is much more that can be said, and nothing of it is asked for.
                Some(_) | None => {}
            }
        }
    }

    fn receive(&self, bytes: &mut [u8]) -> rustix::io::Result<(usize, Option<UCred>)> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(bytes)];
        let received = recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let mut from = None;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmCredentials(who) = message {
                from = Some(who);
            }
        }
        Ok((received.bytes, from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_tree_is_heard_and_unknown_words_are_passed_over() {
        let name = format!("bellwether-test-{}", std::process::id());
        let me = rustix::process::geteuid().as_raw();
        let mut ears = Ears::open(&name, me).unwrap();
        let to = SocketAddr::from_abstract_name(&name).unwrap();
        UnixDatagram::unbound().unwrap().send_to_addr(b"READY=1", &to).unwrap();
        ears.hear();
        assert_eq!(
            ears.readiness,
            Readiness::NotReady,
            "this process does not descend from itself"
        );
        ears.take("MAINPID=7\nSTATUS=warming up\nnonsense\nREADY=0");
        assert_eq!((ears.readiness, &*ears.words), (Readiness::NotReady, "warming up"));
        ears.take(&format!("READY=1\nSTATUS={}", "é".repeat(1_000)));
        assert_eq!(ears.readiness, Readiness::Ready);
        assert!(ears.words.len() <= WORDS_BYTES_MAX && ears.words.starts_with('é'));
    }
}
