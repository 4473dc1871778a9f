//! Pruning forgets what can restrict nothing here, and frees nothing that still does.

use crate::operations::{Operation, build, steps};
use crate::restrictions::{Restriction, by_app, generations, of};
use crate::world::World;
use proptest::collection::btree_set;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What a prune lifts is about builds that are not installed, and is no marker. What it leaves
    /// is the same to the letter. An app has a generation afterwards exactly when it restricts.
    #[test]
    fn prune_frees_nothing_that_still_restricts(
        steps in steps(),
        installed in btree_set(build(), 0..6),
    ) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        let before = of(world.book());
        let records: Vec<_> = world.book().list().cloned().collect();
        let intents = world.book().kept();
        world.well(Operation::Prune { installed: installed.clone() });

        let after = of(world.book());
        prop_assert!(after.is_subset(&before));
        for lifted in before.difference(&after) {
            match lifted {
                Restriction::Blocked(build, _) | Restriction::HeldDown(build, _) => {
                    prop_assert!(!installed.contains(build), "{lifted:?}");
                }
                Restriction::HoldRan(..) => prop_assert!(false, "{lifted:?}"),
            }
        }
        let kept: Vec<_> =
            records.into_iter().filter(|record| installed.contains(&record.build)).collect();
        prop_assert_eq!(world.book().list().cloned().collect::<Vec<_>>(), kept);
        let [was, is] = [intents, world.book().kept()].map(|kept| crate::sheet::Sheet::of(&kept));
        prop_assert_eq!(was.intents, is.intents);
        let generations = generations(world.book());
        for (app, state) in by_app(world.book()) {
            prop_assert_eq!(generations.contains_key(&app), state != "[] []", "{} {}", app, state);
        }
    }
}
