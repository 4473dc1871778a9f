//! Whose turn it is: a module's instances on this machine try a new build one after the other, the canary first.
//!
//! The canary is an instance that a retry freed, else the first by name. Only once a build has passed on one instance do
//! the others try it; and while one tries it, no other does.

use std::collections::{BTreeMap, BTreeSet};

use crate::failures::FoundBook;
use crate::instance::{Instance, Readiness};
use crate::placement::Place;
use crate::routing::Routing;

/// The instances that may begin now, at most one of each module. One whose turn it is and that is on its way is waited for.
pub(crate) fn turns(
    instances: &BTreeMap<Place, Instance>,
    book: &FoundBook,
    routing: &Routing,
) -> Vec<Place> {
    let busy: BTreeSet<_> = instances
        .iter()
        .filter(|(_, instance)| instance.is_trying())
        .map(|(place, _)| &place.0)
        .collect();
    let mut next: BTreeMap<_, (bool, &Place, Readiness)> = BTreeMap::new();
    for (place, instance) in instances {
        let candidate = instance.candidate().filter(|_| !busy.contains(&place.0));
        let Some((to, readiness)) = candidate else { continue };
        // Before it is known whether it could be reached it is not begun.
        let readiness = if routing.knows(to) { readiness } else { Readiness::OnItsWay };
        // False comes first. The places come in order.
        let is_later = !book.is_retried(place, to);
        let first = next.entry(&place.0).or_insert((is_later, place, readiness));
        if first.0 && !is_later {
            *first = (is_later, place, readiness);
        }
    }
    let ready = next.into_values().filter(|(.., readiness)| *readiness == Readiness::Ready);
    ready.map(|(_, place, _)| place.clone()).collect()
}
