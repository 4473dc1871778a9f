//! Where an archive ends: in two blocks of zeros, with nothing but zeros behind them.

use std::io::{self, Read};

use super::{Refused, unreadable};

/// An archive's blocks.
const BLOCK_BYTES: u64 = 512;

/// How many zeros may follow: packers fill up what they write to the block of a tape, of which this is a large one.
const ZEROS_MAX: u64 = 1024 * 1024;

/// Passes on what is read, and minds how many zeros came last.
pub(super) struct Ending<R> {
    inner: R,
    zeros: u64,
}

impl<R: Read> Ending<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, zeros: 0 }
    }

    /// Reads what is behind the last entry. Only there is seen whether a compressed archive is whole.
    pub(super) fn finish(mut self) -> Result<(), Refused> {
        let mut behind = 0;
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let length = match self.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.map_err(unreadable)? as u64,
            };
            if length == 0 {
                break;
            }
            behind += length;
            if self.zeros < length || behind > ZEROS_MAX {
                return Err(Refused::Unsafe("it goes on behind its end".to_owned()));
            }
        }
        if self.zeros < BLOCK_BYTES {
            return Err(Refused::Unsafe("it breaks off before its end".to_owned()));
        }
        Ok(())
    }
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        let read = into.get(..length).unwrap_or_default();
        self.zeros = match read.iter().rposition(|byte| *byte != 0) {
            None => self.zeros.saturating_add(length as u64),
            Some(at) => (length - at - 1) as u64,
        };
        Ok(length)
    }
}
