//! Which builds are kept, and which builds and blobs may go.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use names::{BuildId, Digest, ModuleName};

use crate::build::Build;

/// How many of a module's newest builds are kept whatever they are used for: enough to go back to by hand.
pub const NEWEST_KEPT: usize = 20;

/// The builds that something rests on. Ids of builds that are not there say nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InUse {
    /// Registered by a module.
    pub registered: BTreeSet<BuildId>,
    /// Declared to a machine, also one that has not answered or is away.
    pub declared: BTreeSet<BuildId>,
    /// The last of a module that was proven.
    pub last_proven: BTreeSet<BuildId>,
    /// What a rollback puts back, or would put back if an open gate failed.
    pub rollback_targets: BTreeSet<BuildId>,
}

/// Why a build is kept: the first of these that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptFor {
    /// It is registered.
    Registered,
    /// It is declared to a machine.
    Declared,
    /// It is the last proven one.
    LastProven,
    /// A rollback needs it.
    RollbackTarget,
    /// It is one of the newest of its module.
    Newest,
}

/// What stays and what may go.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Collection {
    /// The builds that stay, and why.
    pub kept: BTreeMap<BuildId, KeptFor>,
    /// The builds that may go.
    pub collectable: BTreeSet<BuildId>,
    /// The blobs that no build that stays refers to. They may go once the builds are gone for good.
    pub unreferenced: BTreeSet<Digest>,
}

impl InUse {
    fn why(&self, build: &BuildId) -> Option<KeptFor> {
        let reasons = [
            (&self.registered, KeptFor::Registered),
            (&self.declared, KeptFor::Declared),
            (&self.last_proven, KeptFor::LastProven),
            (&self.rollback_targets, KeptFor::RollbackTarget),
        ];
        reasons.into_iter().find(|(builds, _)| builds.contains(build)).map(|(_, reason)| reason)
    }
}

/// Sorts all builds, of whatever modules, and all blobs. A blob that is still being uploaded for a build to come must not
/// be among them: nobody refers to it yet.
///
/// Verdicts are no part of this: what is known of a content outlives every build of it.
pub fn collect<'a>(
    builds: impl IntoIterator<Item = &'a Build>,
    blobs: impl IntoIterator<Item = Digest>,
    in_use: &InUse,
) -> Collection {
    let mut of_modules: BTreeMap<&ModuleName, Vec<&Build>> = BTreeMap::new();
    for build in builds {
        of_modules.entry(build.module()).or_default().push(build);
    }
    let mut kept = BTreeMap::new();
    let mut collectable = BTreeSet::new();
    let mut referenced = BTreeSet::new();
    for mut builds in of_modules.into_values() {
        builds.sort_by_key(|build| Reverse((build.registered_at, &build.id)));
        for (age, build) in builds.into_iter().enumerate() {
            let newest = (age < NEWEST_KEPT).then_some(KeptFor::Newest);
            let Some(reason) = in_use.why(&build.id).or(newest) else {
                collectable.insert(build.id.clone());
                continue;
            };
            kept.insert(build.id.clone(), reason);
            referenced.extend(build.artifacts.iter().map(|artifact| &artifact.digest));
        }
    }
    let unreferenced = blobs.into_iter().filter(|blob| !referenced.contains(blob)).collect();
    Collection { kept, collectable, unreferenced }
}
