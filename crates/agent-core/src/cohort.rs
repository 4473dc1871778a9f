//! Whose turn it is: a module's instances on this machine try a new build one after the other, the canary first.
//!
//! The canary is the first by name of those that may try it: where the build has failed here before, the one that a retry
//! freed, since the record keeps all others away. Only once a build has passed on one instance do the others try it; and
//! while one tries it, no other does.

use std::collections::{BTreeMap, BTreeSet};

use crate::instance::{Instance, Readiness};
use crate::placement::Place;
use crate::routing::Routing;

/// The instances that may begin now, at most one of each module. One whose turn it is and that is on its way is waited for.
pub(crate) fn turns(instances: &BTreeMap<Place, Instance>, routing: &Routing) -> Vec<Place> {
    let trying = instances.iter().filter(|(_, instance)| instance.is_trying());
    let busy: BTreeSet<_> = trying.map(|(place, _)| &place.0).collect();
    let mut next: BTreeMap<_, (&Place, Readiness)> = BTreeMap::new();
    for (place, instance) in instances {
        // The places come in order.
        if let Some(readiness) = instance.candidate(routing).filter(|_| !busy.contains(&place.0)) {
            next.entry(&place.0).or_insert((place, readiness));
        }
    }
    let ready = next.into_values().filter(|(_, readiness)| *readiness == Readiness::Ready);
    ready.map(|(place, _)| place.clone()).collect()
}
