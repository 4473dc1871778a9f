//! What is wrong now: observations to conditions, raised and cleared.
//!
//! A probe looks at facts and yields [`Observation`]s, all of them on every run. The [`Keeper`] turns
//! them into [`Condition`]s: raised when first seen, kept while seen, cleared when their source runs
//! and no longer says them. What changed comes back as [`Event`]s.
//!
//! Pure: no clock and no I/O. Time is an argument, and the keeper is a value that serialises.

#![no_std]

extern crate alloc;

mod condition;
mod gate;
mod history;
mod keeper;
mod observation;
mod probe;
mod rules;
mod witness;
mod words;

pub use condition::{Acknowledgement, Condition, Event, Silence};
pub use gate::{End, FailedGate, Rollback, observe_gate};
pub use history::{FLAPPING_APPEARANCES, FLAPPING_WINDOW, History, Steadiness};
pub use keeper::{FailedRun, Keeper, NotOpen};
pub use observation::{Key, Observation, Resolver, Severity, Subject, Summary, first_of_each_key};
pub use probe::observe_ends;
pub use rules::Rules;
pub use witness::{Outcome, WitnessVerdict, observe_witness};
pub use words::{Kind, Scope, Source};
