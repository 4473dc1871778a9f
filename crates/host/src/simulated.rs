//! A machine in memory: builds behave by script, and time moves only when the caller moves it.
//!
//! One [`SimHost`] is one machine in one boot. Dropping every handle on a simulated process kills it, as the real host
//! does, so a crashed agent takes its processes along and a restarted one finds its installed builds.

mod host;
mod process;
mod script;
mod world;

pub use host::SimHost;
pub use process::SimProcess;
pub use script::{BuildScript, Checks, Install, Life, Obstacle, Start, Stopping};
pub use world::Started;
