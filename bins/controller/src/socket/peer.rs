//! Who is at the other end of the socket, as the kernel says it.

use std::{fmt, fs};

use rustix::process::{Uid, geteuid};
use tokio::net::UnixStream;

/// A person or a program that asked for something; kept with everything it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sender {
    uid: u32,
    name: Option<String>,
}

/// Why somebody is not listened to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerError {
    /// Another user than the controller's own, and not root.
    #[error("only the user who runs the controller, and root, may ask it; you are user {uid}")]
    OtherUser {
        /// Which user.
        uid: u32,
    },
    /// The kernel does not say.
    #[error("it is not known who asks")]
    Unknown(#[source] std::io::Error),
}

impl Sender {
    /// Whoever connected, if it is somebody who may ask.
    pub(crate) fn of(stream: &UnixStream) -> Result<Self, PeerError> {
        let uid = stream.peer_cred().map_err(PeerError::Unknown)?.uid();
        Self::allowed(uid, geteuid().as_raw())?;
        // The names that a directory service gives are not looked up: the number is what counts.
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Ok(Self { uid, name: name_of(uid, &users).map(str::to_owned) })
    }

    fn allowed(uid: u32, own: u32) -> Result<(), PeerError> {
        if uid == own || uid == Uid::ROOT.as_raw() {
            return Ok(());
        }
        Err(PeerError::OtherUser { uid })
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "user {}", self.uid),
        }
    }
}

/// The name of a user in the text of `/etc/passwd`.
fn name_of(uid: u32, users: &str) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_user_and_root_may_ask() {
        for (uid, own, may) in [(7, 7, true), (0, 7, true), (8, 7, false), (7, 0, false)] {
            assert_eq!(Sender::allowed(uid, own).is_ok(), may, "{uid} asks {own}");
        }
    }

    #[test]
    fn a_user_is_named_where_the_name_is_known() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_of(1000, users), Some("ann"));
        assert_eq!(name_of(7, users), None);
        assert_eq!(Sender { uid: 7, name: None }.to_string(), "user 7");
    }
}
