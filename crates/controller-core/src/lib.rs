//! Decides what the controller does: plans, gates, rollbacks.
//!
//! [`Controller`] is a state machine without I/O. What happened goes in; what has to land, and what may then be done, comes
//! out as [`Step`]s, one at a time. Everything that is decided rests on documents that landed ([`Records`]) and on what was
//! heard from machines ([`Sighting`]), so a controller that dies anywhere goes on from its documents.
//!
//! | question | file |
//! |---|---|
//! | which builds move, where, in which order | `ask/release.rs`, `begin.rs`, `first_machine.rs`, `waves.rs` |
//! | what a machine is declared | `send.rs`, `catch_up.rs`, `put_back.rs`, `deliver.rs` |
//! | which builds it keeps on its disk | `kept_there.rs` |
//! | which machines are handed a signed pointer | `ask/point.rs`, `hand_over.rs` |
//! | what a gate's end leads to | `judge.rs` |
//! | what is done with a failure | `failure/`, driven by `put_back.rs` |
//! | what is wrong now | `doctor.rs` |
//! | what people see | `view/` |

mod ask;
mod begin;
mod catch_up;
mod controller;
mod deliver;
mod doctor;
mod facts;
pub mod failure;
mod first_machine;
mod hand_over;
mod judge;
mod kept_there;
mod moved;
mod plan;
mod put_back;
mod record;
mod records;
mod reports;
mod send;
mod sighting;
mod state;
mod step;
mod supersede;
mod timeline;
mod view;
mod waves;

pub use ask::{Asking, Reply};
pub use controller::{Controller, Stranger};
pub use first_machine::{Because, Choice, Preference};
pub use plan::{Asked, Move, Place, Plan, PlanState, Tier};
pub use put_back::PutBack;
pub use record::{
    Declared, KeptPointer, KeptReport, NumberedEvent, PointerKey, Record, RecordKey, Told,
    UnreadableRecord,
};
pub use records::{EVENTS_KEPT, Records};
pub use sighting::{Delivery, Handed, Memory, SILENT_AFTER, Sighting, Stated};
pub use state::{HeldOff, Rules, State};
pub use step::{Effect, Handing, Step, Write};
pub use timeline::{Anchor, Reading, Timeline};
pub use waves::Wave;
