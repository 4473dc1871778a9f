//! The command line: every command, flag and word of it, and what `--help` teaches.

mod freeing;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use inventory::Target;
use names::{Commit, MachineName, ModuleName, PlanId};
use terminal::output::Format;
use wire::api::BuildRef;

use freeing::{INSTANCES_EXAMPLES, MACHINES_EXAMPLES, PROMOTE_EXAMPLES, ROLLBACK_EXAMPLES};
pub(crate) use freeing::{
    InstancesVerb, Machines, MachinesVerb, OfInstances, Promote, Retry, Rollback, Said, Which,
};

use crate::sample::SampleFlags;

/// Releases software to a fleet of plain machines: a new build goes to a first machine, is judged there by evidence,
/// and reaches the others only if it passes.
#[derive(Debug, Parser)]
#[command(name = "controller", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  controller dev                          a whole fleet on this machine, and a release told live
  controller builds add ./hello           pack and register a build of your own
  controller assign hello --to box-1,box-2
  controller release hello --wait         first machine, gate, then the rest
  controller conditions                   what is wrong now, and what to do

Exit status: 0 done, 1 failed, 2 usage, 3 refused by a rule, 4 gate failed, 5 cannot reach the controller";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Everywhere {
    /// The controller's folder; not said: that of the controller started last
    #[arg(long, global = true, env = "BELLWETHER_DIR", value_name = "PATH")]
    pub(crate) dir: Option<PathBuf>,
    /// How answers are written
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a whole fleet on this machine: release a good build, then one that crashes, and tell what happens
    #[command(after_help = DEV_EXAMPLES)]
    Dev(Dev),
    #[command(flatten)]
    Asking(Asking),
    /// Judge facts from a file as a gate would; needs no controller
    #[command(after_help = JUDGE_EXAMPLES)]
    Judge(Judge),
    /// Keys whose word machines trust: make one, show its public half, replace it; needs no controller
    #[command(after_help = KEYS_EXAMPLES)]
    Keys(Keys),
    /// The service that `dev` releases
    #[command(hide = true)]
    Sample(SampleFlags),
}

/// The commands that ask a running controller.
#[derive(Debug, Subcommand)]
pub(crate) enum Asking {
    /// Every machine: whether it is heard, what it holds and runs; and what its failure book holds
    #[command(after_help = MACHINES_EXAMPLES)]
    Machines(Machines),
    /// Every instance: its build, its state, and what holds it; and how one is let try again
    #[command(args_conflicts_with_subcommands = true, after_help = INSTANCES_EXAMPLES)]
    Instances(OfInstances),
    /// Say, signed, that a build is current: machines free what they hold against it
    #[command(after_help = PROMOTE_EXAMPLES)]
    Promote(Promote),
    /// Say, signed, that a module goes back to a build: machines free what keeps it from being started
    #[command(after_help = ROLLBACK_EXAMPLES)]
    Rollback(Rollback),
    /// Every module: its builds and where it is assigned
    Modules,
    /// The builds of all modules or of one, and how new ones come in
    #[command(args_conflicts_with_subcommands = true, after_help = BUILDS_EXAMPLES)]
    Builds(Builds),
    /// The release plans, and what can be done with one
    Plans(Plans),
    /// Every gate, the newest first: what it judges and what is wanting
    Gates,
    /// All that is wrong now, and what to do about it
    Conditions,
    /// Run a module on more machines
    #[command(after_help = ASSIGN_EXAMPLES)]
    Assign(Assign),
    /// Take an assignment back: the module stops there
    Unassign(Unassign),
    /// Move modules onto builds: first machine, gate, then the rest
    #[command(after_help = RELEASE_EXAMPLES)]
    Release(Release),
    /// Send a machine its declaration again
    Push {
        /// Which machine
        machine: MachineName,
    },
}

const DEV_EXAMPLES: &str = "\
Examples:
  controller dev                    three machines in a temporary folder, until Ctrl-C
  controller dev --exit             the same as a test: ends with 0 only if all went as it should
  controller dev --dir ~/fleet      keeps its state: a second start goes on where the first ended

While it runs, every other command talks to it from another terminal.";

const BUILDS_EXAMPLES: &str = "\
Examples:
  controller builds hello                       the kept builds of one module
  controller builds add ./hello                 packs what is in the folder, and registers it
  controller builds add ./hello --commit v1.2   under a name of your own";

const ASSIGN_EXAMPLES: &str = "\
Examples:
  controller assign hello --to box-1,box-2
  controller assign hello --to site=ams,role=web --instances 2
  controller assign hello --to box-3 --env GREETING=hi";

const RELEASE_EXAMPLES: &str = "\
Examples:
  controller release hello                          its newest build
  controller release hello@6G5FAV --dry-run         what would be sent to whom, and nothing else
  controller release hello@v1.2 store@v7 --wait     two modules in one plan; ends with 4 if a gate fails
  controller release hello --now --reason 'shop is down'";

const JUDGE_EXAMPLES: &str = "\
Examples:
  controller judge facts.json
  controller judge facts.json --rules reference     as the recorded behaviour judges
  collect-facts | controller judge - --output json";

const KEYS_EXAMPLES: &str = "\
Examples:
  controller keys new operator --out ~/operator.seed     signs what frees a failure book; keep it off the machines
  controller keys new controller --dir /srv/bellwether   signs declarations; in keys/ of the controller's folder
  controller keys show ~/operator.seed                   what machines list under [trust]
  controller keys rotate ~/operator.seed                 the next key, and the old one's word that it is

A secret is in its file and nowhere else: it is never shown, and a file that others can read is refused.";

#[derive(Debug, Clone, Args)]
pub(crate) struct Dev {
    /// How many machines; not said: 3, or as many as a kept folder has
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=200))]
    pub(crate) machines: Option<u16>,
    /// End when the story is told: with 0 only if the good build reached every machine and the bad one only the first
    #[arg(long)]
    pub(crate) exit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Builds {
    #[command(subcommand)]
    pub(crate) verb: Option<BuildsVerb>,
    /// Of this module only
    pub(crate) module: Option<ModuleName>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BuildsVerb {
    /// The kept builds, the newest first
    List {
        /// Of this module only
        module: Option<ModuleName>,
    },
    /// Pack a folder that has a bellwether.toml and register it as a build; it is not released by that
    Add {
        /// The folder, or its manifest
        path: PathBuf,
        /// What the source calls this version; not said: git's commit, or else the content's digest
        #[arg(long)]
        commit: Option<Commit>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Plans {
    #[command(subcommand)]
    pub(crate) verb: Option<PlansVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlansVerb {
    /// Every plan, the newest first
    List,
    /// One plan: what moves, where, wave by wave, and its gate
    Show {
        /// Its id
        plan: PlanId,
    },
    /// Try the builds of an ended plan again, in a new plan; the one way to ask for a condemned build again
    Retry {
        /// The ended plan's id
        plan: PlanId,
        /// Follow the new plan to its end
        #[arg(long)]
        wait: bool,
    },
    /// End a plan: nothing more is sent, and what it moved goes back
    Stop {
        /// Its id
        plan: PlanId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Assign {
    /// Which module
    pub(crate) module: ModuleName,
    /// Where: machines (box-1,box-2) or labels (site=ams,role=web)
    #[arg(long, value_name = "TARGET")]
    pub(crate) to: Target,
    /// In how many copies on each machine
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) instances: usize,
    /// What each copy finds in its environment
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct Unassign {
    /// Which module
    pub(crate) module: ModuleName,
    /// The assignment, as it was made
    #[arg(long, value_name = "TARGET")]
    pub(crate) to: Target,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Release {
    /// Builds: MODULE for its newest, or MODULE@BUILD with an id, the end of one, or a commit
    #[arg(required = true, value_name = "MODULE[@BUILD]")]
    pub(crate) builds: Vec<BuildRef>,
    /// Begin at once; a plan that moves the same modules is superseded
    #[arg(long, requires = "reason")]
    pub(crate) now: bool,
    /// Why it cannot wait; it is kept with the plan
    #[arg(long, value_name = "WHY", requires = "now")]
    pub(crate) reason: Option<String>,
    /// Only tell what would be sent, and to whom
    #[arg(long, conflicts_with = "wait")]
    pub(crate) dry_run: bool,
    /// Follow the plan to its end
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// Facts as JSON; `-` for the standard input
    pub(crate) file: PathBuf,
    /// By which rules
    #[arg(long, value_enum, default_value_t = RulesName::Default)]
    pub(crate) rules: RulesName,
}

#[derive(Debug, Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) verb: KeysVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysVerb {
    /// Make a key: its secret goes into a file for you alone, and its public half is shown
    New {
        /// What to call it; `operator` and `controller` say its role too
        #[arg(required_unless_present = "role", value_parser = key_name)]
        name: Option<String>,
        /// Whose it is; not said: what NAME says
        #[arg(long, value_enum)]
        role: Option<KeyRole>,
        /// The file of the secret; not said: NAME.seed, in keys/ of the folder that --dir names, or else here
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// The public halves of keys: role, fingerprint, and the text that machines list under [trust]
    Show {
        /// Files of secrets; none: those in keys/ of the controller's folder
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Make the next key, and the old one's signed statement that it takes its place
    Rotate {
        /// The file of the old key's secret
        file: PathBuf,
        /// The file of the next key's secret; not said: beside the old one, with `.next` in its name
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// The roles that a key of this program can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyRole {
    /// A person's: signs what frees a failure book
    Operator,
    /// A controller's: signs declarations
    Controller,
}

/// The rules that facts can be judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RulesName {
    /// Bellwether's own
    Default,
    /// The recorded behaviour
    Reference,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some(_) | None => Err("NAME=VALUE is wanted".to_owned()),
    }
}

/// A name that a file can have.
fn key_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    if (1..=63).contains(&text.len()) && text.chars().all(allowed) {
        return Ok(text.to_owned());
    }
    Err("1 to 63 of a-z, 0-9, `-` and `_` are wanted; where the file lies is said with --out"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Flags, clap::Error> {
        Flags::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_tree_is_sound() {
        Flags::command().debug_assert();
    }

    #[test]
    fn what_people_type_is_understood() {
        for line in [
            "controller dev",
            "controller dev --exit --machines 5 --dir /tmp/x",
            "controller --output json machines",
            "controller machines --output json",
            "controller builds",
            "controller builds hello",
            "controller builds list",
            "controller builds list hello",
            "controller builds add ./hello --commit v1",
            "controller plans",
            "controller plans list",
            "controller plans show 01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "controller plans stop 01ARZ3NDEKTSV4RRFFQ69G5FAV --yes",
            "controller plans retry 01ARZ3NDEKTSV4RRFFQ69G5FAV --wait",
            "controller assign hello --to box-1,box-2 --instances 2 --env A=1 --env B=",
            "controller unassign hello --to site=ams",
            "controller release hello other@v1 --wait",
            "controller release hello --now --reason why",
            "controller judge facts.json --rules reference",
            "controller keys new operator",
            "controller keys new night-shift --role operator --out /x/key",
            "controller keys new --role controller --dir /x",
            "controller keys show",
            "controller keys show a b",
            "controller keys rotate a --out b",
        ] {
            assert!(parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_a_usage_error() {
        for line in [
            "controller",
            "controller dev --machines 0",
            "controller plans show hello",
            "controller assign hello",
            "controller assign hello --to box-1,site=ams",
            "controller assign hello --to box-1 --env novalue",
            "controller release",
            "controller release hello --now",
            "controller release hello --reason why",
            "controller release hello --dry-run --wait",
            "controller release Hello",
            "controller judge facts.json --rules mine",
            "controller keys",
            "controller keys new",
            "controller keys new a/b",
            "controller keys new x --role machine",
            "controller keys rotate",
        ] {
            assert_eq!(
                parse(line).map(|_| ()).map_err(|error| error.exit_code()),
                Err(2),
                "{line}"
            );
        }
    }
}
