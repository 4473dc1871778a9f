//! The event that says how a rollback ended.

use chrono::{DateTime, Utc};
use conditions::{End, Key, Rollback};
use serde::{Deserialize, Serialize};

/// How a rollback ended. Published once it is known; may be published again after a restart, with
/// the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackEvent {
    /// When it was known.
    pub at: DateTime<Utc>,
    /// The rollback's id.
    pub rollback_id: String,
    /// The module.
    pub module: String,
    /// The core component that the module is.
    pub component: Option<String>,
    /// The gate's machines.
    pub machines: Vec<String>,
    /// The commit that did not pass.
    pub from: Option<String>,
    /// The commit that ran there before.
    pub to: Option<String>,
    /// How the gate ended.
    pub end: End,
    /// Why it ended so.
    pub why: String,
    /// How the rollback stands.
    pub rollback: Rollback,
    /// The code of why it was not put back.
    pub not_back: Option<String>,
    /// The words for it.
    pub not_why: Option<String>,
    /// The condition that says the same; `None` when there is none.
    pub key: Option<Key>,
    /// The command that shows more.
    pub show: String,
}

impl RollbackEvent {
    /// The event's name.
    pub const NAME: &'static str = "rolled-back";
}
