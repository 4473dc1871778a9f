//! The clocks of this machine.

use std::{fs, io};

use chrono::{DateTime, Utc};
use controller_core::Reading;
use controller_shell::Clock;
use rustix::time::{ClockId, clock_gettime};

/// The time of day.
#[expect(
    clippy::disallowed_methods,
    reason = "a program reads the clock; all that it calls is told the time"
)]
pub(crate) fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

/// The clocks of the machine that this program runs on.
#[derive(Debug, Clone)]
pub(crate) struct MachineClock {
    boot: String,
}

impl MachineClock {
    /// Fails where the kernel does not say which boot this is.
    pub(crate) fn new() -> io::Result<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        Ok(Self { boot: boot.trim().to_owned() })
    }
}

impl Clock for MachineClock {
    fn read(&self) -> Reading {
        let time = clock_gettime(ClockId::Boottime);
        // No machine has been up for a negative time, or so long that its milliseconds have no room.
        let [seconds, nanoseconds] =
            [time.tv_sec, time.tv_nsec].map(|n| u64::try_from(n).unwrap_or(0));
        let since_boot_ms = seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000);
        Reading { wall: now(), since_boot_ms, boot: self.boot.clone() }
    }
}
