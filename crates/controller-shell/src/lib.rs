//! Gathers facts, runs the controller's core, carries out its decisions.
//!
//! One task owns the core. Messages, answers, requests and ticks come to it one after another; after each handful it asks
//! the core for what to do until there is nothing more, and walks each [`Step`](controller_core::Step) in its order: land,
//! then tell and send. It decides nothing itself, and is generic over bus, store, clock and ids, so that a simulation can
//! drive the very same code.

mod intake;
mod of_machine;
mod ports;
mod restore;
mod serve;
mod walk;

pub use ports::{Clock, Ids};
pub use restore::{RestoreError, restore};
pub use serve::{Config, Controller, Gone, Handle, StartError};
