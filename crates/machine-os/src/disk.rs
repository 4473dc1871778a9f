//! How much room a disk has, what of it is kept in reserve, and what a call that failed says of it.

use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};

/// What nothing new may take, so that what is written to say that something went wrong always has room: the store's commits,
/// which it refuses below 8 MiB, the ends of workloads, and some of their output. On a small disk it is a part of that.
const RESERVE: Room = Room { bytes: 64 * 1024 * 1024, inodes: 1_000 };
const RESERVED_PART: u64 = 4;

/// What files take of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
}

impl Room {
    /// That of one file with so much in it. Disks give room in blocks, mostly of this size.
    pub(crate) fn of_file(bytes: u64) -> Self {
        Self { bytes: bytes.div_ceil(4096).saturating_mul(4096), inodes: 1 }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            inodes: self.inodes.saturating_add(other.inodes),
        }
    }

    fn covers(self, other: Self) -> bool {
        self.bytes >= other.bytes && self.inodes >= other.inodes
    }
}

/// One look at the disk of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) free: Room,
    pub(crate) reserve: Room,
    access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Writable,
    ReadOnly,
}

/// What is wrong with a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Full,
    ReadOnly,
    /// It fails, or something else does.
    Other,
}

impl Disk {
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let disk = statvfs(folder)?;
        let part = |total: u64, most: u64| most.min(total / RESERVED_PART);
        let reserve = Room {
            bytes: part(disk.f_blocks.saturating_mul(disk.f_frsize), RESERVE.bytes),
            inodes: part(disk.f_files, RESERVE.inodes),
        };
        // Some file systems make inodes as they are needed, and say that there are none.
        let inodes = if disk.f_files == 0 { u64::MAX } else { disk.f_favail };
        let free = Room { bytes: disk.f_bavail.saturating_mul(disk.f_frsize), inodes };
        let access = match disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
            true => Access::ReadOnly,
            false => Access::Writable,
        };
        Ok(Self { free, reserve, access })
    }

    /// Whether it takes so much without touching the reserve.
    pub(crate) fn takes(&self, wanted: Room) -> Result<(), Fault> {
        match self.access {
            Access::ReadOnly => Err(Fault::ReadOnly),
            Access::Writable if self.free.covers(wanted.and(self.reserve)) => Ok(()),
            Access::Writable => Err(Fault::Full),
        }
    }
}

impl Fault {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "io::ErrorKind is foreign and grows; whatever is not one of these needs a person"
    )]
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    fn disk(bytes: u64, inodes: u64, access: Access) -> Disk {
        Disk { free: Room { bytes, inodes }, reserve: Room { bytes: 100, inodes: 10 }, access }
    }

    #[test]
    fn nothing_new_touches_the_reserve() {
        let wanted = Room { bytes: 50, inodes: 5 };
        for (disk, expected) in [
            (disk(150, 15, Access::Writable), Ok(())),
            (disk(149, 15, Access::Writable), Err(Fault::Full)),
            (disk(150, 14, Access::Writable), Err(Fault::Full)),
            (disk(150, 15, Access::ReadOnly), Err(Fault::ReadOnly)),
        ] {
            assert_eq!(disk.takes(wanted), expected, "{disk:?}");
        }
        let all = Room { bytes: u64::MAX, inodes: u64::MAX };
        assert_eq!(disk(u64::MAX, u64::MAX, Access::Writable).takes(all), Ok(()));
    }

    #[test]
    fn a_file_takes_whole_blocks() {
        let bytes = |bytes| Room::of_file(bytes).bytes;
        assert_eq!((bytes(0), bytes(1), bytes(4096), bytes(4097)), (0, 4096, 4096, 8192));
        assert_eq!(Room::of_file(u64::MAX).bytes, u64::MAX);
    }

    #[test]
    fn full_read_only_and_failing_are_told_apart() {
        for (errno, expected) in [
            (Errno::NOSPC, Fault::Full),
            (Errno::DQUOT, Fault::Full),
            (Errno::ROFS, Fault::ReadOnly),
            (Errno::IO, Fault::Other),
            (Errno::ACCESS, Fault::Other),
        ] {
            assert_eq!(Fault::of(&errno.into()), expected, "{errno}");
        }
    }

    #[test]
    fn this_very_disk_can_be_looked_at() {
        let disk = Disk::of(Path::new("/tmp")).unwrap();
        assert!(disk.free.bytes > 0 && disk.reserve.bytes <= RESERVE.bytes);
        assert!(Disk::of(Path::new("/no/such/folder")).is_err());
    }
}
