//! The time of day.

use chrono::{DateTime, Utc};

/// The time of day.
#[expect(
    clippy::disallowed_methods,
    reason = "a program reads the clock; all that it calls is told the time"
)]
pub(crate) fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}
