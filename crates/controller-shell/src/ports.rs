//! What the shell needs beside a bus and a store: a clock and ids that were never used.

use controller_core::Reading;

/// The clocks of the machine that the controller runs on.
pub trait Clock: Clone + Send + Sync + 'static {
    /// What they say now.
    fn read(&self) -> Reading;
}

/// A source of ids.
pub trait Ids: Send + 'static {
    /// A ULID that was never used; `wall` is the time that it begins with. Ids drawn later sort later.
    fn fresh(&mut self, wall: chrono::DateTime<chrono::Utc>) -> String;
}
