//! Port for durable documents, and the store in memory.

mod key;
mod port;

pub use key::{KEY_BYTES_MAX, Key, KeyError, Prefix, SEGMENT_BYTES_MAX};
pub use port::{
    Batch, BatchError, Change, CommitError, DOCUMENT_BYTES_MAX, Document, Entry, Expect, Landed,
    ReadError, Revision, Source, Store,
};
