//! Replays recorded behaviour over the crates that claim to agree with it.
//!
//! A *vector file* holds one case a line: what went in, and what came out of the reference.
//! [`files`] reads them, [`replay`] runs one case and says where the outcome differs. Each suite
//! has a strict decoder and a runner in a file of its own, listed in [`suites`]; the tests of the
//! judged crates and the `vectors` chore share them.

mod about_machine;
mod book;
mod disagreement;
#[cfg(feature = "failed")]
mod failed;
#[cfg(feature = "failed")]
mod failed_world;
mod file;
mod gate;
mod health;
mod observations;
mod observed;
mod reasons;
mod suite;

pub use book::replay_book;
pub use disagreement::{Difference, Disagreement};
pub use file::{Case, ReadError, VectorFile, files};
pub use suite::{Replayed, Suite, replay, suites};
