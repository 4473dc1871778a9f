//! What a machine says came of a declaration.

use std::collections::BTreeMap;

use inventory::DeclarationNumber;
use names::{BuildId, ExecutionId, InstanceName, MachineName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::book::HeldInstance;

/// Agent to controller, until acknowledged: what came of this declaration, by module.
///
/// A machine reports once all modules of the declaration have come to an outcome, and again when one of them changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Who speaks.
    pub machine: MachineName,
    /// Which declaration this is about.
    pub declaration: DeclarationNumber,
    /// Grows with each report about the same declaration; the greatest counts.
    pub revision: u64,
    /// What came of each module.
    pub modules: BTreeMap<ModuleName, ModuleReport>,
}

/// What came of one module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// The build declared; none for a module that was withdrawn.
    pub build: Option<BuildId>,
    /// The execution that runs it now, by instance: what a statement says of any other is not about this build's run.
    #[serde(default)]
    pub executions: BTreeMap<InstanceName, ExecutionId>,
    /// What the machine's failure book holds back of this module; none: nothing is said, as by an agent without a book.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Vec<HeldInstance>>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: ModuleOutcome,
}

/// What came of one module of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum ModuleOutcome {
    /// Every instance was moved onto the build (or withdrawn). Whether it is any good is said by statements.
    Applied,
    /// It was tried and failed.
    Failed {
        /// Where.
        instance: InstanceName,
        /// Why, with the last lines of its output.
        why: String,
    },
    /// A rule of the machine forbids it.
    Refused {
        /// The rule, in words.
        rule: String,
    },
    /// It could not be tried: nothing is known about the build.
    Unable {
        /// What was in the way.
        because: UnableBecause,
        /// In words, with what to do.
        why: String,
    },
}

/// What kept a build from being tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnableBecause {
    /// An artifact is missing, does not match its digest, or cannot be unpacked.
    Artifact,
    /// No space, or a disk that cannot be written.
    Disk,
    /// The address that it must listen on is taken.
    Port,
    /// The process could not be started at all: no such program, user or folder on this machine.
    Start,
    /// The machine's own files do not allow it to begin.
    Book,
    /// It asks for more than this machine's owner allows: a user, a program, an address.
    Bounds,
}

/// The controller's answer: this report is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReply {
    /// Which declaration's report was kept.
    pub declaration: DeclarationNumber,
    /// Which revision of it.
    pub revision: u64,
}
