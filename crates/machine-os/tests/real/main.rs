//! The port on a real machine: real processes, real sockets, real disks.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod adoption;
mod bounds;
mod checks;
mod collection;
mod damage;
mod disk;
mod engine;
mod installs;
mod interrupted;
mod killed;
mod room;

mod machine;
mod notify;
mod output;
mod processes;
mod shims;
