//! Who is at the other end of the socket, as the kernel says it.

use std::io;

use rustix::process::{Uid, geteuid};
use thiserror::Error;
use tokio::net::UnixStream;

/// Why the other end is not spoken with. It holds on both sides: nobody is served who is somebody else, and nobody is
/// believed.
#[derive(Debug, Error)]
pub enum PeerError {
    /// Another user than this process's own, and not root.
    #[error("user {uid} is neither user {own} nor root")]
    OtherUser {
        /// Who is at the other end.
        uid: u32,
        /// Whose this process is.
        own: u32,
    },
    /// The kernel does not say.
    #[error("it is not known who is at the other end")]
    Unknown(#[source] io::Error),
}

/// Refuses whoever is neither this process's user nor root.
pub(crate) fn check(stream: &UnixStream) -> Result<(), PeerError> {
    let uid = stream.peer_cred().map_err(PeerError::Unknown)?.uid();
    check_user(uid, geteuid().as_raw())
}

fn check_user(uid: u32, own: u32) -> Result<(), PeerError> {
    if uid == own || uid == Uid::ROOT.as_raw() {
        return Ok(());
    }
    Err(PeerError::OtherUser { uid, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_user_and_root_are_spoken_with() {
        for (uid, own, is_fine) in [(7, 7, true), (0, 7, true), (8, 7, false), (7, 0, false)] {
            assert_eq!(check_user(uid, own).is_ok(), is_fine, "{uid} and {own}");
        }
    }
}
