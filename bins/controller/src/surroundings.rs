//! What the environment says: the one place where it is read, beside the flags that name a variable.

use std::{
    env,
    io::{IsTerminal, stderr, stdin, stdout},
    path::PathBuf,
};

/// What is known of whoever started this program.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// Where programs keep what they remember; not known for a user without a home.
    pub(crate) state_folder: Option<PathBuf>,
    /// Whether colours are unwanted, whatever the output is.
    pub(crate) no_colour: bool,
    /// Which of the standard streams is a terminal.
    pub(crate) terminal: Terminal,
}

/// Which of the standard streams is a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
}

impl Surroundings {
    /// Reads them.
    pub(crate) fn look() -> Self {
        // As the XDG base directory specification says: a relative path is as good as none.
        let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state_folder = folder("XDG_STATE_HOME")
            .or_else(|| folder("HOME").map(|home| home.join(".local/state")));
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_colour = dumb || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let terminal = Terminal {
            stdin: stdin().is_terminal(),
            stdout: stdout().is_terminal(),
            stderr: stderr().is_terminal() && !dumb,
        };
        Self { state_folder, no_colour, terminal }
    }
}
