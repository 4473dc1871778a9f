//! The failure records: by build, and in book order.

use super::HashMap;
use crate::entries::Record;
use crate::names::Build;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A record's place in book order. Ordinals only grow, so a new record is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ordinal(u64);

impl Ordinal {
    /// The place of this number.
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// All records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Records {
    /// The records of each build, in book order; never none. Only a document brings several, of
    /// which the first counts.
    builds: HashMap<Build, VecDeque<(Ordinal, Record)>>,
    order: BTreeMap<Ordinal, Build>,
    next: u64,
}

impl Records {
    /// The record that counts for a build.
    pub(crate) fn first(&self, build: &Build) -> Option<&Record> {
        self.builds.get(build)?.front().map(|(_, record)| record)
    }

    /// The same, to be changed, with its place.
    pub(crate) fn first_mut(&mut self, build: &Build) -> Option<(Ordinal, &mut Record)> {
        self.builds.get_mut(build)?.front_mut().map(|(ordinal, record)| (*ordinal, record))
    }

    /// The record at a place.
    pub(crate) fn at(&self, ordinal: Ordinal) -> Option<&Record> {
        let of_build = self.builds.get(self.order.get(&ordinal)?)?;
        let place = of_build.binary_search_by_key(&ordinal, |(ordinal, _)| *ordinal).ok()?;
        of_build.get(place).map(|(_, record)| record)
    }

    /// Adds a record at the end.
    pub(crate) fn push(&mut self, record: Record) -> Ordinal {
        let ordinal = Ordinal(self.next);
        self.put_last(ordinal, record);
        ordinal
    }

    /// Adds a record at a place after all others.
    pub(crate) fn put_last(&mut self, ordinal: Ordinal, record: Record) {
        self.next = ordinal.0.saturating_add(1);
        self.order.insert(ordinal, record.build.clone());
        self.builds.entry(record.build.clone()).or_default().push_back((ordinal, record));
    }

    /// Removes the record that counts for a build.
    pub(crate) fn remove_first(&mut self, build: &Build) -> Option<Ordinal> {
        let of_build = self.builds.get_mut(build)?;
        let (ordinal, _) = of_build.pop_front()?;
        if of_build.is_empty() {
            self.builds.remove(build);
        }
        self.order.remove(&ordinal);
        Some(ordinal)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// All records in book order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Ordinal, &Record)> {
        self.order.keys().filter_map(|ordinal| Some((*ordinal, self.at(*ordinal)?)))
    }

    /// The builds of which `keep` says no, in book order, each once for each of its records.
    pub(crate) fn without(&self, keep: impl Fn(&Build) -> bool) -> Vec<Build> {
        self.order.values().filter(|build| !keep(build)).cloned().collect()
    }
}
