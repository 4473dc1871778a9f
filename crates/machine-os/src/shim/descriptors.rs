//! The one place of `unsafe`: descriptors that this process inherited and does not know by any owner.
#![expect(
    unsafe_code,
    reason = "an inherited descriptor has no owner in this program, and only a borrowed one can be marked"
)]

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_setfd};

/// Lets no workload inherit anything above standard error. Whoever started the engine may have left descriptors open in
/// it, a lock file for example, and a workload must not hold them.
pub(super) fn keep_from_workloads() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            // SAFETY: the number was listed as open just now and this process has one thread, so it is open, apart from
            // the listing's own, for which the call fails with EBADF and does nothing. Marking a descriptor changes
            // nothing for whoever may own it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}
