//! The port on a real machine: real processes, real sockets, real disks.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod adoption;
mod checks;
mod disk;
mod engine;
mod installs;
mod killed;
mod machine;
mod notify;
mod output;
mod processes;
mod shims;
