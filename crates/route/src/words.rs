//! What an engine and a router say to each other, and how it lies on their socket: each message is a length of four bytes,
//! the high ones first, and so many bytes of JSON.
//!
//! ```text
//! engine                     router
//! hello              ──►
//!                    ◄──     welcome, or goodbye
//! set, drain, counts ──►
//!                    ◄──     answers, each with the number of what was asked; waiting, at any time
//!                    ◄──     goodbye, at any time the last
//! ```

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::counts::Counts;
use crate::table::{Fault, Table};

/// The version of these messages, and of those of a handover.
pub(crate) const PROTOCOL: u32 = 1;

/// The longest message in bytes: the largest table that there is a reason for.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The first message of whoever connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) role: Role,
}

/// Who connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Whoever says what the table is.
    Engine,
    /// A router that takes the place of this one.
    Heir,
}

/// A router that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The version of its program.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

/// What an engine asks, with a number that the answer has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    pub(crate) ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    Set(Table),
    Drain { backend: SocketAddr, limit: Duration },
    Counts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromRouter {
    Welcome(About),
    Answer { id: u64, answer: Answer },
    Waiting { at: SocketAddr },
    Goodbye(Goodbye),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Set(BTreeMap<SocketAddr, Fault>),
    Drained(Drained),
    Counts(Counts),
}

/// How waiting for the last connection to a backend ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drained {
    /// None is left, and none was cut.
    Empty,
    /// So many were left at the limit, and were cut.
    Cut(u64),
}

/// Why a router ends a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Goodbye {
    /// Another engine has connected; the newest is heeded.
    #[error("another engine has connected to the router, and the newest is heeded")]
    Replaced,
    /// Another router takes its place, at the same socket.
    #[error("another router takes its place: connect again")]
    Moved,
    /// It was asked to end.
    #[error("the router ends")]
    Ends,
    /// It does not speak this version.
    #[error("the router speaks version {own} of the protocol, and not {other}")]
    OtherProtocol {
        /// The router's.
        own: u32,
        /// The other's.
        other: u32,
    },
    /// Neither the router's own user nor root.
    #[error("user {uid} is neither the router's own user nor root")]
    NotAllowed {
        /// Who.
        uid: u32,
    },
    /// What was said cannot be read. Nothing came of it.
    #[error("a message cannot be read: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// What it says is not read, or too much is asked at a time.
    #[error("{why}")]
    TooSlow {
        /// What is not read.
        why: String,
    },
}

/// Why there is no message.
#[derive(Debug, Error)]
pub(crate) enum MessageError {
    #[error("a message of {bytes} bytes is too long, the most is {MESSAGE_BYTES_MAX}")]
    TooLong { bytes: usize },
    #[error("a message has no such form: {0}")]
    Form(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A message as it lies on the socket.
pub(crate) fn bytes(message: &impl Serialize) -> Result<Vec<u8>, MessageError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > MESSAGE_BYTES_MAX {
        return Err(MessageError::TooLong { bytes: length });
    }
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    bytes.iter_mut().zip(length).for_each(|(to, from)| *to = from);
    Ok(bytes)
}

/// The next message; none when the other side has said all. Not a byte after it is read.
pub(crate) async fn next<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> Result<Option<T>, MessageError> {
    let mut length = [0; 4];
    // An end before the first byte is an end, one after it breaks a message off.
    if from.read(&mut length[..1]).await? == 0 {
        return Ok(None);
    }
    from.read_exact(&mut length[1..]).await?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Err(MessageError::TooLong { bytes: length });
    }
    let mut body = Vec::new();
    // Memory grows with what comes, and not with what is promised.
    let read = from.take(length as u64).read_to_end(&mut body).await?;
    if read < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_are_these_bytes() {
        let hello = Hello { protocol: 1, role: Role::Engine };
        let expected = b"\0\0\0\x20{\"protocol\":1,\"role\":\"engine\"}";
        let written = bytes(&hello).unwrap();
        assert_eq!(written[4..], expected[4..]);
        assert_eq!(written[..4], u32::to_be_bytes(written.len() as u32 - 4));
        let twice = [written.clone(), written].concat();
        let mut from = twice.as_slice();
        assert_eq!(next(&mut from).await.unwrap(), Some(hello));
        assert_eq!(next(&mut from).await.unwrap(), Some(hello));
        assert_eq!(next::<Hello>(&mut from).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_is_no_message_is_an_error() {
        for (bytes, part) in [
            (&b"\0\0"[..], "early eof"),
            (b"\0\0\0\x05{}", "end of file"),
            (b"\0\x40\0\x01", "4194305 bytes is too long"),
            (b"\0\0\0\x02{}", "missing field"),
            (b"\0\0\0\x02\xff\xff", "no such form"),
            (b"\0\0\0\0", "no such form"),
        ] {
            let mut from = bytes;
            let error = next::<Hello>(&mut from).await.unwrap_err().to_string();
            assert!(error.contains(part), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        let goodbye = Goodbye::Unreadable { why: "x".repeat(MESSAGE_BYTES_MAX) };
        assert!(matches!(bytes(&goodbye), Err(MessageError::TooLong { .. })));
    }
}
