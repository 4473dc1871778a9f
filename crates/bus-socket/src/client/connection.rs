//! How a client's connection stands, and why there is none.

use std::io::{self, ErrorKind};
use std::sync::Arc;

use thiserror::Error;

use crate::frame::{FrameError, VERSION};
use crate::link::ReadError;
use crate::peer::PeerError;

/// How a client's connection stands.
#[derive(Debug, Clone)]
pub enum Connection {
    /// The first attempt is under way.
    Connecting,
    /// There is one, and everything that is subscribed to and served here stands.
    Connected,
    /// There is none, for this reason. It is tried again all the time.
    Lost(Arc<ConnectionError>),
    /// The bus was closed here, for good.
    Closed,
}

impl Connection {
    /// Whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        match self {
            Self::Connected => true,
            Self::Connecting | Self::Lost(_) | Self::Closed => false,
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectionError {
    /// No process has the bus there.
    #[error("nobody listens on the socket")]
    NobodyListens(#[source] io::Error),
    /// The socket is there, or might be, and cannot be used.
    #[error("the socket cannot be reached")]
    Unreachable(#[source] io::Error),
    /// A process of somebody else listens there.
    #[error("the server is not trusted")]
    Peer(#[from] PeerError),
    /// Whatever listens there is no server of this bus.
    #[error("whoever listens on the socket is no bus")]
    NoBus,
    /// The server is of another version.
    #[error("the server speaks version {theirs}, and only {VERSION} is known here")]
    Version {
        /// Its version.
        theirs: u8,
    },
    /// The server says nothing.
    #[error("the server does not answer")]
    Silent,
    /// The server ended the connection, and said why.
    #[error("the server ended the connection: {0}")]
    Dismissed(String),
    /// The server says what is no frame.
    #[error("what the server says cannot be understood")]
    Frame(#[source] FrameError),
    /// The server is gone.
    #[error("the server hung up")]
    HungUp,
    /// The socket failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
}

impl ConnectionError {
    /// Why a socket could not be connected to.
    pub(super) fn reaching(error: io::Error) -> Self {
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) {
            Self::NobodyListens(error)
        } else if error.kind() == ErrorKind::WouldBlock {
            // So many wait there to be accepted that no more can.
            Self::Silent
        } else {
            Self::Unreachable(error)
        }
    }
}

impl From<ReadError> for ConnectionError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoHello => Self::NoBus,
            ReadError::Frame(error) => Self::Frame(error),
            ReadError::HungUp => Self::HungUp,
            ReadError::Io(error) => Self::Io(error),
        }
    }
}
