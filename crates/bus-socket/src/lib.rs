//! The bus between the processes of one machine, over a Unix socket.
//!
//! One process has the bus itself, usually a [`bus::InProcessBus`], and serves it with a [`SocketServer`]. The others
//! hold a [`SocketBus`], which is on that bus as long as there is a connection, and comes back by itself after it was
//! lost.
//!
//! | file | what is there |
//! |---|---|
//! | `place` | where the socket is: made, reached and removed, however long its path |
//! | `peer` | who is at the other end |
//! | `frame` | what goes over the socket, to the byte |
//! | `link` | the two halves of a connection: frames in, frames out |
//! | `server` | accepts connections; `server/remote` does on the bus what one of them asks for |
//! | `client` | the port; `client/keeper` has a connection or makes one, `client/conversation` is one |
//!
//! What holds:
//!
//! - **Nobody waits for a reader.** What is on its way to a process that does not read stays in the queues of the
//!   bus, which drop the oldest. An answer is never dropped while its connection lasts.
//! - **Memory is bounded on both sides.** A side takes in something to send only while little is left to be written,
//!   and the server reads from a client only while that client reads.
//! - **What cannot be read ends the connection**, with the reason said to the other side, and touches no other one.
//! - **An unlike version is refused by its first bytes**, and nothing after them is read.

mod client;
mod frame;
mod link;
mod peer;
mod place;
mod server;

pub use client::{Connection, ConnectionError, SocketBus, TooManyRegistrations};
pub use frame::FrameError;
pub use peer::PeerError;
pub use place::BindError;
pub use server::SocketServer;
