//! The leash: the process that holds one workload, and what it and the engine say to each other.
//!
//! A program that embeds [`OsHost`](crate::OsHost) calls [`main`] from a hidden subcommand, before it does anything else,
//! and names that subcommand in [`OsConfig::leash`](crate::OsConfig::leash).
//!
//! The leash reads its errand as one line of JSON from standard input, and after that one order a line. It says facts on
//! standard output, one a line. The end of its input is an order too: the engine is gone, so everything is killed.

mod descriptors;
mod held;
mod words;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

pub(crate) use words::{Errand, Fact, Order};

/// Holds one workload until it and everything that descends from it is gone.
///
/// Must not be called from a program that has started threads or an async runtime: it waits for *every* child of its
/// process, and others that wait would miss theirs.
#[must_use]
pub fn main() -> ExitCode {
    let said = |fact: &Fact| {
        // An engine that no longer listens is gone; its closed pipe says what to do.
        let _ = writeln!(io::stdout(), "{fact}").and_then(|()| io::stdout().flush());
    };
    let mut line = String::new();
    let errand = match io::stdin().lock().read_line(&mut line) {
        Ok(_) => serde_json::from_str::<Errand>(&line).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let held = errand.map_err(|error| format!("the errand cannot be read: {error}"));
    match held.and_then(|errand| held::hold(&errand, said)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            said(&Fact::Refused(why));
            ExitCode::FAILURE
        }
    }
}
