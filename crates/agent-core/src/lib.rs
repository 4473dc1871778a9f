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
//!   its declared module no longer lists it, to be moved onto another build, or because what it runs failed or is held;
//! - a build is installed and everything that can be known about its start is verified before the old one is touched;
//! - a build that an instance has not served is *tried*: nothing of it runs before its intent has landed in the failure
//!   book, it passes only when it has been healthy for its time without a break, and its outcome is written before the
//!   intent goes and before anything follows from it. One instance of a module tries at a time, the canary first;
//! - it runs beside what serves where both can stand; else what serves is stopped first, and is up again at once when the
//!   new one failed. A *hold* always has the instance for itself: when it fails, or ran and was not brought to its end,
//!   nothing older is started there by itself until another build has passed there;
//! - a build that has served an instance is moved to without an intent, and nothing is ever recorded of it;
//! - what failed is tried by no instance of this machine any more, whoever dies when;
//! - what kept a build from being tried says nothing of it: what served goes on or comes back, and it is tried again after
//!   a pause;
//! - at no time are two processes of one resource of one execution meant to be alive, nor three executions of an instance;
//!   two are only while one is tried, or is on its way out;
//! - what was found running when the agent began goes on, under its own execution, if it is what served. What was being
//!   tried is stopped: its outcome is not known, so it has failed. Where the book cannot be read, what runs goes on,
//!   whatever it is;
//! - no declaration is taken that is older than the newest ever seen here, as far as anything remembers that: what is kept,
//!   or what was kept with a process that still runs;
//! - while the machine's own disk gives trouble nothing new is begun, what runs goes on, and nothing that falls is given up;
//! - a build that runs, is wanted, is being installed, served before this one, or is named by the controller is never
//!   collected, and nothing is installed while builds are being removed;
//! - a statement lists every resource of every module that should run here.

mod action;
mod adopted;
mod agent;
mod applying;
mod builds;
mod cohort;
mod draws;
mod errands;
mod event;
mod excerpt;
mod execution;
mod failures;
mod held;
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
mod words;

pub use action::{Action, Decision, Landing, Start, ToLand};
pub use adopted::Adopted;
pub use agent::{Agent, Config};
pub use draws::{AskId, CheckId, Incarnation, RunId, VerificationId};
pub use event::{Ending, Event, Obstacle};
pub use failures::FoundBook;
pub use kept::Kept;
pub use served::ServedHere;
pub use time::Now;
