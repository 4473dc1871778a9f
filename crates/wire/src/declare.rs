//! Declarations on their way to a machine, and the hello in which a machine says which one it holds.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use inventory::{Declaration, DeclarationNumber, Epoch};
use names::{BuildId, Digest, InstanceName, MachineName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::statement::{BootId, EngineNonce};

/// Controller to agent: this is your desired state now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declare {
    /// The whole desired state.
    pub declaration: Declaration,
}

/// The agent's answer: whether it keeps the declaration. What comes of it is said by a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum DeclareReply {
    /// It is on disk, or was already.
    Taken,
    /// It is not kept.
    Refused(RefusedDeclaration),
}

/// Why a machine does not keep a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "because")]
pub enum RefusedDeclaration {
    /// It is for somebody else.
    #[error("it is for machine `{named}`")]
    OtherMachine {
        /// Whom it names.
        named: MachineName,
    },
    /// The machine holds a newer one.
    #[error("number {held} is held here, newer than {offered}")]
    OlderNumber {
        /// The number held.
        held: DeclarationNumber,
        /// The number offered.
        offered: DeclarationNumber,
    },
    /// The machine holds another one of the same number.
    #[error("number {number} is held here with other content")]
    OtherContent {
        /// The number of both.
        number: DeclarationNumber,
    },
    /// It was composed under a lease that has passed to somebody else.
    #[error("epoch {offered} is over; {held} has been seen here")]
    OlderEpoch {
        /// The highest epoch seen.
        held: Epoch,
        /// The epoch offered.
        offered: Epoch,
    },
    /// With it two modules would have an instance of the same name here; one of them may be left from an earlier
    /// declaration. What fails on a machine is kept by the names of its instances.
    #[error(
        "instance `{instance}` would be one of `{}` and one of `{}` on this machine; give one of them another name",
        modules[0], modules[1]
    )]
    SharedInstance {
        /// The name.
        instance: InstanceName,
        /// Whose it would be.
        modules: [ModuleName; 2],
    },
    /// It could not be written down, so it was not begun either.
    #[error("it could not be kept: {why}")]
    NotKept {
        /// What the disk says.
        why: String,
    },
}

/// Agent to controller, at each connect and then every 30 s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Who speaks.
    pub machine: MachineName,
    /// The version of the agent's program.
    pub agent: String,
    /// The boot that the machine runs in.
    pub boot: BootId,
    /// The agent process that speaks.
    pub engine: EngineNonce,
    /// The declaration held; none on a new machine.
    pub held: Option<Held>,
    /// The machine's clock.
    pub clock: DateTime<Utc>,
}

/// Which declaration a machine holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Its number.
    pub number: DeclarationNumber,
    /// The epoch it was composed in.
    pub epoch: Epoch,
    /// Its digest.
    pub digest: Digest,
}

/// The controller's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloReply {
    /// The declaration that the machine should hold, when it is another than the one it named.
    pub declaration: Option<Declaration>,
    /// The builds that the machine must keep on its disk beside what it runs; none: nothing is said, and all are kept.
    #[serde(default)]
    pub keep: Option<BuildsKept>,
}

/// The builds that a machine must keep: what was proven last, and what a rollback may put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildsKept {
    /// The declaration of that machine under which this was so: for a machine that holds another it says nothing.
    pub under: DeclarationNumber,
    /// By module.
    pub builds: BTreeMap<ModuleName, BTreeSet<BuildId>>,
}
