//! The agent's loop: gathers what happens on bus, host and clock, runs the core, carries out what it decides.
//!
//! [`run`] is generic over the ports and owns all state in one place: one loop takes one event at a time, and slow work
//! (installs, starts, checks, stops, requests) runs in tasks that send what came of it back as events. What a decision
//! lands is on the disk before what follows from it is done or said.
//!
//! Before anything else the host is asked what runs already: workloads outlive their agent, and the next one goes on with
//! them.
//!
//! What happens and what is decided is told to people, a line for each fact (`telling`).
//!
//! Nothing is decided here: when to try again, what to say and what to stop is all in `agent-core`.

mod asked;
mod config;
mod desk;
mod log;
mod outbox;
mod repeats;
mod routes;
mod run;
mod shelf;
mod telling;
mod work;

pub use agent_core::{Ending, Incarnation};
pub use config::Config;
pub use desk::ReopenError;
pub use log::{Log, Severity};
pub use run::{RunError, run, run_without_store};
pub use shelf::KeptBook;
