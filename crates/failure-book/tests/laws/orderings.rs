//! In which order a retry and a failure are heard does not decide: when the execution began does.

use crate::operations::{Operation, Snap, at, failure, host, operation};
use crate::world::World;
use failure_book::{Failure, Host, Served};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// How a host is freed.
#[derive(Debug, Clone, Copy)]
enum Freeing {
    Retry,
    Grant,
    Pointer,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A failure of an execution that began before a retry says nothing against it: the host stays
    /// free, and no record is made or changed. One that began after it spends the retry. Both hold
    /// whatever happens in between, to other builds.
    #[test]
    fn only_an_execution_from_after_a_retry_spends_it(
        (failure, other) in (failure(), host()),
        freeing in select(vec![Freeing::Retry, Freeing::Grant, Freeing::Pointer]),
        between in vec(operation(), 0..6),
    ) {
        let mut world = World::new();
        let build = failure.build.clone();
        let record = |failure: &Failure, snapshot| Operation::Record {
            failure: Failure { promoted_at: Some(at(0)), ..failure.clone() },
            snapshot,
        };
        world.well(record(&failure, Snap::None));
        let before = world.book().snapshot();
        free(&mut world, &failure, freeing);
        prop_assert!(!world.book().blocks(&build, &failure.host, Served::NotYet));

        for operation in between.into_iter().filter(|one| is_about_others(one, &failure)) {
            world.well(operation);
        }
        let kept = world.book().lookup(&build).cloned();
        let after = world.book().snapshot();

        world.snapshots = before.into_iter().collect();
        let late = record(&failure, Snap::Taken(index()));
        prop_assert_eq!(world.well(late.clone()).word, "pre_retry");
        prop_assert_eq!(world.book().lookup(&build).cloned(), kept);
        prop_assert!(!world.book().blocks(&build, &failure.host, Served::NotYet));

        // A retry of one host frees no other: the same execution there would count.
        if other != failure.host && !matches!(freeing, Freeing::Pointer) {
            prop_assert!(world.book().blocks(&build, &other, Served::NotYet));
            let elsewhere = Failure { host: other, ..failure.clone() };
            world.snapshots = before.into_iter().collect();
            let word = world.well(record(&elsewhere, Snap::Taken(index()))).word;
            prop_assert_ne!(word, "pre_retry");
        }

        world.snapshots = after.into_iter().collect();
        let word = world.well(record(&failure, Snap::Taken(index()))).word;
        prop_assert!(word == "recorded" || word == "merged", "{word}");
        prop_assert!(world.book().blocks(&build, &failure.host, Served::NotYet));
    }

    /// The canary that a retry let through may be running: no second retry, of whatever kind, makes
    /// its failure stale. It spends the retry.
    #[test]
    fn a_running_retry_is_spent_by_its_failure(
        failure in failure(),
        again in vec(select(vec![Freeing::Retry, Freeing::Grant]), 0..3),
    ) {
        let mut world = World::new();
        let record = |snapshot| Operation::Record { failure: failure.clone(), snapshot };
        world.well(record(Snap::None));
        free(&mut world, &failure, Freeing::Retry);
        let began = world.book().snapshot();
        for freeing in again {
            free(&mut world, &failure, freeing);
        }
        world.snapshots = began.into_iter().collect();
        prop_assert_eq!(world.well(record(Snap::Taken(index()))).word, "merged");
        prop_assert!(world.book().blocks(&failure.build, &failure.host, Served::NotYet));
    }
}

/// The only index into a list of one.
fn index() -> prop::sample::Index {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    any::<prop::sample::Index>().new_tree(&mut runner).unwrap().current()
}

fn free(world: &mut World, failure: &Failure, freeing: Freeing) {
    let (build, host): (_, Host) = (failure.build.clone(), failure.host.clone());
    let operation = match freeing {
        Freeing::Retry => Operation::RetryHost { build, host },
        Freeing::Grant => {
            let grant = crate::operations::Signed::Fitting { build, host };
            match world.sign(&grant) {
                None => return,
                Some(_) => Operation::RetryHostAt { grant },
            }
        }
        Freeing::Pointer => Operation::ClearOnPointer { build, promoted_at: Some(at(100)) },
    };
    world.well(operation);
}

/// Whether an operation leaves the build of a failure alone.
fn is_about_others(operation: &Operation, failure: &Failure) -> bool {
    let is_other = |build: &failure_book::Build| *build != failure.build;
    match operation {
        Operation::Record { failure, .. } => is_other(&failure.build),
        Operation::Mark { ran, .. } => is_other(&ran.build),
        Operation::RetryHost { build, .. } | Operation::ClearOnPointer { build, .. } => {
            is_other(build)
        }
        Operation::Begin { .. }
        | Operation::End { .. }
        | Operation::ClearHoldRan { .. }
        | Operation::ClearHoldRanBefore { .. }
        | Operation::ClearHoldRanOnPointer { .. }
        | Operation::Flush
        | Operation::SaveIfDirty
        | Operation::RotateIdentity => true,
        Operation::RetryHostAt { .. } | Operation::Prune { .. } | Operation::Crash => false,
    }
}
