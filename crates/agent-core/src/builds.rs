//! What is done to the builds on the disk: installs, and the removal of what nobody needs. Never both at a time.

use std::collections::{BTreeMap, BTreeSet};

use inventory::Artifact;
use names::{BuildId, ModuleName};
use wire::BuildsKept;

use crate::action::Action;
use crate::instance::Instance;
use crate::kept::Kept;
use crate::placement::Place;

/// One build of one module.
type Installed = (ModuleName, BuildId);

/// The installs and the removal that were asked for and are not over.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    installs: BTreeSet<Installed>,
    removal: Removal,
}

#[derive(Debug, Default)]
enum Removal {
    #[default]
    None,
    /// Builds are being removed; these installs begin once that is over. Were they to begin before, a build could be found
    /// whole, counted as installed, and then be removed.
    Asked { then: Vec<Action> },
}

impl Builds {
    /// The action that brings a build onto the disk; `None` while it is on its way already, or has to wait.
    pub(crate) fn install(
        &mut self,
        module: ModuleName,
        build: BuildId,
        artifacts: Vec<Artifact>,
    ) -> Option<Action> {
        if !self.installs.insert((module.clone(), build.clone())) {
            return None;
        }
        let install = Action::Install { module, build, artifacts };
        match &mut self.removal {
            Removal::None => Some(install),
            Removal::Asked { then } => {
                then.push(install);
                None
            }
        }
    }

    pub(crate) fn installed(&mut self, module: &ModuleName, build: &BuildId) {
        self.installs.remove(&(module.clone(), build.clone()));
    }

    /// The removal is over; what waited for that comes back.
    pub(crate) fn collected(&mut self) -> Vec<Action> {
        match std::mem::take(&mut self.removal) {
            Removal::None => Vec::new(),
            Removal::Asked { then } => then,
        }
    }

    /// Asks for the removal of what nobody needs, on the controller's word. Only a word about the declaration that is held
    /// says anything, and only while nothing moves: then all that is in use is known.
    pub(crate) fn collect(
        &mut self,
        word: BuildsKept,
        kept: &Kept,
        instances: &BTreeMap<Place, Instance>,
    ) -> Option<Action> {
        let is_idle = self.installs.is_empty()
            && matches!(self.removal, Removal::None)
            && instances.values().all(Instance::is_at_rest);
        if word.under != kept.declaration.number || !is_idle {
            return None;
        }
        self.removal = Removal::Asked { then: Vec::new() };
        Some(Action::Collect { keep: needed(word, kept, instances) })
    }
}

/// Every build that stays: what the controller names, and all that this machine has a use for by itself. A word that was
/// true when it was said may be old by now, and never takes what served here last.
fn needed(
    word: BuildsKept,
    kept: &Kept,
    instances: &BTreeMap<Place, Instance>,
) -> BTreeSet<Installed> {
    let named = word
        .builds
        .into_iter()
        .flat_map(|(module, builds)| builds.into_iter().map(move |build| (module.clone(), build)));
    let wanted = kept.declaration.modules.iter().chain(&kept.left);
    let wanted = wanted.map(|(module, one)| (module.clone(), one.build.clone()));
    let here = instances.iter().flat_map(|(place, instance)| {
        let running = instance.executions().map(|running| &running.placement);
        let placements = running.chain(instance.wanted()).map(|one| &one.module.build);
        let served = kept.served.get(&place.0).and_then(|instances| instances.get(&place.1));
        let good = served.map(|served| &served.good.build);
        let last = served.and_then(|served| served.earlier.last());
        placements.chain(good).chain(last).map(|build| (place.0.clone(), build.clone()))
    });
    named.chain(wanted).chain(here).collect()
}
