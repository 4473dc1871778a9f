//! What a machine's failure book holds, for people and for whoever issues a grant.

use core::fmt;

use chrono::{DateTime, Utc};
use names::{AccountName, BookId, BuildId, InstanceName, MachineName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::signed::Generation;

/// Controller to agent: what does your failure book hold?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookAsked {
    /// Of this module only; none: of all.
    #[serde(default)]
    pub module: Option<ModuleName>,
}

/// The agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookStatus {
    /// Who speaks.
    pub machine: MachineName,
    /// The machine's clock: a grant is of no use where it is too far off.
    pub clock: DateTime<Utc>,
    /// How the book stands.
    pub book: BookState,
}

/// How a machine's failure book stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum BookState {
    /// It is open.
    Open {
        /// Which book it is.
        book: BookId,
        /// Whether all of it is on the disk.
        disk: OnDisk,
        /// What it holds back, by account, module and instance.
        held: Vec<HeldInstance>,
    },
    /// It cannot be read, or has run out of numbers: nothing is moved on this machine, and no grant is taken.
    Unusable {
        /// Why, and what to do.
        why: String,
    },
    /// A newer agent knows what this is; this program does not.
    #[serde(other)]
    Other,
}

/// Whether what a book holds is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDisk {
    /// All of it.
    All,
    /// A save is owed: no generation is published, so nothing can be granted until it has landed.
    Owed,
    /// A newer agent knows what this is; this program does not.
    #[serde(other)]
    Other,
}

/// One instance, and what holds it back. An instance that is held by several things is listed for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldInstance {
    /// Which instance.
    pub instance: InstanceName,
    /// Whose module it is of.
    pub account: AccountName,
    /// Of which module.
    pub module: ModuleName,
    /// The build that the book holds this against.
    pub build: BuildId,
    /// What holds it.
    pub rule: HeldBy,
    /// Since when, by the machine's clock: for people. None: not known.
    #[serde(default)]
    pub since: Option<DateTime<Utc>>,
    /// How the build was run; none: not known.
    #[serde(default)]
    pub mode: Option<HeldMode>,
    /// What was told of the failure; none: nothing was.
    #[serde(default)]
    pub reason: Option<String>,
    /// The generation that is published for it, which a grant names; none while a save is owed.
    #[serde(default)]
    pub generation: Option<Generation>,
    /// The book that says so.
    pub book: BookId,
}

/// What holds an instance back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// The build failed on this machine: the instance does not move onto it.
    Record,
    /// The build ran here alone with the instance's data and its outcome is open: the instance does not fall back by itself.
    Marker,
    /// The build ran here alone with the instance's data and failed: the instance stays stopped.
    HeldDown,
    /// A newer agent knows what this is; this program does not.
    #[serde(other)]
    Other,
}

/// How a build was run when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldMode {
    /// Beside the old one.
    Overlap,
    /// After the old one was stopped.
    Hold,
    /// In a way that is not known here.
    #[serde(other)]
    Other,
}

/// The command that lets an instance try the build again that its machine's book holds against it: what is told wherever
/// something is held.
pub fn retry_command(machine: &str, instance: &str, build: &str) -> String {
    format!("controller instances retry {instance} --machine {machine} --build {build}")
}

impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Record => "record",
            Self::Marker => "marker",
            Self::HeldDown => "held down",
            Self::Other => "other",
        })
    }
}
