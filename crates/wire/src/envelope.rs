//! The envelope around every message.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The version of all messages that this code writes and reads.
pub const VERSION: u32 = 1;

/// The largest message in bytes, on both sides of the bus.
pub const BYTES_MAX: usize = 512 * 1024;

/// A message with who sent it and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope<T> {
    /// The version of the body's meaning; [`VERSION`] in everything that this code writes.
    pub version: u32,
    /// Unique among its sender's messages: a repeat of a message keeps the id.
    pub id: String,
    /// Who speaks: `controller`, a machine's name, or a person's.
    pub sender: String,
    /// When it was sent, by the sender's clock: for people, never for decisions.
    pub sent_at: DateTime<Utc>,
    /// The message.
    pub body: T,
}

/// Why bytes are no message.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Longer than [`BYTES_MAX`].
    #[error("the message has {bytes} bytes, more than the {BYTES_MAX} allowed")]
    TooLarge {
        /// How long it is.
        bytes: usize,
    },
    /// Not an envelope.
    #[error("the message is no envelope")]
    NoEnvelope(#[source] serde_json::Error),
    /// An envelope of a version that this code does not know.
    #[error(
        "the message of `{sender}` has version {version}, and only {VERSION} is known here; upgrade the older side"
    )]
    UnknownVersion {
        /// The version found.
        version: u32,
        /// Who sent it.
        sender: String,
    },
    /// The envelope is fine and its body is not what was expected.
    #[error("the body of `{sender}`'s message cannot be read")]
    Body {
        /// Who sent it.
        sender: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl<T> Envelope<T> {
    /// A message of the present version.
    pub fn new(id: String, sender: String, sent_at: DateTime<Utc>, body: T) -> Self {
        Self { version: VERSION, id, sender, sent_at, body }
    }

    /// The bytes to send. Fails when they are more than [`BYTES_MAX`], since no receiver would take them.
    pub fn encode(&self) -> Result<Vec<u8>, Unreadable>
    where
        T: Serialize,
    {
        let bytes = serde_json::to_vec(self).map_err(Unreadable::NoEnvelope)?;
        check_size(bytes.len())?;
        Ok(bytes)
    }

    /// Reads bytes. The version is looked at before the body, so that a message of a later version is refused for
    /// its version and not for a field that it spells otherwise.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable>
    where
        T: DeserializeOwned,
    {
        check_size(bytes.len())?;
        let outer: Envelope<serde_json::Value> =
            serde_json::from_slice(bytes).map_err(Unreadable::NoEnvelope)?;
        let Envelope { version, id, sender, sent_at, body } = outer;
        if version != VERSION {
            return Err(Unreadable::UnknownVersion { version, sender });
        }
        match serde_json::from_value(body) {
            Ok(body) => Ok(Self { version, id, sender, sent_at, body }),
            Err(source) => Err(Unreadable::Body { sender, source }),
        }
    }
}

fn check_size(bytes: usize) -> Result<(), Unreadable> {
    if bytes > BYTES_MAX { Err(Unreadable::TooLarge { bytes }) } else { Ok(()) }
}
