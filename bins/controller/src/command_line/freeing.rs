//! What can be typed about what machines hold, and to free it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use names::{ChannelName, InstanceName, MachineName, ModuleName};

pub(super) const MACHINES_EXAMPLES: &str = "\
Examples:
  controller machines                   how each machine stands
  controller machines books box-1       what its failure book holds, and the command that frees each instance";

pub(super) const INSTANCES_EXAMPLES: &str = "\
Examples:
  controller instances                                  every instance, its build, its state, and what holds it
  controller instances --module blog --machine box-1
  controller instances retry blog-1 --machine box-1     let it try the build again that its book holds against it
  controller instances retry blog-1 --wait              the same, and wait for what becomes of it";

pub(super) const RETRY_EXAMPLES: &str = "\
What frees an instance is a grant, signed with an operator's key, for exactly what its machine's failure book holds now. It
is good once. The key stays here: only what it signed goes to the controller, and from there to the machine.

Examples:
  controller instances retry blog-1 --machine box-1 --key ~/operator.seed
  controller instances retry blog-1 --machine box-1 --build 01JXW2M8Q4ZK7V5T3R9C1B6D0F --wait";

pub(super) const PROMOTE_EXAMPLES: &str = "\
A pointer says, signed with an operator's key, that this build is current from now on. Each machine of the module takes it,
and frees what its failure book holds against the build and is older. It moves nothing: `controller release` does.

Examples:
  controller promote blog v7                 after v7 was mended around: the database is back, say
  controller promote blog v7 --retry         v7 failed, and is to be tried again everywhere
  controller promote blog v7 --channel beta";

pub(super) const ROLLBACK_EXAMPLES: &str = "\
A signed word that the module goes back to this build. Each machine of the module takes it, and frees what keeps the build
from being started there. It moves nothing that is not declared the build already: `controller release` does.

Examples:
  controller rollback blog                   to the registered build: what a failed release puts back
  controller rollback blog v6 --key ~/operator.seed";

#[derive(Debug, Args)]
pub(crate) struct Machines {
    #[command(subcommand)]
    pub(crate) verb: Option<MachinesVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MachinesVerb {
    /// Every machine: whether it is heard, what it holds and runs
    List,
    /// What the failure book of a machine holds, as it says now, and what frees it
    Books {
        /// Whose
        machine: MachineName,
        /// Of this module only
        #[arg(long)]
        module: Option<ModuleName>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct OfInstances {
    #[command(subcommand)]
    pub(crate) verb: Option<InstancesVerb>,
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(Debug, Subcommand)]
pub(crate) enum InstancesVerb {
    /// Every instance: its build, its state, and what holds it
    List(Which),
    /// Let an instance try the build again that its machine's failure book holds against it
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(Retry),
}

/// Which instances.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Of this module only
    #[arg(long)]
    pub(crate) module: Option<ModuleName>,
    /// On this machine only
    #[arg(long)]
    pub(crate) machine: Option<MachineName>,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// Which instance
    pub(crate) instance: InstanceName,
    /// On which machine; not said: the one where it is held
    #[arg(long)]
    pub(crate) machine: Option<MachineName>,
    /// The build that holds it: its id, or the end of it; not said: the only one that does
    #[arg(long)]
    pub(crate) build: Option<String>,
    /// Wait until it runs, or is refused or fails again
    #[arg(long)]
    pub(crate) wait: bool,
    #[command(flatten)]
    pub(crate) key: KeyFile,
}

/// The operator's key.
#[derive(Debug, Args)]
pub(crate) struct KeyFile {
    /// The file of an operator's secret key; not said: in `controller dev` the fleet's own
    #[arg(long = "key", env = "BELLWETHER_OPERATOR_KEY", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// Which module
    pub(crate) module: ModuleName,
    /// The build: its id, the end of one, or a commit
    pub(crate) build: String,
    /// It failed, and is to be tried again on every machine
    #[arg(long)]
    pub(crate) retry: bool,
    #[command(flatten)]
    pub(crate) said: Said,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    /// Which module
    pub(crate) module: ModuleName,
    /// The build: its id, the end of one, or a commit; not said: the registered one
    pub(crate) build: Option<String>,
    #[command(flatten)]
    pub(crate) said: Said,
}

/// What every pointer takes.
#[derive(Debug, Args)]
pub(crate) struct Said {
    /// Which channel of the module; not said: the only one, where nobody makes a difference
    #[arg(long)]
    pub(crate) channel: Option<ChannelName>,
    #[command(flatten)]
    pub(crate) key: KeyFile,
}
