//! The engine's side of a leash: starting it, hearing it, letting it go.

mod leashed;
mod process;

pub(crate) use leashed::{LeashError, Leashed};
pub use process::OsProcess;
pub(crate) use process::dial;
