//! Where chores speak: what was asked for on stdout, how it goes on stderr.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes one line of the result to stdout.
pub(crate) fn result(line: impl Display) {
    // A reader that has gone away (`cargo xtask vectors | head`) is no fault of the chore.
    drop(writeln!(io::stdout().lock(), "{line}"));
}

/// Writes one line about the progress to stderr.
pub(crate) fn progress(line: impl Display) {
    // The same as above: there is nobody left to tell.
    drop(writeln!(io::stderr().lock(), "{line}"));
}
