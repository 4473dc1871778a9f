//! What the environment says: the one place where it is read, beside the flags that name a variable.

use std::{env, path::PathBuf};

pub(crate) use terminal::surroundings::Terminal;

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

impl Surroundings {
    /// Reads them.
    pub(crate) fn look() -> Self {
        // As the XDG base directory specification says: a relative path is as good as none.
        let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state_folder = folder("XDG_STATE_HOME")
            .or_else(|| folder("HOME").map(|home| home.join(".local/state")));
        let terminal::surroundings::Surroundings { no_colour, terminal } =
            terminal::surroundings::Surroundings::look();
        Self { state_folder, no_colour, terminal }
    }

    /// What concerns speaking.
    pub(crate) fn of_speech(&self) -> terminal::surroundings::Surroundings {
        let Self { state_folder: _, no_colour, terminal } = *self;
        terminal::surroundings::Surroundings { no_colour, terminal }
    }
}
