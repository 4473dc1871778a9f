//! What an agent decides, without doing any of it: declarations, the move of instances onto builds, supervision,
//! statements and reports.
//!
//! [`Agent`] is a state machine. [`Event`]s and [`Now`] go in, a [`Decision`] comes out: what is to be done, in order, and
//! at most one thing that must be on the disk before the agent goes on. There is no clock, no I/O and no randomness here;
//! the same events at the same times give the same decisions.
//!
//! What holds, whatever comes in:
//!
//! - nothing of a declaration is begun or answered *taken* before it has landed;
//! - what a declaration does not speak of is left alone: an instance is stopped only when its module is withdrawn, when
//!   its declared module no longer lists it, or to be moved onto another build;
//! - a build is installed and everything that can be known about its start is verified before the old one is touched;
//! - at no time are two processes of one resource of one instance meant to be alive;
//! - what was found running when the agent began is taken for what runs: it goes on, under its own execution, unless
//!   another build is wanted there or nothing is;
//! - no declaration is taken that is older than the newest ever seen here, as far as anything remembers that: what is kept,
//!   or what was kept with a process that still runs;
//! - while the machine's own disk gives trouble nothing new is begun, what runs goes on, and nothing that falls is given up;
//! - a build that runs, is wanted, is being installed, served before this one, or is named by the controller is never
//!   collected, and nothing is installed while builds are being removed;
//! - a statement lists every resource of every module that should run here.

mod action;
mod adopted;
mod agent;
mod builds;
mod cohort;
mod draws;
mod errands;
mod event;
mod excerpt;
mod execution;
mod failures;
mod hello;
mod instance;
mod kept;
mod offer;
mod placement;
mod report;
mod routing;
mod served;
mod statement;
mod supervised;
mod time;
mod trial;
mod troubles;
mod turn;

pub use action::{Action, Decision, Landing, Start, ToLand};
pub use adopted::Adopted;
pub use agent::{Agent, Config};
pub use draws::{AskId, CheckId, Incarnation, RunId, VerificationId};
pub use event::{Ending, Event, Obstacle};
pub use failures::FoundBook;
pub use kept::Kept;
pub use served::ServedHere;
pub use time::Now;
