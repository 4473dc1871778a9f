//! Port for one machine: builds on its disk, processes, checks, its clock; and a simulated machine.
//!
//! A [`Host`] does what it is told and says how that went. It decides nothing: what runs, what is tried again and what is
//! given up is the business of whoever holds it. What it
//! started outlives its holder, and the next one adopts it.

mod port;
mod process;
pub mod simulated;

pub use port::{AdoptError, Bundle, Clock, Host, InstallError, RouteError};
pub use process::{Adopted, CheckFailed, Exit, Notify, Process, ProcessSpec, StartError};
