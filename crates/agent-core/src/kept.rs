//! What an agent keeps on disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use inventory::{Declaration, DeclaredModule};
use names::{InstanceName, ModuleName};
use serde::{Deserialize, Serialize};
use wire::signed::{Floors, Signed, UsedGrants};
use wire::{Held, RefusedDeclaration};

use crate::placement::{Place, Placement};
use crate::served::Served;

/// Everything that an agent must remember across its own restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The newest declaration taken, as it came.
    pub declaration: Declaration,
    /// What earlier declarations wanted and no later one spoke of: it runs on.
    pub left: BTreeMap<ModuleName, DeclaredModule>,
    /// What has served each instance. An agent from before this was kept has said nothing of it.
    #[serde(default)]
    pub served: Served,
    /// The newest pointer of each channel: no older one is taken.
    #[serde(default)]
    pub floors: Floors,
    /// The grants that were used here.
    #[serde(default)]
    pub used: UsedGrants,
    /// The keys that took the place of those in the machine's own file, as they were signed, the oldest first.
    #[serde(default)]
    pub rotations: Vec<Signed>,
    /// When the declaration was taken, by this machine's clock.
    #[serde(default)]
    pub taken_at: Option<DateTime<Utc>>,
    /// How many agent processes have begun with this on their disk. It makes the revisions of reports grow across
    /// restarts without a write for each report: a full disk must not keep the report that says so.
    pub engines: u64,
}

impl Kept {
    /// What is kept once `declaration` is taken.
    ///
    /// A module that it declares with instances is that module's whole wish, so instances that it no longer lists are
    /// stopped. A module declared without any instance says nothing about where it runs: as everywhere, an empty list
    /// stops nothing.
    /// `wanted` is what should run before it: what [`Kept::wanted`] says, or what was found where nothing was kept.
    pub(crate) fn taking<'a>(
        declaration: Declaration,
        wanted: impl Iterator<Item = (&'a ModuleName, &'a DeclaredModule)>,
        served: Served,
        before: Option<&Self>,
        now: DateTime<Utc>,
    ) -> Self {
        let speaks_of = |module: &ModuleName| {
            declaration.withdrawn.contains(module) || Self::places(&declaration, module)
        };
        let left = wanted.filter(|(module, _)| !speaks_of(module));
        let left = left.map(|(module, wanted)| (module.clone(), wanted.clone())).collect();
        Self {
            declaration,
            left,
            served,
            floors: before.map(|one| one.floors.clone()).unwrap_or_default(),
            used: before.map(|one| one.used.clone()).unwrap_or_default(),
            rotations: before.map(|one| one.rotations.clone()).unwrap_or_default(),
            taken_at: Some(now),
            engines: before.map_or(1, |one| one.engines),
        }
    }

    /// Whether what has not served by this has not served. An agent from before that was kept noted no time either.
    pub(crate) fn knows_what_served(&self) -> bool {
        self.taken_at.is_some()
    }

    /// Which declaration it is.
    #[must_use]
    pub fn held(&self) -> Held {
        let Declaration { number, epoch, .. } = self.declaration;
        Held { number, epoch, digest: self.declaration.digest() }
    }

    /// Everything that should run here.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (&ModuleName, &DeclaredModule)> {
        let declared = self.declaration.modules.iter();
        let declared = declared.filter(|(_, module)| !module.instances.is_empty());
        declared.chain(&self.left)
    }

    /// What should run where.
    pub(crate) fn placements(&self) -> BTreeMap<Place, Placement> {
        let mut placements = BTreeMap::new();
        for (name, wanted) in self.wanted() {
            let module = Arc::new(DeclaredModule { instances: BTreeMap::new(), ..wanted.clone() });
            for (instance, environment) in &wanted.instances {
                let placement = Placement {
                    module: Arc::clone(&module),
                    environment: environment.clone(),
                    composed_at: self.declaration.composed_at.or(self.taken_at),
                };
                placements.insert((name.clone(), instance.clone()), placement);
            }
        }
        placements
    }

    /// Why it cannot be kept: an instance of two modules. What fails on a machine is kept by the names of its instances.
    pub(crate) fn shared_name(&self) -> Option<RefusedDeclaration> {
        let mut owners: BTreeMap<&InstanceName, &ModuleName> = BTreeMap::new();
        for (module, wanted) in self.wanted() {
            for instance in wanted.instances.keys() {
                if let Some(owner) = owners.insert(instance, module) {
                    let mut modules = [owner.clone(), module.clone()];
                    modules.sort();
                    let instance = instance.clone();
                    return Some(RefusedDeclaration::SharedInstance { instance, modules });
                }
            }
        }
        None
    }

    fn places(declaration: &Declaration, module: &ModuleName) -> bool {
        declaration.modules.get(module).is_some_and(|declared| !declared.instances.is_empty())
    }
}
