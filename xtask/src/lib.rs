//! The project's chores: what CI runs, and what everybody runs at home before a commit.
//!
//! Each chore is one module. [`tidy`] is public because it also runs as an ordinary test.

mod bench;
mod cargo_deny;
mod check;
mod cli;
mod mutants;
mod out;
mod process;
mod test;
pub mod tidy;
mod vectors;
pub mod workspace;

pub use cli::{Chores, run};
