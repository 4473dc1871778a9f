//! How much of its disk a store may use.

use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use store::Reserve;

use crate::trouble::Trouble;

/// How much sled writes for a commit, at most, for each byte of it: after some changes to a page it writes the
/// whole page anew.
const WRITTEN_PER_BYTE: u64 = 8;

/// How much of the disk a commit may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// A commit that could leave less than this free is refused as [`Full`](store::CommitError::Full) before
    /// anything is touched, and one on a disk that is mounted read-only as
    /// [`ReadOnly`](store::CommitError::ReadOnly). Reads go on meanwhile.
    Leave {
        /// How much, in bytes. A commit that may use the reserve has to leave half of it.
        bytes: u64,
    },
    /// All that there is: for what should rather be written than be safe to open again on a full disk.
    All,
}

impl Room {
    /// Refuses a commit of this many bytes that the disk of `folder` has no room for.
    pub(crate) fn check(self, folder: &Path, bytes: u64, reserve: Reserve) -> Result<(), Trouble> {
        let left = match (self, reserve) {
            (Self::Leave { bytes }, Reserve::Kept) => bytes,
            (Self::Leave { bytes }, Reserve::Used) => bytes / 2,
            (Self::All, Reserve::Kept | Reserve::Used) => return Ok(()),
        };
        let disk = statvfs(folder).map_err(std::io::Error::from)?;
        if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(Trouble::ReadOnly);
        }
        let needed = bytes.saturating_mul(WRITTEN_PER_BYTE).saturating_add(left);
        if disk.f_bavail.saturating_mul(disk.f_frsize) < needed {
            return Err(Trouble::Full);
        }
        Ok(())
    }
}
