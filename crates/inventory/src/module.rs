//! A module: which build is registered, where it is assigned, and how it is released.

mod assignment;
mod waves;

use names::{AccountName, BuildId, ModuleName};
use serde::{Deserialize, Serialize};

use crate::machine::Hold;

pub use assignment::{
    Assignment, Environment, Instances, InstancesError, Target, TargetError, instances_on,
};
pub use waves::{Percent, WaveSize, WaveSizeError, Waves, WavesError};

/// A deployable unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Whose it is.
    #[serde(default)]
    pub account: AccountName,
    /// Unique in the fleet.
    pub name: ModuleName,
    /// The build its machines are sent when nothing else says otherwise; `None` until one was registered.
    pub registered: Option<BuildId>,
    /// Where it runs.
    #[serde(default)]
    pub assignments: Vec<Assignment>,
    /// Who starts its releases.
    pub release: Release,
    /// Whether a person keeps releases of it back.
    pub hold: Option<Hold>,
    /// How a release spreads over its machines.
    #[serde(default)]
    pub waves: Waves,
}

/// Who starts the releases of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Each newly registered build is released by itself.
    Automatic,
    /// A person says `release`.
    Manual,
}
