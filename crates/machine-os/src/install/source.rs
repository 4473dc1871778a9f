//! Where artifacts come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use names::Digest;

/// A place that has artifacts, known by their digest. It may break off, begin elsewhere than it was asked to, or give
/// something else altogether: nothing is believed before it was verified.
pub(super) trait Source {
    /// Begins to give an artifact, from `offset` on. [`NotFound`](io::ErrorKind::NotFound) says that it does not have it.
    fn open(&self, digest: &Digest, offset: u64) -> io::Result<impl Read>;
}

/// A folder of files named by their digest.
#[derive(Debug, Clone)]
pub(super) struct Folder(pub(super) PathBuf);

impl Source for Folder {
    fn open(&self, digest: &Digest, offset: u64) -> io::Result<impl Read> {
        let mut file = File::open(self.0.join(digest.as_str()))?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(file)
    }
}
