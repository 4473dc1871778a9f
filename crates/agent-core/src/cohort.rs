//! Whose turn it is: a module's instances on this machine try a new build one after the other, the canary first.
//!
//! The canary is an instance that a retry freed, else the first by name. Only once a build has passed on one instance do
//! the others try it; and while one tries it, no other does.

use std::collections::{BTreeMap, BTreeSet};

use crate::failures::FoundBook;
use crate::instance::Instance;
use crate::placement::Place;

/// The instances that may begin now, at most one of each module.
pub(crate) fn turns(instances: &BTreeMap<Place, Instance>, book: &FoundBook) -> Vec<Place> {
    let is_trying = |instance: &&Instance| instance.tried().is_some();
    let busy: BTreeSet<_> = instances
        .iter()
        .filter(|(_, instance)| is_trying(instance))
        .map(|(place, _)| &place.0)
        .collect();
    let mut next: BTreeMap<_, (bool, &Place)> = BTreeMap::new();
    for (place, instance) in instances {
        let Some(to) = instance.queued().filter(|_| !busy.contains(&place.0)) else { continue };
        // False comes first.
        let rank = (!book.is_retried(place, to), place);
        let first = next.entry(&place.0).or_insert(rank);
        *first = rank.min(*first);
    }
    next.into_values().map(|(_, place)| place.clone()).collect()
}
