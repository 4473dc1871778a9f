//! What has served each instance, as it is kept.

use std::collections::{BTreeMap, BTreeSet};

use inventory::DeclaredModule;
use names::{BuildId, InstanceName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::placement::{Place, Placement};

/// How many builds that served an instance are remembered beside its good one. One that is forgotten counts as new when it
/// comes again: it is tried with an intent, as any other.
const EARLIER_MAX: usize = 20;

/// What has served one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedHere {
    /// What passed here last, as it was declared for this instance alone.
    pub good: DeclaredModule,
    /// The builds that passed before it, the newest last.
    pub earlier: Vec<BuildId>,
    /// Builds that held the instance, by their records or by its marker, when another one passed here: they hold it no
    /// longer, until they are tried here again.
    #[serde(default)]
    pub outlived: BTreeSet<BuildId>,
}

/// By module and instance. An instance that is withdrawn keeps its row: its data is still there.
pub(crate) type Served = BTreeMap<ModuleName, BTreeMap<InstanceName, ServedHere>>;

/// What served an instance last.
pub(crate) fn good(served: &Served, place: &Place) -> Option<Placement> {
    let here = served.get(&place.0)?.get(&place.1)?;
    Some(Placement::of(&place.1, here.good.clone()))
}

/// Whether an instance has served a build.
pub(crate) fn has_served(served: &Served, place: &Place, build: &BuildId) -> bool {
    let here = served.get(&place.0).and_then(|instances| instances.get(&place.1));
    here.is_some_and(|here| here.good.build == *build || here.earlier.contains(build))
}

/// Whether a newer build passed on an instance after this one had held it.
pub(crate) fn has_outlived(served: &Served, place: &Place, build: &BuildId) -> bool {
    let here = served.get(&place.0).and_then(|instances| instances.get(&place.1));
    here.is_some_and(|here| here.outlived.contains(build))
}

/// The same with what serves an instance from now on, and what that one has outlived.
pub(crate) fn with_good(
    served: &Served,
    place: &Place,
    good: &Placement,
    newly_outlived: &BTreeSet<BuildId>,
) -> Served {
    let mut served = served.clone();
    let instances = served.entry(place.0.clone()).or_default();
    let declared = good.declared(&place.1);
    let (earlier, mut outlived) = match instances.remove(&place.1) {
        None => Default::default(),
        Some(ServedHere { good: before, mut earlier, outlived }) => {
            if before.build != declared.build {
                earlier.push(before.build);
            }
            earlier.retain(|build| *build != declared.build);
            let too_many = earlier.len().saturating_sub(EARLIER_MAX);
            earlier.drain(..too_many);
            (earlier, outlived)
        }
    };
    outlived.extend(newly_outlived.iter().cloned());
    instances.insert(place.1.clone(), ServedHere { good: declared, earlier, outlived });
    served
}

/// The same where a build that was outlived runs on an instance once more.
pub(crate) fn with_reopened(served: &Served, place: &Place, build: &BuildId) -> Served {
    let mut served = served.clone();
    let here = served.get_mut(&place.0).and_then(|instances| instances.get_mut(&place.1));
    if let Some(here) = here {
        here.outlived.remove(build);
    }
    served
}
