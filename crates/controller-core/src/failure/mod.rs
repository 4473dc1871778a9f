//! What is done with a wave that did not pass its gate: judged builds marked, previous builds put back.
//!
//! A [`Handling`] is a value stepped by answers: [`Handling::need`] says the one thing that it waits
//! for, [`Handling::answer`] takes it. It does nothing itself, serialises at every step, and may be
//! cut anywhere: what it asks for can be repeated without harm. Keep it durable before the first
//! step, so that a restarted controller finishes the rollback that was decided, with the same id.
//!
//! The order is the promise: nothing is sent before the verdict and the plan were kept, and nothing
//! is said to be put back before its machines reported it.

mod answer;
mod case;
mod event;
mod handling;
mod late;
mod need;
mod not_back;
mod note;
mod preparing;
mod putting_back;
mod rules;

pub use answer::{
    Answer, FailedBuild, HeldBack, KeptVerdict, Likeness, NotAsked, PreviousBuild, Recorded,
    Refusal, Report, Reported, Sent, Wrote,
};
pub use case::{Ended, FailedModule, Gate, Handled, JudgedGate, ModuleState, Target};
pub use event::RollbackEvent;
pub use handling::Handling;
pub use need::{Awaited, Need, PutBack, RollbackRecord, VerdictRecord};
pub use not_back::{NotBack, Stuck, StuckWhy};
pub use note::{Note, NoteKind};
pub use rules::{Form, Rules};
