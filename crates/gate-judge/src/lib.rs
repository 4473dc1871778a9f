//! Judges a release on a machine by evidence: facts to health to verdict.
//!
//! "It reported applied" is not enough: a build can apply and then do nothing, crash-loop, serve no
//! tools or break the machine's word. So what one send moved is kept under a [`Gate`] and judged by
//! evidence, until it ends.
//!
//! ```text
//!  Facts ── index ──> FactsIndex            one reading of all sources, for all machines
//!                         │
//!        per machine      │ about_machine   its own conditions are the machine's, sorted first
//!        per pair         │ health          good, or the first check that speaks:
//!                         │                   witness, report, conditions, catalogue, then
//!                         │                   engine | node tools | lease | tools + resources
//!                         v
//!  Gate ── judge ──> Judging                the worst health of all pairs is the judging's
//!                         │
//!      broken             │ ends it: failed
//!      not yet            │ ends the row of passes; beyond the bound it ends the gate:
//!                         │   failed when there is evidence, cannot tell when all is silence
//!      good               │ a counted pass, when the last is far enough and every machine has
//!                         v   said something fresh; enough of them for long enough: passed
//!  Ended                                    final
//! ```
//!
//! - **Time and identities are arguments.** There is no clock, no I/O and no randomness here. Times
//!   should come from a clock that does not step; one that runs back counts no pass.
//! - **Unknown is its own value.** A source that cannot be read is an error in [`Facts`], and is
//!   never read as healthy; evidence that does not name what it is about is *not yet*.
//! - **Silence never passes and always ends**: as *cannot tell*, which condemns no build, unless
//!   the silent source is itself what was moved.
//! - **A gate is a value.** It is written down after each judging, and read again it goes on.
//! - **Every knob is in [`Rules`]**, each with its own test of what it changes. The recorded
//!   behaviour of the reference is [`Rules::reference`]; [`Rules::default`] is what one wants.
//!
//! ```
//! use gate_judge::{Catalogue, Conditions, Facts, Found, Gate, Manifest, Opening, Rules, Sent};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let since = chrono::DateTime::UNIX_EPOCH;
//! let opening = Opening {
//!     module: "blog".to_owned(),
//!     machines: vec!["box-3".to_owned()],
//!     carried: vec![],
//!     from: Some("3f1c".to_owned()),
//!     to: "9ab2".to_owned(),
//!     since,
//!     sent: Sent::default(),
//! };
//! let rules = Rules::default();
//! let catalogue = Catalogue::from([("blog".to_owned(), Manifest::default())]);
//! let facts: Facts = serde_json::from_str(r#"{"judged": true}"#)?;
//!
//! let mut gate = Gate::open(opening, &rules)?;
//! let judging = gate.judge(&facts.index(), &catalogue, since, &rules);
//! assert_eq!(judging.found, Found::Wanting);
//! assert_eq!(judging.wanting[0].reason.code(), "not_reported");
//! # Ok(())
//! # }
//! ```
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
mod places;
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
    BaselineUse, BeforeSend, BetweenPasses, CoreBehind, EmptyGate, FailFast, Identity, IllMachine,
    Lack, LatePass, MachineInId, OnSilence, ReportTime, Restated, Rules, ServedTools, SetBack,
    SettleFrom, Unable, UnreadableFacts,
};
pub use took::{took_text, whole_seconds};
pub use weight::{Blame, Weight};
