//! The command line: every command, flag and word of it, and what `--help` teaches.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
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
    /// End as if killed when the standard input ends
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
        ] {
            assert_eq!(status(line), expected, "{line}");
        }
    }
}
