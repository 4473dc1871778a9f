//! Port for durable documents, and the store in memory.
//!
//! [`Store`] is the port; [`MemoryStore`] is its implementation for tests and simulations. Every
//! implementation runs the checks of `contract` (feature of the same name) in its own tests.

#[cfg(feature = "contract")]
pub mod contract;
mod key;
mod memory;
mod port;

pub use key::{KEY_BYTES_MAX, Key, KeyError, Prefix, SEGMENT_BYTES_MAX};
pub use memory::{Disk, Failure, Fault, MemoryStore};
pub use port::{
    Batch, BatchError, Change, CommitError, DOCUMENT_BYTES_MAX, Document, Entry, Expect, Landed,
    ReadError, Reserve, Revision, Source, Store,
};
