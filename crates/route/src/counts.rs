//! What a router counts.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// What there is and was at each address: those of the table, and those from which connections are still open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts(pub BTreeMap<SocketAddr, AddressCounts>);

/// Connections of one address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressCounts {
    /// How many wait: for the address to be turned, or for a backend that can be reached.
    pub queued: u64,
    /// How many have arrived since it was opened.
    pub total: u64,
    /// How many of those were refused.
    pub refused: u64,
    /// Where they go and went. A backend is listed while it is in the table or has open connections.
    pub backends: BTreeMap<SocketAddr, BackendCounts>,
}

/// Connections to one backend, from one address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendCounts {
    /// How many are open, or on their way.
    pub open: u64,
    /// How many attempts there were to reach it.
    pub total: u64,
}

impl Counts {
    /// How many connections to a backend are open, from all addresses.
    #[must_use]
    pub fn open_to(&self, backend: SocketAddr) -> u64 {
        let counts = self.0.values().filter_map(|address| address.backends.get(&backend));
        counts.map(|counts| counts.open).sum()
    }
}
