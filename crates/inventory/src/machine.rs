//! What is known of a machine for long; what changes by the second (last heard, the agent's build) is no part of it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use names::{LabelKey, MachineName};
use serde::{Deserialize, Serialize};

use crate::text::checked_text;

/// A box that runs an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Unique in the fleet: a second one that claims it with another key is refused.
    pub name: MachineName,
    /// What people say of it, for assignments and waves to select by.
    #[serde(default)]
    pub labels: BTreeMap<LabelKey, LabelValue>,
    /// The key that signs what it says; `None` until it has shown one.
    pub public_key: Option<PublicKey>,
    /// When it was added.
    pub enrolled_at: DateTime<Utc>,
    /// What else it does for the fleet, which is why a release goes there late.
    #[serde(default)]
    pub roles: BTreeSet<Role>,
    /// Whether a person keeps releases away from it.
    pub hold: Option<Hold>,
}

/// What a machine does for the whole fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The acting controller runs there.
    LeadMachine,
    /// The bus runs there.
    Bus,
}

/// A person's word that nothing is released here until it is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Who said it.
    pub by: String,
    /// Why, in that person's words.
    pub why: String,
    /// Since when.
    pub since: DateTime<Utc>,
}

checked_text! {
    /// The value of a machine's label, for example `true` or `eu-west.1`.
    LabelValue,
    "label value",
    "1 to 63 letters, digits, `.`, `-` and `_` are allowed",
    |text| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
        (1..=63).contains(&text.len()) && text.bytes().all(allowed)
    }
}

checked_text! {
    /// A public key as text. What kind of key it is, is known to whoever checks signatures.
    PublicKey,
    "public key",
    "1 to 128 visible ASCII characters are wanted",
    |text| (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
}
