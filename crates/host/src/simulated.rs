//! A machine in memory: builds behave by script, and time moves only when the caller moves it.
//!
//! One [`SimHost`] is one machine in one boot. As on the real one, processes outlive the handles on them: a restarted agent
//! finds its installed builds and adopts what runs.

mod host;
mod process;
mod script;
mod world;

pub use host::SimHost;
pub use process::SimProcess;
pub use script::{BuildScript, Checks, Install, Life, Obstacle, Start, Stopping};
pub use world::Started;
