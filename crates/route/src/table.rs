//! What a router is told to do: the table of addresses, and what can be wrong with one of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::listeners::Holder;

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

/// Why an address is not as the table says. It is as it was before, or closed if it was not open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Another process listens there.
    #[error("{} listens there already", .by.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string))]
    InUse {
        /// Which, if `/proc` tells.
        by: Option<Holder>,
    },
    /// The router's user may not listen there.
    #[error(
        "the router's user may not listen there; a port below 1024 needs root or CAP_NET_BIND_SERVICE"
    )]
    Forbidden,
    /// No network interface has the address.
    #[error("this machine has no such address")]
    NoSuchAddress,
    /// The port is 0.
    #[error("port 0 is no port to listen on")]
    NoPort,
    /// There is nothing to forward to.
    #[error("it has no backend to forward to")]
    NoBackend,
    /// What it forwards to is an address of the table, so a connection would go round for ever.
    #[error("it forwards to {backend}, where the router itself listens")]
    Loop {
        /// Where to.
        backend: SocketAddr,
    },
    /// More than [`Table::ADDRESSES_MAX`], [`Table::BACKENDS_MAX`] or [`Table::WHY_BYTES_MAX`].
    #[error("{what} of at most {most}")]
    TooMuch {
        /// Of what.
        what: String,
        /// How many at most.
        most: usize,
    },
    /// The kernel refuses for another reason.
    #[error("it cannot be listened on: {why}")]
    Other {
        /// The kernel's words.
        why: String,
    },
}

impl Table {
    /// The most addresses of a table.
    pub const ADDRESSES_MAX: usize = 2048;
    /// The most backends of an address.
    pub const BACKENDS_MAX: usize = 64;
    /// The longest sentence of a refusal, in bytes.
    pub const WHY_BYTES_MAX: usize = 1024;

    /// What is wrong with the table itself, whatever the machine says of it.
    #[must_use]
    pub fn faults(&self) -> BTreeMap<SocketAddr, Fault> {
        let beyond = self.0.keys().skip(Self::ADDRESSES_MAX);
        let beyond = beyond.map(|address| (*address, too_much("addresses", Self::ADDRESSES_MAX)));
        let faulty =
            self.0.iter().filter_map(|(address, to)| Some((*address, self.fault(*address, to)?)));
        beyond.chain(faulty).collect()
    }

    fn fault(&self, address: SocketAddr, to: &To) -> Option<Fault> {
        if address.port() == 0 {
            return Some(Fault::NoPort);
        }
        match to {
            To::Forward { to } if to.is_empty() => Some(Fault::NoBackend),
            To::Forward { to } if to.len() > Self::BACKENDS_MAX => {
                Some(too_much("backends", Self::BACKENDS_MAX))
            }
            To::Forward { to } => {
                let own = to.iter().find(|backend| self.has(**backend));
                own.map(|backend| Fault::Loop { backend: *backend })
            }
            To::Hold { then: refusal, .. } | To::Refuse(refusal) => match refusal {
                Refusal::Http { why } if why.len() > Self::WHY_BYTES_MAX => {
                    Some(too_much("bytes of a sentence", Self::WHY_BYTES_MAX))
                }
                Refusal::Http { .. } | Refusal::Close => None,
            },
        }
    }

    /// Whether the table has what answers at this address. That another address of this machine means the same is not seen.
    fn has(&self, address: SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        let on_all = match ip {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let is_listed = |ip| self.0.contains_key(&SocketAddr::new(ip, port));
        is_listed(ip) || (ip.is_loopback() && is_listed(on_all))
    }
}

fn too_much(what: &str, most: usize) -> Fault {
    Fault::TooMuch { what: what.to_owned(), most }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    fn to(backends: &[&str]) -> To {
        To::Forward { to: backends.iter().map(|backend| at(backend)).collect() }
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_of_the_address() {
        let long = Refusal::Http { why: "x".repeat(Table::WHY_BYTES_MAX + 1) };
        let many = vec![at("127.0.0.1:9"); Table::BACKENDS_MAX + 1];
        for (address, entry, expected) in [
            ("127.0.0.1:80", to(&["127.0.0.1:81"]), None),
            ("0.0.0.0:80", to(&["10.0.0.5:80", "[::1]:80"]), None),
            ("127.0.0.1:80", to(&[]), Some(Fault::NoBackend)),
            ("127.0.0.1:0", to(&["127.0.0.1:81"]), Some(Fault::NoPort)),
            (
                "0.0.0.0:80",
                to(&["127.0.0.1:81", "127.0.0.1:80"]),
                Some(Fault::Loop { backend: at("127.0.0.1:80") }),
            ),
            (
                "127.0.0.1:80",
                to(&["[::ffff:127.0.0.1]:80"]),
                Some(Fault::Loop { backend: at("[::ffff:127.0.0.1]:80") }),
            ),
            ("127.0.0.1:80", To::Forward { to: many }, Some(too_much("backends", 64))),
            ("[::1]:80", To::Refuse(Refusal::Close), None),
            ("[::1]:80", To::Refuse(long.clone()), Some(too_much("bytes of a sentence", 1024))),
            (
                "[::1]:80",
                To::Hold { limit: 1, time: Duration::ZERO, then: long },
                Some(too_much("bytes of a sentence", 1024)),
            ),
        ] {
            let table = Table(BTreeMap::from([(at(address), entry.clone())]));
            assert_eq!(table.faults().remove(&at(address)), expected, "{address} {entry:?}");
        }
    }

    #[test]
    fn what_is_beyond_the_bound_is_left_out() {
        let entry = |port| (SocketAddr::from(([127, 0, 0, 1], port)), To::Refuse(Refusal::Close));
        let table = Table((1..=2050).map(entry).collect());
        let faults = table.faults();
        assert_eq!(faults.len(), 2);
        assert!(faults.contains_key(&at("127.0.0.1:2050")), "{faults:?}");
    }
}
