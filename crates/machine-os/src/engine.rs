//! The engine's side of a shim: starting it, finding it again, hearing it, and cleaning up after one that was killed.

mod adopt;
mod lost;
mod process;
mod remains;
mod shimmed;
mod start;

pub(crate) use adopt::{Found, adopt};
pub use process::OsProcess;
pub(crate) use process::dial;
pub(crate) use shimmed::Shimmed;
pub(crate) use start::{ShimError, stand, tether};
