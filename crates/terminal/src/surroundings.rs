//! What the standard streams are, and whether colours are wanted there.

use std::env;
use std::io::{IsTerminal, stderr, stdin, stdout};

/// What is known of whoever started this program, as far as speaking to them is concerned.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings {
    /// Whether colours are unwanted, whatever the output is.
    pub no_colour: bool,
    /// Which of the standard streams is a terminal.
    pub terminal: Terminal,
}

/// Which of the standard streams is a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// The standard input.
    pub stdin: bool,
    /// The standard output.
    pub stdout: bool,
    /// The standard error, if it can be drawn on.
    pub stderr: bool,
}

impl Surroundings {
    /// Looks at the streams and the environment.
    #[must_use]
    pub fn look() -> Self {
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_colour = dumb || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let terminal = Terminal {
            stdin: stdin().is_terminal(),
            stdout: stdout().is_terminal(),
            stderr: stderr().is_terminal() && !dumb,
        };
        Self { no_colour, terminal }
    }
}
