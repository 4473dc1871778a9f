//! What landed survives any crash, and what did not is owed.

use crate::operations::{Operation, Snap, Step, steps};
use crate::restrictions::{Restriction, of};
use crate::world::{Outcome, World};
use failure_book::{ExecutionId, Failure, Fault, Host, Hosts, Intent, MarkerWish, Mode, Unsaved};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What the journal said had landed, less what was lifted since.
#[derive(Debug, Default)]
struct Promised {
    restrictions: BTreeSet<Restriction>,
    intents: BTreeMap<Host, Intent>,
}

impl Promised {
    /// Looks at the book after an operation.
    ///
    /// An intent that took the place of another, and is not known to have landed, may be on the
    /// disk in its place: which of the two that is, nobody can promise.
    fn look(&mut self, world: &World, operation: &Operation, outcome: Option<&Outcome>) {
        let has_not_landed = outcome.is_some_and(|outcome| outcome.word == "not landed");
        if let Some(host) = operation.begins_on().filter(|_| has_not_landed) {
            self.intents.remove(host);
        }
        let now = of(world.book());
        let intents: BTreeMap<_, _> = crate::operations::HOSTS
            .into_iter()
            .map(|host| Host::new(host).unwrap())
            .filter_map(|host| Some((host.clone(), world.book().intent_of(&host)?.clone())))
            .collect();
        if world.book().save_owed() {
            // An intent that had landed and ended since, with a failure: either the disk still has
            // the intent, or it has the failure.
            for (host, intent) in &self.intents {
                if intents.get(host) != Some(intent) {
                    let failed = Restriction::Blocked(intent.build.clone(), host.clone());
                    self.restrictions.insert(failed);
                }
            }
            self.restrictions.retain(|restriction| now.contains(restriction));
            self.intents.retain(|host, intent| intents.get(host) == Some(intent));
        } else {
            *self = Self { restrictions: now, intents };
        }
    }
}

/// A marker gives its place to that of an execution without an outcome.
fn is_replaced(lost: &Restriction, world: &World) -> bool {
    match lost {
        Restriction::HoldRan(_, host) => world.book().hold_ran_on(host).is_some(),
        Restriction::Blocked(..) | Restriction::HeldDown(..) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// After any crash every restriction that had landed stands, but those that were lifted since;
    /// and every execution that had begun and has no outcome has failed.
    #[test]
    fn what_landed_survives_any_crash(steps in steps()) {
        let mut world = World::new();
        let mut promised = Promised::default();
        for step in &steps {
            let outcome = world.step(step);
            if let Operation::Crash = step.operation {
                let stands = of(world.book());
                let lost = promised.restrictions.difference(&stands);
                let lost: Vec<_> = lost.filter(|lost| !is_replaced(lost, &world)).collect();
                prop_assert!(lost.is_empty(), "lost {lost:?}");
                for (host, intent) in &promised.intents {
                    let failed = Restriction::Blocked(intent.build.clone(), host.clone());
                    prop_assert!(stands.contains(&failed), "{host} is free to try again");
                    if intent.mode.is_hold() {
                        let marker = world.book().hold_ran_on(host).map(|marker| &marker.build);
                        prop_assert_eq!(marker, Some(&intent.build));
                    }
                }
            }
            promised.look(&world, &step.operation, outcome.as_ref());
        }
    }

    /// Once nothing is owed, the disk has exactly what memory has.
    #[test]
    fn when_nothing_is_owed_the_disk_is_memory(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
            if !world.book().save_owed() {
                prop_assert_eq!(world.on_disk(), Some(world.book().kept()));
            }
        }
    }

    /// A failed save is owed until one lands, and nothing is published meanwhile; then all of it is
    /// on the disk.
    #[test]
    fn a_failed_save_is_owed_and_never_forgotten(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            let was_owed = world.book().save_owed();
            let landings = world.journal().landings();
            let Some(outcome) = world.step(step) else { continue };
            let is_owed = world.book().save_owed();
            if let Operation::Crash = step.operation {
                continue;
            }
            if outcome.error == Some(Unsaved::Failed) {
                prop_assert!(is_owed);
            }
            let tried = world.journal().landings() - landings;
            prop_assert!(!was_owed || is_owed || tried > 0, "the debt went away by itself");
            // A refused begin apart, whatever is called tries an owed save again.
            if was_owed && outcome.word != "intent stands" {
                prop_assert!(tried > 0, "{:?} did not try", step.operation);
            }
            if is_owed {
                for (build, host) in crate::restrictions::everywhere() {
                    prop_assert_eq!(world.book().published_generation(&build, &host), None);
                }
            }
        }
        let saved = world.well(Operation::SaveIfDirty);
        prop_assert_eq!(saved.error, None);
        prop_assert_eq!(world.on_disk(), Some(world.book().kept()));
    }

    /// Nothing executes whose intent is not on the disk.
    #[test]
    fn no_execution_without_a_landed_intent(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            let Step { operation, .. } = step;
            let before =
 operation.begins_on().and_then(|host| world.book().intent_of(host)).cloned();
            let Some(outcome) = world.step(step) else { continue };
            let Operation::Begin { host, intent } = operation else { continue };
            match outcome.word.as_str() {
                "may execute" => {
                    prop_assert_eq!(outcome.error, None);
                    let mut crashed = World::over(world.journal().clone());
                    prop_assert!(crashed.book().reconciled() > 0);
                    let failed = Restriction::Blocked(intent.build.clone(), host.clone());
                    prop_assert!(of(crashed.book()).contains(&failed));
                    crashed.well(Operation::SaveIfDirty);
                }
                _ => prop_assert_eq!(world.book().intent_of(host), before.as_ref()),
            }
        }
    }
}

/// The life of an execution that fails, with each fault at each of its three landings, and a crash
/// after the last. Once it could have run, its failure is remembered, by the record or by what the
/// next open makes of the intent.
#[test]
fn a_failed_execution_is_remembered_wherever_it_is_cut() {
    let torn = (0..6).map(|entries| Some(Fault::Torn { entries }));
    let faults: Vec<_> =
        [None, Some(Fault::Fails), Some(Fault::Lies)].into_iter().chain(torn).collect();
    let host = Host::new("h1").unwrap();
    let build = crate::restrictions::builds().next().unwrap();
    let id = ExecutionId::new("a1f-1").unwrap();
    let intent = Intent { build: build.clone(), mode: Mode::HOLD, id: id.clone(), start: None };
    let failure = Failure {
        build: build.clone(),
        host: host.clone(),
        cause: "release".to_owned(),
        mode: Mode::HOLD,
        reason: "it exited".to_owned(),
        promoted_at: None,
        at: None,
        held_down: Hosts::from_iter([host.clone()]),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    };
    let mut cut = 0;
    for (begin, record, end) in faults.iter().flat_map(|begin| {
        let faults = &faults;
        faults.iter().flat_map(move |record| faults.iter().map(move |end| (*begin, *record, *end)))
    }) {
        let mut world = World::new();
        let mut step = |operation, fault| world.step(&Step { operation, faults: [fault, None] });
        let begun =
            step(Operation::Begin { host: host.clone(), intent: intent.clone() }, begin).unwrap();
        if begun.word != "may execute" {
            continue;
        }
        step(Operation::Record { failure: failure.clone(), snapshot: Snap::None }, record);
        step(Operation::End { host: host.clone(), id: id.clone() }, end);
        step(Operation::Crash, None);
        assert!(world.book().held_down(&build, &host), "{begin:?}, {record:?}, {end:?}");
        cut += 1;
    }
    assert_eq!(cut, 81, "without a landed intent nothing executes");
}
