//! The time at which something is decided.

use core::time::Duration;

use chrono::{DateTime, Utc};

/// One look at the machine's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since the machine booted. All spans are measured by it, so setting the clock changes none of them.
    pub monotonic: Duration,
    /// The time of day. It is written into what people read, and decides nothing.
    pub wall: DateTime<Utc>,
}

impl Now {
    /// The moment `span` from now.
    pub(crate) fn after(self, span: Duration) -> Duration {
        self.monotonic.saturating_add(span)
    }
}
