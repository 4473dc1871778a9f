//! The documents that outlive the controller, and their keys.

use std::fmt;

use chrono::{DateTime, Utc};
use conditions::Keeper;
use inventory::{Build, Content, Declaration, Machine, Module, Stage, Trial, Verdict};
use names::{AccountName, BuildId, ChannelName, MachineName, ModuleName, PlanId};
use serde::{Deserialize, Serialize};
use wire::{
    Event, Report,
    signed::{Pointer, Signed},
};

use crate::{plan::Plan, timeline::Anchor};

/// One document.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A machine.
    Machine(Machine),
    /// A module.
    Module(Module),
    /// A build.
    Build(Build),
    /// How a trial of a build ended.
    Verdict(Verdict),
    /// The newest declaration of a machine.
    Declared(Declared),
    /// The newest report of a machine.
    Report(KeptReport),
    /// A plan.
    Plan(Plan),
    /// The newest pointer of a channel.
    Pointer(KeptPointer),
    /// All conditions.
    Conditions(Keeper),
    /// Something that is told.
    Event(NumberedEvent),
    /// Up to where everything was told.
    Told(Told),
    /// Where the timeline was when something last landed.
    Clock(Anchor),
}

/// The newest declaration of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// The declaration, as it is sent.
    pub declaration: Declaration,
    /// When.
    pub at: DateTime<Utc>,
}

/// The newest report of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReport {
    /// When it arrived.
    pub at: DateTime<Utc>,
    /// The report.
    pub report: Report,
}

/// The newest pointer of a channel: machines that were away are still to hear it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPointer {
    /// What it says. The controller has looked whether that is what was signed, and not whether anybody trusts the key:
    /// each machine does that itself.
    pub pointer: Pointer,
    /// As it was signed, and as it is handed on.
    pub signed: Signed,
    /// Who brought it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// A channel of a module: one pointer of it counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PointerKey {
    /// Whose module it is.
    pub account: AccountName,
    /// Which.
    pub module: ModuleName,
    /// Which of its channels.
    pub channel: ChannelName,
}

impl KeptPointer {
    /// Which channel it is of.
    pub fn key(&self) -> PointerKey {
        let Pointer { account, module, channel, .. } = self.pointer.clone();
        PointerKey { account, module, channel }
    }
}

/// Something that is told, with its place in the order of telling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedEvent {
    /// Its place, from 1.
    pub number: u64,
    /// The event.
    pub event: Event,
}

/// Every event up to this one was told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Told {
    /// The event's number.
    pub number: u64,
}

/// Where a document is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKey {
    /// `machine/<name>`
    Machine(MachineName),
    /// `module/<name>`
    Module(ModuleName),
    /// `build/<module>/<id>`
    Build(ModuleName, BuildId),
    /// `verdict/<content>/<trial>/<stage>`
    Verdict(Content, Trial, Stage),
    /// `declared/<machine>`
    Declared(MachineName),
    /// `report/<machine>`
    Report(MachineName),
    /// `plan/<id>`
    Plan(PlanId),
    /// `pointer/<account>/<module>/<channel>`
    Pointer(PointerKey),
    /// `conditions/all`
    Conditions,
    /// `event/<number>`, padded so that the order of texts is the order of numbers
    Event(u64),
    /// `told/events`
    Told,
    /// `clock/anchor`
    Clock,
}

/// Why a document cannot be read. The document is left as it is; a controller does not start with half of what it knows.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableRecord {
    /// The key is none of ours.
    #[error(
        "the store has a document `{key}` that this version does not know; it may be from a newer one"
    )]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// The document is not what its key says.
    #[error("the document `{key}` is damaged")]
    Damaged {
        /// The key.
        key: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl Record {
    /// Where it is kept.
    pub fn key(&self) -> RecordKey {
        match self {
            Self::Machine(machine) => RecordKey::Machine(machine.name.clone()),
            Self::Module(module) => RecordKey::Module(module.name.clone()),
            Self::Build(build) => RecordKey::Build(build.module().clone(), build.id.clone()),
            Self::Verdict(verdict) => {
                RecordKey::Verdict(verdict.content.clone(), verdict.trial, verdict.stage)
            }
            Self::Declared(declared) => RecordKey::Declared(declared.declaration.machine.clone()),
            Self::Report(kept) => RecordKey::Report(kept.report.machine.clone()),
            Self::Plan(plan) => RecordKey::Plan(plan.id.clone()),
            Self::Pointer(kept) => RecordKey::Pointer(kept.key()),
            Self::Conditions(_) => RecordKey::Conditions,
            Self::Event(event) => RecordKey::Event(event.number),
            Self::Told(_) => RecordKey::Told,
            Self::Clock(_) => RecordKey::Clock,
        }
    }

    /// As it is kept.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Machine(it) => serde_json::to_vec(it),
            Self::Module(it) => serde_json::to_vec(it),
            Self::Build(it) => serde_json::to_vec(it),
            Self::Verdict(it) => serde_json::to_vec(it),
            Self::Declared(it) => serde_json::to_vec(it),
            Self::Report(it) => serde_json::to_vec(it),
            Self::Plan(it) => serde_json::to_vec(it),
            Self::Pointer(it) => serde_json::to_vec(it),
            Self::Conditions(it) => serde_json::to_vec(it),
            Self::Event(it) => serde_json::to_vec(it),
            Self::Told(it) => serde_json::to_vec(it),
            Self::Clock(it) => serde_json::to_vec(it),
        }
    }

    /// From what is kept under a key.
    pub fn decode(key: &str, bytes: &[u8]) -> Result<Self, UnreadableRecord> {
        fn read<'a, T: Deserialize<'a>>(key: &str, bytes: &'a [u8]) -> Result<T, UnreadableRecord> {
            serde_json::from_slice(bytes)
                .map_err(|source| UnreadableRecord::Damaged { key: key.to_owned(), source })
        }
        let kind = key.split('/').next().unwrap_or_default();
        Ok(match kind {
            "machine" => Self::Machine(read(key, bytes)?),
            "module" => Self::Module(read(key, bytes)?),
            "build" => Self::Build(read(key, bytes)?),
            "verdict" => Self::Verdict(read(key, bytes)?),
            "declared" => Self::Declared(read(key, bytes)?),
            "report" => Self::Report(read(key, bytes)?),
            "plan" => Self::Plan(read(key, bytes)?),
            "pointer" => Self::Pointer(read(key, bytes)?),
            "conditions" => Self::Conditions(read(key, bytes)?),
            "event" => Self::Event(read(key, bytes)?),
            "told" => Self::Told(read(key, bytes)?),
            "clock" => Self::Clock(read(key, bytes)?),
            _ => return Err(UnreadableRecord::UnknownKey { key: key.to_owned() }),
        })
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(name) => write!(f, "machine/{name}"),
            Self::Module(name) => write!(f, "module/{name}"),
            Self::Build(module, id) => write!(f, "build/{module}/{id}"),
            Self::Verdict(content, trial, stage) => {
                let stage = match stage {
                    Stage::First => "first",
                    Stage::Later => "later",
                };
                write!(f, "verdict/{content}/{trial}/{stage}")
            }
            Self::Declared(machine) => write!(f, "declared/{machine}"),
            Self::Report(machine) => write!(f, "report/{machine}"),
            Self::Plan(id) => write!(f, "plan/{id}"),
            Self::Pointer(PointerKey { account, module, channel }) => {
                write!(f, "pointer/{account}/{module}/{channel}")
            }
            Self::Conditions => f.write_str("conditions/all"),
            Self::Event(number) => write!(f, "event/{number:020}"),
            Self::Told => f.write_str("told/events"),
            Self::Clock => f.write_str("clock/anchor"),
        }
    }
}

macro_rules! into_record {
    ($($variant:ident($type:ty)),+ $(,)?) => {$(
        impl From<$type> for Record {
            fn from(it: $type) -> Self {
                Self::$variant(it)
            }
        }
    )+};
}

into_record! {
    Machine(Machine), Module(Module), Build(Build), Verdict(Verdict), Declared(Declared), Report(KeptReport), Plan(Plan),
    Pointer(KeptPointer), Conditions(Keeper), Event(NumberedEvent), Told(Told), Clock(Anchor),
}
