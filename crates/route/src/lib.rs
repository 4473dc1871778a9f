//! The machine's listeners, in a process of their own: a *router* accepts on public addresses and forwards to where the
//! engine says, whatever becomes of the engine.
//!
//! | file | what is there |
//! |---|---|
//! | `table` | what a router is told to do, and what can be wrong with an address |
//! | `board`, `counts` | what becomes of each connection, decided and nothing done |
//! | `router` | the process: listeners, connections, engines, and handing over to another router |
//! | `words`, `passing` | what engine and router, and two routers, say to each other, to the byte |
//! | `place` | the router's own socket |
//! | `client`, `start` | the engine's end: asks a router, finds one, starts one |
//! | [`listeners`] | who listens where, as the kernel tells |
//!
//! What holds:
//!
//! - **A table in effect is in effect for every new connection** when it is answered. Connections that are open go on.
//! - **A connection is read only when it is forwarded**, and its bytes are read only as fast as the other side takes them.
//! - **A router that takes another's place has all of it**: listeners, connections that wait and that are open. Until it says
//!   that it has begun, the one before can go on as if nothing had been.
//! - **The newest engine is heeded**, and nobody but the own user and root.

mod board;
mod client;
mod counts;
pub mod listeners;
mod passing;
mod place;
mod router;
mod start;
mod table;
mod words;

pub use client::{AskError, ConnectError, Gone, RouterClient, Waiting};
pub use counts::{AddressCounts, BackendCounts, Counts};
pub use place::PlaceError;
pub use router::{BeginError, Config, Ended, Router};
pub use start::{READY, Start, StartError, find, start};
pub use table::{Fault, Refusal, Table, To};
pub use words::{About, Drained, Goodbye};
