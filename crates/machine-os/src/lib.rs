//! The real machine: builds on its disk, and its processes, each with its tree on a *leash*.
//!
//! A leash is a tiny process of its own, one per workload: this very program started again, in [`leash::main`]. It owns
//! the workload's tree, its output and its exit status, and holds a pipe from the engine. When that pipe closes, because
//! the engine let go of the process or died by whatever cause, the leash kills the whole tree and ends. So nothing that
//! an engine started outlives it.
//!
//! The leash is the seam at which a shim, which outlives the engine, can take its place: [`leash`] is one side of the
//! words they exchange, `engine` the other, and nothing else knows how a workload is held.
//!
//! Limits: [`inventory::Limits::files`] is set for the workload. Memory and tasks are *not* enforced here: both need a
//! control group of the workload's own.

mod check;
mod engine;
mod host;
mod install;
pub mod leash;
mod listeners;
mod output;
mod proc;
mod user;

pub use engine::OsProcess;
pub use host::{OpenError, OsConfig, OsHost, draw};
