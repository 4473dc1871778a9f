//! The command line: every command, flag and word of it, and what `--help` teaches.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use failure_book::{BadName, Host};
use inventory::Span;
use names::{InstanceName, ModuleName, NameError, ResourceName};
use terminal::output::Format;

use crate::config::AtStop;

/// Bellwether's agent on this machine: runs what a controller declares here, and says how it stands.
#[derive(Debug, Parser)]
#[command(name = "node-agent", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  node-agent status                    how everything on this machine stands
  node-agent logs blog-1 --follow      what a program writes
  node-agent doctor                    what is wrong with this machine, and what to do
  node-agent book show                 what failed here, and what that restricts

Exit status: 0 done, 1 failed, 2 usage, 3 refused, 5 no engine runs here";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Everywhere {
    /// The machine's own file; not said: /etc/bellwether/agent.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The engine's folder; not said: what the config says
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,
    /// How answers are written
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine, until it is asked to end; what it runs goes on then
    Run(Run),
    /// Keep this machine's listeners, whatever becomes of the engine; one that runs already hands them over
    Route(Route),
    /// How everything on this machine stands, as its engine says
    Status,
    /// What a program wrote; needs no engine
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(Logs),
    /// Look this machine over: each check with what it means and what to do
    Doctor,
    /// The failure book: what failed on this machine, and what that restricts
    #[command(subcommand, after_help = BOOK_EXAMPLES)]
    Book(Book),
}

const BOOK_EXAMPLES: &str = "\
The engine is the book's one writer. `show` and `export` work beside it; the others are refused while one runs:
stop it (systemctl stop node-agent), do it, start it again. What runs goes on meanwhile.

Examples:
  node-agent book show
  node-agent book export /root/box-1.book.json
  node-agent book import box-1.book.json --dry-run
  node-agent book free blog/blog-1 --reason \"the disk was full, not the build\"";

/// What can be done about the book.
#[derive(Debug, Subcommand)]
pub(crate) enum Book {
    /// What is in the book, each with what it means
    Show,
    /// Write all of the book as one JSON document, to take along or to keep
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(Export),
    /// Take over an exported document; only an empty book does
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// Give the book another identity: after a restore from an older copy, and on a clone
    #[command(after_help = ROTATE_HELP)]
    RotateIdentity,
    /// Free an instance of all that holds it, without an operator's key; it is written down
    #[command(after_help = FREE_EXAMPLES)]
    Free(Free),
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  node-agent book export                         to the standard output
  node-agent book export box-1.book.json         whole or not at all; a file that is there is left
  node-agent book export box-1.book.json --force";

const IMPORT_EXAMPLES: &str = "\
The book gets a new identity, so every retry grant that was issued before is void. An execution without an outcome
counts as failed. Schemas 1, 2 and 3 are read.

Examples:
  node-agent book import box-1.book.json --dry-run
  ssh old-box node-agent book export | node-agent book import -";

const ROTATE_HELP: &str = "\
A retry grant names the book that it was issued for. A folder that was restored from an older copy, or cloned to another
machine, has the identity of a book that is another one by now. With a new identity every grant that was issued before is
void; nothing is freed by it.";

const FREE_EXAMPLES: &str = "\
Frees this one instance: from each record of its module that blocks it, from being held down, and from its marker.
The records stand for every other instance. When, who, why and what held it is kept in freed.jsonl in the engine's folder.

Examples:
  node-agent book free blog-1 --reason \"the disk was full, not the build\"
  node-agent book free blog/blog-1 --account acme --reason \"fixed its config\"";

/// Where the book is written to.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file; not said, or `-`: the standard output
    pub(crate) file: Option<PathBuf>,
    /// Replace the file if it is there
    #[arg(long)]
    pub(crate) force: bool,
}

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

impl Export {
    pub(crate) fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }
}

/// What is taken over.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The document; `-`: the standard input
    pub(crate) file: PathBuf,
    /// Only say what would come
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Who is freed, and why.
#[derive(Debug, Args)]
pub(crate) struct Free {
    /// INSTANCE, or MODULE/INSTANCE where it is not clear whose it is
    pub(crate) instance: HeldInstance,
    /// Why; it is kept
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Reason,
    /// The account of the module; not said: the only one for which the book holds this instance
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
}

/// An instance as the book names one. An imported book can have names that no manifest has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldInstance {
    pub(crate) module: Option<String>,
    pub(crate) host: Host,
}

/// A text that is no instance's name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoInstance {
    #[error("an instance or its module must not be empty: INSTANCE, or MODULE/INSTANCE")]
    Empty,
    #[error("an instance is named INSTANCE, or MODULE/INSTANCE")]
    Name(#[from] BadName),
}

impl std::str::FromStr for HeldInstance {
    type Err = NoInstance;

    fn from_str(text: &str) -> Result<Self, NoInstance> {
        let (module, host) = match text.split_once('/') {
            Some((module, host)) => (Some(module), host),
            None => (None, text),
        };
        if host.is_empty() || module.is_some_and(str::is_empty) {
            return Err(NoInstance::Empty);
        }
        Ok(Self { module: module.map(str::to_owned), host: Host::new(host)? })
    }
}

impl std::fmt::Display for HeldInstance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.module {
            Some(module) => write!(f, "{module}/{}", self.host),
            None => self.host.fmt(f),
        }
    }
}

/// Why somebody does what is kept for good: some words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason(pub(crate) String);

/// A text that is no reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoReason {
    #[error("say why, in a few words: it is kept")]
    Empty,
    #[error("a reason has at most {} characters, this one has {length}", Reason::LENGTH_MAX)]
    TooLong { length: usize },
}

impl Reason {
    /// More than anybody reads in a list.
    const LENGTH_MAX: usize = 1_000;
}

impl std::str::FromStr for Reason {
    type Err = NoReason;

    fn from_str(text: &str) -> Result<Self, NoReason> {
        let text = text.trim();
        match text.chars().count() {
            0 => Err(NoReason::Empty),
            length if length > Self::LENGTH_MAX => Err(NoReason::TooLong { length }),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

const LOGS_EXAMPLES: &str = "\
Examples:
  node-agent logs blog-1
  node-agent logs blog/blog-1 --resource web --lines 500
  node-agent logs blog-1 --follow";

/// What an engine of a fleet that is only tried out is told besides.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// How often the machine says how it stands when nothing changes
    #[arg(long, hide = true, value_name = "SPAN", default_value = "5s")]
    pub(crate) statement_every: Span,
    /// How long a workload goes on without an engine; not said: for ever
    #[arg(long, hide = true, value_name = "SPAN")]
    pub(crate) orphan_after: Option<Span>,
    /// What becomes of what runs at the end, whatever the config says
    #[arg(long, hide = true, value_enum)]
    pub(crate) at_stop: Option<AtStop>,
    /// End when the standard input does, and leave what runs
    #[arg(long, hide = true)]
    pub(crate) tether: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Route {
    /// The router's own socket; not said: route.sock in the engine's folder
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// How long it goes on without an engine; not said: for ever
    #[arg(long, hide = true, value_name = "SPAN")]
    pub(crate) orphan_after: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// INSTANCE, or MODULE/INSTANCE where two modules have one of that name
    pub(crate) instance: InstanceRef,
    /// Of this resource only
    #[arg(long, value_name = "NAME")]
    pub(crate) resource: Option<ResourceName>,
    /// Go on with what is written from now on, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// How many of the last lines, of each resource
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub(crate) lines: usize,
}

/// An instance as people name one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstanceRef {
    pub(crate) module: Option<ModuleName>,
    pub(crate) instance: InstanceName,
}

impl std::str::FromStr for InstanceRef {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        match text.split_once('/') {
            Some((module, instance)) => {
                Ok(Self { module: Some(module.parse()?), instance: instance.parse()? })
            }
            None => Ok(Self { module: None, instance: text.parse()? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// How a line that somebody types ends before anything is done.
    fn status(line: &str) -> Option<i32> {
        let words = format!("node-agent {line}");
        Flags::try_parse_from(words.split_whitespace()).err().map(|error| error.exit_code())
    }

    #[test]
    fn what_people_type_is_understood_or_is_a_usage_error() {
        Flags::command().debug_assert();
        let (understood, usage) = (None, Some(2));
        for (line, expected) in [
            ("", usage),
            ("run", understood),
            ("run --config /etc/bellwether/agent.toml --dir /data", understood),
            ("run --statement-every 500ms --orphan-after 60s --at-stop stop --tether", understood),
            ("run now", usage),
            ("run --statement-every soon", usage),
            ("run --at-stop later", usage),
            ("route", understood),
            ("route --socket /run/bellwether/route.sock --orphan-after 60s", understood),
            ("route --orphan-after later", usage),
            ("--output json status", understood),
            ("status --dir /data --output json", understood),
            ("status --output yaml", usage),
            ("logs blog-1", understood),
            ("logs blog/blog-1 --resource web --follow --lines 5", understood),
            ("logs -f -n 5 blog-1", understood),
            ("logs", usage),
            ("logs Blog", usage),
            ("logs a/b/c", usage),
            ("logs blog-1 --lines many", usage),
            ("doctor", understood),
            ("book", usage),
            ("book show --output json", understood),
            ("book export", understood),
            ("book export - --force", understood),
            ("book import", usage),
            ("book import - --dry-run", understood),
            ("book rotate-identity", understood),
            ("book rotate-identity now", usage),
            ("book free blog-1", usage),
            ("book free blog-1 --reason why", understood),
            ("book free blog-1 --reason=", usage),
            ("book free Blog/H4 --reason why --account ac", understood),
            ("book free a/b/c --reason why", usage),
            ("book free /b --reason why", usage),
            ("book free a/ --reason why", usage),
        ] {
            assert_eq!(status(line), expected, "{line}");
        }
    }
}
