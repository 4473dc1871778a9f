//! Judges a release on a machine by evidence: facts to health to verdict.
#![no_std]

extern crate alloc;

mod about_machine;
mod component;
mod ended;
mod facts;
mod gate;
mod health;
mod index;
mod judging;
mod line;
mod policy;
mod reason;
mod recording;
mod rules;
mod took;
mod wave;
mod weight;

pub use about_machine::{AboutMachine, GATE_SOURCE, about_machine};
pub use component::{Component, core_component};
pub use ended::{Cause, End, Ended, FailedBy, Wanting};
pub use facts::{
    Baseline, Catalogue, Condition, Conditions, ControllerHealth, Facts, Holder, Manifest,
    ModuleReport, Outcome, Report, Resource, ResourceName, ResourceState, Served, Statement,
    Subject, ToolNames, Unreadable, WitnessVerdict,
};
pub use gate::{Gate, Miss, NothingToJudge, Opening, Pair, Readiness, Row, Sent, SentTo};
pub use health::{Health, Moved, health};
pub use index::FactsIndex;
pub use judging::{Found, Judging, NotCounted, Unread};
pub use line::{Builds, GateLine, LineState, LineTail, LineWords, gate_line};
pub use policy::{NeverPasses, Policy};
pub use reason::{Broken, NotYet, Reason, Unnamed};
pub use recording::{Known, RecordedStep, Recording, Replayed};
pub use rules::{
    BaselineUse, BeforeSend, BetweenPasses, CoreBehind, EmptyGate, FailFast, Identity, Lack,
    LatePass, MachineInId, OnSilence, ReportTime, Restated, Rules, ServedTools, SetBack,
    SettleFrom, Unable, UnreadableFacts,
};
pub use took::{took_text, whole_seconds};
pub use weight::{Blame, Weight};
