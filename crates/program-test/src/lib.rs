//! Runs real programs in tests: one to its end, or one that goes on, each with all that it says. Whatever is waited for is
//! waited for with a deadline, and when it does not come, what was seen last is told.

mod disk;
pub mod faulty;
mod finished;
pub mod killed;
mod spoken;
pub mod trace;

use std::{
    error::Error,
    thread,
    time::{Duration, Instant},
};

pub use disk::Disk;
pub use finished::{Answered, Started, finished};
pub use spoken::Spoken;

/// What a test, or a step of one, comes to.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long anything may take: several times what the longest takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

#[expect(clippy::disallowed_methods, reason = "a test's deadline is real time")]
fn now() -> Instant {
    Instant::now()
}

/// Looks again and again until it is so; says what it saw last when it never is.
///
/// # Errors
/// When it is never so, and whatever `look` fails with.
pub fn eventually<T>(
    what: &str,
    mut look: impl FnMut() -> Outcome<Result<T, String>>,
) -> Outcome<T> {
    let deadline = now() + PATIENCE;
    loop {
        let seen = match look()? {
            Ok(value) => return Ok(value),
            Err(seen) => seen,
        };
        if now() > deadline {
            return Err(format!("never came true: {what}; the last that was seen: {seen}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}
