//! The one place that writes to the standard streams: data to stdout, what happens meanwhile to stderr.

use std::io::{self, Write, stderr, stdin, stdout};

use clap::ValueEnum;
use serde::Serialize;

use crate::{
    failure::{ExitStatus, Failure},
    paint::{Paint, Tone, harmless},
    surroundings::Surroundings,
};

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// How this run of the program speaks.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// In which form.
    pub format: Format,
    /// For data.
    pub data: Paint,
    /// For what happens meanwhile.
    pub status: Paint,
    /// Whether a display that is drawn over itself has a place.
    pub live: Live,
    /// Whether somebody can be asked.
    pub asks: Asks,
}

/// Whether what happens meanwhile is drawn over itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// On a terminal.
    Drawn,
    /// Line by line.
    Lines,
}

/// Whether there is a person to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// At a terminal.
    Person,
    /// A script: whatever must be confirmed needs its flag.
    Nobody,
}

impl Output {
    /// Speaks in this form, with colours where they are wanted and seen.
    #[must_use]
    pub fn new(format: Format, surroundings: Surroundings) -> Self {
        let terminal = surroundings.terminal;
        let paint = |is_terminal: bool| {
            if is_terminal && !surroundings.no_colour { Paint::Ansi } else { Paint::Plain }
        };
        let asks = if terminal.stdin && terminal.stderr { Asks::Person } else { Asks::Nobody };
        let live = if terminal.stderr { Live::Drawn } else { Live::Lines };
        Self { format, data: paint(terminal.stdout), status: paint(terminal.stderr), live, asks }
    }

    /// Writes the answer: as JSON, or as the text that is made of it for people.
    pub fn answer<T: Serialize>(
        &self,
        data: &T,
        text: impl FnOnce(&T, Paint) -> String,
    ) -> Result<(), Failure> {
        let text = match self.format {
            Format::Table => text(data, self.data),
            Format::Json => serde_json::to_string_pretty(data).map_err(|error| {
                Failure::because("the answer cannot be written as JSON", &error)
            })?,
        };
        Self::said(writeln!(stdout().lock(), "{text}"), "the standard output")
    }

    /// Writes one line of data, and says whether anybody still reads.
    pub fn line(&self, text: &str) -> Result<Reader, Failure> {
        match writeln!(stdout().lock(), "{text}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
            other => Self::said(other, "the standard output").map(|()| Reader::Listens),
        }
    }

    /// Says what happens meanwhile, in a line.
    pub fn status(&self, line: &str) {
        // Nobody is left to be told that nobody can be told.
        let _ = writeln!(stderr().lock(), "{line}");
    }

    /// Draws on the terminal, without an end of line.
    pub fn draw(&self, text: &str) {
        let mut stderr = stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Says why the command did not do what was asked, and what to do.
    pub fn failure(&self, failure: &Failure) {
        let Failure { kind: _, message, hints } = failure;
        // It can hold what others wrote, such as the last lines of a program that was released.
        let message = message.lines().map(harmless).collect::<Vec<_>>().join("\n");
        self.status(&format!("{} {message}", self.status.tone(Tone::Bad, "error:")));
        for hint in hints {
            self.status(&format!("{} {hint}", self.status.tone(Tone::Strong, "hint:")));
        }
    }

    /// Says why a command did not do what was asked, if it did not, and how it ends then.
    #[must_use]
    pub fn ended(&self, outcome: Result<(), Failure>) -> ExitStatus {
        match outcome {
            Ok(()) => ExitStatus::Done,
            Err(failure) => {
                self.failure(&failure);
                failure.kind.exit_status()
            }
        }
    }

    /// Asks the person at the terminal; only `y` or `yes` is a yes.
    pub fn confirm(&self, question: &str) -> Result<Confirmed, Failure> {
        self.draw(&format!("{question} [y/N] "));
        let mut line = String::new();
        stdin()
            .read_line(&mut line)
            .map_err(|error| Failure::because("the answer cannot be read", &error))?;
        let yes = matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes");
        Ok(if yes { Confirmed::Yes } else { Confirmed::No })
    }

    fn said(written: io::Result<()>, to: &str) -> Result<(), Failure> {
        match written {
            // Whoever reads has read enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::because(format!("{to} cannot be written"), &error)),
            Ok(()) => Ok(()),
        }
    }
}

/// Whether anybody still reads what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Somebody may.
    Listens,
    /// Whoever read has read enough, as `head` does.
    Gone,
}

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// To do it.
    Yes,
    /// To leave it.
    No,
}
