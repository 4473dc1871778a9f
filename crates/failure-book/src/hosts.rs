//! A set of hosts that keeps the order in which they were listed.

use crate::names::Host;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

/// Hosts, each once, in the order in which they were listed.
#[derive(Clone, Default)]
pub struct Hosts {
    /// Each host's place in the order; places only grow.
    places: BTreeMap<Host, u64>,
    next: u64,
}

impl Hosts {
    /// Lists a host at the end; answers whether it was not listed yet.
    pub(crate) fn insert(&mut self, host: &Host) -> bool {
        if self.contains(host) {
            return false;
        }
        self.places.insert(host.clone(), self.next);
        self.next += 1;
        true
    }

    /// Takes a host off the list; answers whether it was listed.
    pub(crate) fn remove(&mut self, host: &Host) -> bool {
        self.places.remove(host).is_some()
    }

    /// Whether a host is listed.
    #[must_use]
    pub fn contains(&self, host: &Host) -> bool {
        self.places.contains_key(host)
    }

    /// Whether no host is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The hosts in the order in which they were listed.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        let mut listed: Vec<_> = self.places.iter().collect();
        listed.sort_unstable_by_key(|(_, place)| **place);
        listed.into_iter().map(|(host, _)| host)
    }
}

impl PartialEq for Hosts {
    fn eq(&self, other: &Self) -> bool {
        self.places.len() == other.places.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Hosts {}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Host> for Hosts {
    fn from_iter<T: IntoIterator<Item = Host>>(hosts: T) -> Self {
        let mut listed = Self::default();
        for host in hosts {
            listed.insert(&host);
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn the_order_is_that_of_listing_and_each_host_is_there_once() {
        let host = |name| Host::new(name).unwrap();
        let mut hosts: Hosts = [host("h3"), host("h1"), host("h3")].into_iter().collect();
        assert!(hosts.insert(&host("h2")));
        assert!(!hosts.insert(&host("h1")));
        assert!(hosts.remove(&host("h3")));
        assert!(hosts.insert(&host("h3")));
        let names: Vec<_> = hosts.iter().map(Host::as_str).collect();
        assert_eq!(names, ["h1", "h2", "h3"]);
        assert_eq!(hosts, [host("h1"), host("h2"), host("h3")].into_iter().collect());
        assert_ne!(hosts, [host("h2"), host("h1"), host("h3")].into_iter().collect());
    }

    #[test]
    fn no_hosts_are_empty_and_some_are_not() {
        let mut hosts = Hosts::default();
        assert!(hosts.is_empty());
        hosts.insert(&Host::new("h1").unwrap());
        assert!(!hosts.is_empty());
        assert_eq!(format!("{hosts:?}"), "[Host(h1)]");
    }
}
