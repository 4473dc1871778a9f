//! Secret keys in files.
//!
//! A file has one line: a seed in the form of NATS keys (`SO…` an operator's, `SC…` a controller's, `SU…` a
//! machine's), as the tools of NATS write it. Whoever can read it can speak for its owner, so it is made for its
//! owner alone and refused where others can read it.
//!
//! - A seed is never printed, and is in no error and no `Debug`. What held it in memory is overwritten when it is dropped.
//! - A file is there whole or not at all, and none is ever written over: a key that is lost cannot be had again.
//! - Randomness comes from the kernel's secure source, nothing weaker.

mod file;
mod key;

pub use file::{KeyFileError, create, load};
pub use key::{BadSeed, NotDrawn, SecretKey};
