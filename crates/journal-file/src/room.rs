//! How much of its disk a journal may use.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};

/// How much of the disk a journal may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// A change that could leave less than half of this free is refused before anything is touched, and so is one on a disk
    /// that is mounted read-only.
    Leave {
        /// What a store beside it leaves free, in bytes. What a book writes is about failures, so it may use half of it.
        bytes: u64,
    },
    /// All that there is.
    All,
}

impl Room {
    /// Refuses to write this many bytes, in words of the operating system, when the disk of `folder` has no room for them.
    pub(crate) fn check(self, folder: &Path, bytes: u64) -> io::Result<()> {
        let left = match self {
            Self::Leave { bytes } => bytes / 2,
            Self::All => return Ok(()),
        };
        let disk = statvfs(folder)?;
        if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        if disk.f_bavail.saturating_mul(disk.f_frsize) < bytes.saturating_add(left) {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}
