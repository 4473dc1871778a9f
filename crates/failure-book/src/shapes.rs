//! How entries are written in JSON: the same in a journal's rows and in the interchange document.

pub(crate) mod read;
pub(crate) mod write;
