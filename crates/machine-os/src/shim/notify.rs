//! Hearing what a workload says of itself: the receiving end of `sd_notify`.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, UCred, recvmsg};

use crate::host::monotonic;
use crate::proc;
use crate::shim::words::{Fact, Readiness};

/// Bytes of a message that are looked at, and of its own words that are kept.
const MESSAGE_BYTES_MAX: usize = 4096;
const WORDS_BYTES_MAX: usize = 300;

/// How many messages are taken in at a time: anybody on the machine may talk, and there is more to do than to hear one who
/// never stops.
const MESSAGES_MAX: usize = 64;

/// The socket of one workload, and what it has said.
#[derive(Debug)]
pub(super) struct Ears {
    socket: UnixDatagram,
    address: String,
    /// Who may speak, by user.
    uid: u32,
    /// How often it is told to give a sign of life.
    watchdog: Option<Duration>,
    said: Said,
}

/// What it has said until now.
#[derive(Debug, Default)]
struct Said {
    is_ready: bool,
    /// It asked to be treated as one that gives no sign of life, and has not given one since.
    is_triggered: bool,
    /// When it last said that it is ready or alive.
    alive_at: Duration,
    words: String,
}

impl Ears {
    /// Listens on a name that is not in the file system: a workload of another user reaches it, whatever folders may be in
    /// its way, and nothing of it stays.
    pub(super) fn open(name: &str, uid: u32, watchdog: Option<Duration>) -> io::Result<Self> {
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        socket.set_nonblocking(true)?;
        set_socket_passcred(&socket, true)?;
        let address = format!("@{name}");
        Ok(Self { socket, address, uid, watchdog, said: Said::default() })
    }

    /// The variables that tell the workload how it is heard.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let watchdog = self.watchdog.map(|bound| ("WATCHDOG_USEC", bound.as_micros().to_string()));
        [("NOTIFY_SOCKET", self.address.clone())].into_iter().chain(watchdog).collect()
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes in what was said. What is left then wakes the main thread again.
    pub(super) fn hear(&mut self) {
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        for _ in 0..MESSAGES_MAX {
            let Ok((length, from)) = self.receive(&mut bytes) else { return };
            if from.is_some_and(|from| self.may_speak(from)) {
                let message = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default());
                self.said.take(&message, monotonic());
            }
        }
    }

    /// What an engine is told of it.
    pub(super) fn status(&self) -> Fact {
        let readiness = self.said.readiness(self.watchdog, monotonic());
        Fact::Status { readiness, words: self.said.words.clone() }
    }

    /// Only its own tree. Who is gone already, as a command that says one thing and ends, is known by its user.
    fn may_speak(&self, from: UCred) -> bool {
        let pid = from.pid.as_raw_nonzero().get().unsigned_abs();
        proc::descends(pid, std::process::id()).unwrap_or(from.uid.as_raw() == self.uid)
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

impl Said {
    fn take(&mut self, message: &str, now: Duration) {
        for line in message.lines() {
            match line.split_once('=') {
                Some(("READY", "1")) => {
                    self.is_ready = true;
                    self.alive_at = now;
                }
                Some(("WATCHDOG", "1")) => {
                    self.is_triggered = false;
                    self.alive_at = now;
                }
                Some(("WATCHDOG", "trigger")) => self.is_triggered = true,
                Some(("STATUS", words)) => {
                    let end = words.floor_char_boundary(WORDS_BYTES_MAX);
                    self.words = words.get(..end).unwrap_or_default().to_owned();
                }
                // There is much more that can be said, and nothing of it is asked for.
                Some(_) | None => {}
            }
        }
    }

    fn readiness(&self, watchdog: Option<Duration>, now: Duration) -> Readiness {
        if self.is_triggered {
            return Readiness::Triggered;
        }
        if !self.is_ready {
            return Readiness::NotReady;
        }
        Readiness::Ready { quiet_for: watchdog.map(|_| now.saturating_sub(self.alive_at)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_stranger_is_not_heard() {
        let name = format!("bellwether-test-{}", std::process::id());
        let me = rustix::process::geteuid().as_raw();
        let mut ears = Ears::open(&name, me, None).unwrap();
        let to = SocketAddr::from_abstract_name(&name).unwrap();
        UnixDatagram::unbound().unwrap().send_to_addr(b"READY=1", &to).unwrap();
        ears.hear();
        assert!(!ears.said.is_ready, "this process does not descend from itself");
    }

    #[test]
    fn unknown_words_are_passed_over_and_long_ones_cut() {
        let mut said = Said::default();
        said.take("MAINPID=7\nSTATUS=warming up\nnonsense\nREADY=0\nWATCHDOG=2", SECOND);
        assert_eq!(said.readiness(None, SECOND), Readiness::NotReady);
        assert_eq!(said.words, "warming up");
        said.take(&format!("READY=1\nSTATUS={}", "é".repeat(1_000)), SECOND);
        assert_eq!(said.readiness(None, SECOND), Readiness::Ready { quiet_for: None });
        assert!(said.words.len() <= WORDS_BYTES_MAX && said.words.starts_with('é'));
    }

    #[test]
    fn time_counts_from_the_last_sign_of_life() {
        let mut said = Said::default();
        let quiet = |said: &Said, now: u32| said.readiness(Some(SECOND), SECOND * now);
        let ready = |seconds: u32| Readiness::Ready { quiet_for: Some(SECOND * seconds) };
        said.take("WATCHDOG=1", SECOND);
        assert_eq!(quiet(&said, 2), Readiness::NotReady, "alive is not ready");
        said.take("READY=1", SECOND * 3);
        assert_eq!(quiet(&said, 5), ready(2));
        said.take("STATUS=at work", SECOND * 6);
        assert_eq!(quiet(&said, 7), ready(4), "only what is meant as one is a sign of life");
        said.take("WATCHDOG=1", SECOND * 8);
        assert_eq!(quiet(&said, 9), ready(1));
        said.take("WATCHDOG=trigger", SECOND * 9);
        assert_eq!(quiet(&said, 9), Readiness::Triggered);
        said.take("READY=1", SECOND * 10);
        assert_eq!(quiet(&said, 10), Readiness::Triggered, "ready is not well again");
        said.take("WATCHDOG=1", SECOND * 11);
        assert_eq!(quiet(&said, 11), ready(0));
    }
}
