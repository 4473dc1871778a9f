//! What the controller tells anyone who listens.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Something happened. Kinds: `condition-raised`, `condition-changed`, `condition-cleared`, `rolled-back`, `plan-moved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, by the controller's clock.
    pub at: DateTime<Utc>,
    /// What kind of thing.
    pub kind: String,
    /// In a sentence.
    pub summary: String,
    /// All its fields.
    pub fields: serde_json::Map<String, serde_json::Value>,
}
