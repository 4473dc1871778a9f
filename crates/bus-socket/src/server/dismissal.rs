//! Why the server ends a connection, as the other side is told.

use std::error::Error as _;

use thiserror::Error;
use tokio::io::AsyncWrite;
use tokio::time::timeout;

use super::CONNECTIONS_MAX;
use super::remote::{HANDED_MAX, HELLO_WITHIN};
use crate::client::REGISTRATIONS_MAX;
use crate::frame::{FrameError, ToClient, VERSION};
use crate::link::{LAST_WORD, Outgoing};
use crate::peer::PeerError;

/// Why the server ends a connection.
#[derive(Debug, Error)]
pub(super) enum Dismissal {
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error("{CONNECTIONS_MAX} connections are open, and there are no more")]
    TooManyConnections,
    #[error("no hello in {} s", HELLO_WITHIN.as_secs())]
    NoHelloInTime,
    #[error("what was said first is no hello")]
    NoHello,
    #[error("version {theirs} is spoken, and only {VERSION} is known here")]
    Version { theirs: u8 },
    #[error("what was said cannot be understood")]
    Frame(#[source] FrameError),
    #[error("the number {0} is given twice")]
    GivenTwice(u64),
    #[error("{REGISTRATIONS_MAX} subscriptions and servings stand, and there are no more")]
    TooManyRegistrations,
    #[error("the bus cannot be listened to")]
    NoRegistration(#[source] bus::Source),
    #[error("{HANDED_MAX} requests were handed over and never answered")]
    TooManyUnanswered,
    #[error("the bus is closed")]
    BusClosed,
}

impl Dismissal {
    /// Says goodbye, to whoever listens soon.
    pub(super) async fn tell(&self, outgoing: &mut Outgoing<impl AsyncWrite + Unpin>) {
        // The hello says the version, in every version, and a frame may mean anything there.
        if !matches!(self, Self::Version { .. }) {
            let why = match self.source() {
                Some(source) => format!("{self}: {source}"),
                None => self.to_string(),
            };
            outgoing.push(&ToClient::Goodbye { why });
        }
        let _ = timeout(LAST_WORD, outgoing.finish()).await;
    }
}
