//! Where a machine's public addresses lead: what an engine tells the machine's router.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Every address that is listened on, and what becomes of a connection to it.
///
/// A table is absolute: an address that is not in it is closed. An address of IPv6 takes IPv6 alone, also `[::]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table(pub BTreeMap<SocketAddr, To>);

/// What becomes of the connections to an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// They go to these, at least one: each new connection to the next of them, and on to another if that cannot be reached.
    Forward {
        /// The backends.
        to: Vec<SocketAddr>,
    },
    /// They wait, unread, until the address is turned to something else.
    Hold {
        /// How many may wait at a time.
        limit: u32,
        /// How long each may.
        time: Duration,
        /// What becomes of those over the limit or the time.
        then: Refusal,
    },
    /// They are refused.
    Refuse(Refusal),
}

/// How a connection is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It is closed.
    Close,
    /// It is answered as an HTTP request is: 503 with `Retry-After`.
    Http {
        /// A sentence for whoever asked.
        why: String,
    },
}
