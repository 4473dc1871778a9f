//! The bus over a socket: real sockets, real processes, and peers that do what they should not.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod closing;
mod contract;
mod hostile;
mod peer;
mod processes;
mod raw;
mod reconnecting;
mod served;
mod socket_file;
mod stalled;
