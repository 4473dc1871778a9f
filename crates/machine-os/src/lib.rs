//! The real machine: builds on its disk, and its processes, each with its tree in a *shim*.
//!
//! A shim is a small process of its own, one per workload: this very program started again, in [`shim::main`]. It owns the
//! workload's tree, its output and its exit status, and it outlives the engine: whatever becomes of that, workloads notice
//! nothing. The next engine finds the shims by their folders and takes hold of them (the port's `adopt`).
//!
//! [`shim`] is one side of the words that the two exchange, `engine` the other, `entry` the folder between them, and nothing
//! else knows how a workload is held.
//!
//! A shim that is killed takes nothing along. Its engine, or the next one, kills what is left of the workload, which is found
//! by its control group, by a mark in its environment and by its session; that counts as an end of an unknown kind.
//!
//! A build is fetched into a part that outlives interruptions, looked through, unpacked aside and renamed into place whole
//! (`install`). What the machine's owner allows is in [`Bounds`].
//!
//! Limits: [`inventory::Limits::files`] is set for the workload. Memory and tasks need a control group of the workload's
//! own with those controllers; where there is none, the workload's log says so.

mod aside;
mod bounds;
mod check;
mod data;
mod disk;
mod engine;
mod entry;
mod host;
mod install;
mod obstacles;
mod output;
mod proc;
mod routes;
mod sealed;
pub mod shim;
mod standing;
mod troubles;
mod user;

pub use aside::set_aside;
pub use bounds::{Addresses, Allowed, Bounds, Listen, ListenFault, Network, Users};
pub use engine::OsProcess;
pub use host::{OpenError, OsConfig, OsHost, draw};
pub use routes::RouterConfig;
pub use standing::{Life, Standing, standing};
