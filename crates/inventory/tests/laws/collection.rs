//! No build that something rests on is collected, and no blob of a build that stays.

use std::collections::BTreeSet;

use inventory::{InUse, KeptFor, NEWEST_KEPT, collect};
use names::BuildId;
use proptest::{collection::btree_set, prelude::*};

use crate::fleet;

fn ids() -> impl Strategy<Value = BTreeSet<BuildId>> {
    btree_set((0..80u8).prop_map(fleet::build_id), 0..4)
}

fn in_use() -> impl Strategy<Value = InUse> {
    (ids(), ids(), ids(), ids()).prop_map(
        |(registered, declared, last_proven, rollback_targets)| InUse {
            registered,
            declared,
            last_proven,
            rollback_targets,
        },
    )
}

proptest! {
    #[test]
    fn what_is_in_use_or_new_stays_and_only_the_rest_goes(
        builds in prop::collection::btree_map(0..80u8, (0..2u8, btree_set(0..40u8, 0..3)), 0..70),
        in_use in in_use(),
    ) {
        let builds: Vec<_> = builds
            .into_iter()
            .map(|(number, (module, files))| {
                fleet::build(number, module, &files.into_iter().collect::<Vec<_>>())
            })
            .collect();
        let blobs = (0..40).map(fleet::digest);
        let collection = collect(&builds, blobs.clone(), &in_use);

        let used = [&in_use.registered, &in_use.declared, &in_use.last_proven, &in_use.rollback_targets];
        for build in &builds {
            let is_used = used.iter().any(|ids| ids.contains(&build.id));
            let newer = builds.iter().filter(|other| {
                other.module() == build.module() && other.registered_at > build.registered_at
            });
            let is_new = newer.count() < NEWEST_KEPT;
            prop_assert_eq!(collection.kept.contains_key(&build.id), is_used || is_new);
            prop_assert_eq!(collection.collectable.contains(&build.id), !is_used && !is_new);
        }
        for blob in blobs {
            let kept = builds.iter().filter(|build| collection.kept.contains_key(&build.id));
            let referenced = kept.flat_map(|build| &build.artifacts).any(|file| file.digest == blob);
            prop_assert_eq!(collection.unreferenced.contains(&blob), !referenced);
        }
    }
}

#[test]
fn the_first_reason_that_holds_is_the_one_given() {
    let builds = [fleet::build(1, 1, &[])];
    let this = || [fleet::build_id(1)].into();
    let cases = [
        (InUse { registered: this(), declared: this(), ..InUse::default() }, KeptFor::Registered),
        (InUse { declared: this(), last_proven: this(), ..InUse::default() }, KeptFor::Declared),
        (
            InUse { last_proven: this(), rollback_targets: this(), ..InUse::default() },
            KeptFor::LastProven,
        ),
        (InUse { rollback_targets: this(), ..InUse::default() }, KeptFor::RollbackTarget),
        (InUse::default(), KeptFor::Newest),
    ];
    for (in_use, reason) in cases {
        let collection = collect(&builds, [], &in_use);
        assert_eq!(collection.kept, [(fleet::build_id(1), reason)].into());
    }
}

#[test]
fn what_a_rollback_needs_outlives_any_number_of_newer_builds() {
    let builds: Vec<_> = (0..60).map(|number| fleet::build(number, 1, &[number])).collect();
    let in_use = InUse { rollback_targets: [fleet::build_id(0)].into(), ..InUse::default() };
    let collection = collect(&builds, [fleet::digest(0), fleet::digest(1)], &in_use);
    assert_eq!(collection.kept[&fleet::build_id(0)], KeptFor::RollbackTarget);
    assert_eq!(collection.kept.len(), NEWEST_KEPT + 1);
    assert_eq!(collection.unreferenced, [fleet::digest(1)].into());
}
