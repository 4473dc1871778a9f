//! Why a stale grant can clear nothing, as properties. The argument stands at `Grant`.

use crate::operations::{Operation, Step, steps};
use crate::restrictions::{by_app, everywhere, generations, of};
use crate::world::World;
use failure_book::{App, BookId, Grant};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What stood for each generation that was published, wherever and whenever.
#[derive(Debug, Default)]
struct Seen(BTreeMap<(BookId, App, u64), String>);

impl Seen {
    /// Notes what is published now. What was published before under the same names is the same.
    fn look(&mut self, world: &World) -> Result<(), TestCaseError> {
        let book = world.book();
        let states = by_app(book);
        for (build, host) in everywhere() {
            let Some(generation) = book.published_generation(&build, &host) else { continue };
            prop_assert!(!book.save_owed(), "published what is not all on the disk");
            let app = build.app();
            let state = states[&app].clone();
            let seen = self.0.entry((book.id(), app, generation.get())).or_insert(state.clone());
            prop_assert_eq!(&*seen, &state, "generation {} stands for two states", generation);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A generation stands for one state of its app, for ever: over any operations, on a journal
    /// that fails, tears and loses its answers, and across any crashes.
    #[test]
    fn a_published_generation_stands_for_one_state(steps in steps()) {
        let mut world = World::new();
        let mut seen = Seen::default();
        for step in &steps {
            world.step(step);
            seen.look(&world)?;
        }
    }

    /// So a grant frees only the state that it was signed for, and of that only what it names.
    #[test]
    fn a_grant_frees_only_what_it_was_signed_for(steps in steps()) {
        let mut world = World::new();
        let mut seen = Seen::default();
        for step in &steps {
            let grant = step.operation.grant().and_then(|signed| world.sign(signed));
            let (states, before, id) = (by_app(world.book()), of(world.book()), world.book().id());
            let outcome = world.step(step);
            if let Some(grant) = grant {
                let word = outcome.map(|outcome| outcome.word).unwrap_or_default();
                frees_only(&world, &grant, &word, (&states, &before, id), &seen)?;
            }
            seen.look(&world)?;
        }
    }

    /// Within a process every change of what an app restricts takes a larger generation, and an
    /// app without a generation restricts nothing.
    #[test]
    fn every_change_takes_a_larger_generation(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            let (states, before) = (by_app(world.book()), generations(world.book()));
            let seq = world.book().seq();
            world.step(step);
            if let Operation::Crash = step.operation {
                continue;
            }
            let after = generations(world.book());
            prop_assert!(world.book().seq() >= seq);
            for (app, state) in by_app(world.book()) {
                let [was, is] = [&before, &after].map(|of| of.get(&app).copied());
                if states[&app] != state {
                    prop_assert!(is.is_none() || is > was, "{app} was {was:?} and is {is:?}");
                    prop_assert!(is.is_none_or(|is| is > seq), "a number from before");
                }
                prop_assert!(is.is_some() || state == "[] []", "{app} restricts: {state}");
                prop_assert!(is >= was || is.is_none());
            }
        }
    }

    /// The counter on the disk only grows, whatever the journal does.
    #[test]
    fn the_counter_on_the_disk_only_grows(steps in steps()) {
        let mut world = World::new();
        let mut last = 0;
        for step in &steps {
            world.step(step);
            if let Some(kept) = world.on_disk() {
                let text = kept.to_document().unwrap();
                let document: serde_json::Value = serde_json::from_str(&text).unwrap();
                let seq = document["seq"].as_u64().unwrap_or(0);
                prop_assert!(seq >= last, "{seq} after {last}");
                last = seq;
                for (app, generation) in document["gens"].as_object().into_iter().flatten() {
                    prop_assert!(generation.as_u64() <= Some(seq), "{app} is ahead of the counter");
                }
            }
        }
    }
}

type Before<'a> = (
    &'a BTreeMap<App, String>,
    &'a std::collections::BTreeSet<crate::restrictions::Restriction>,
    BookId,
);

fn frees_only(
    world: &World,
    grant: &Grant,
    word: &str,
    (states, before, id): Before<'_>,
    seen: &Seen,
) -> Result<(), TestCaseError> {
    use crate::restrictions::Restriction::{Blocked, HeldDown, HoldRan};
    let after = of(world.book());
    if word == "freed nothing" {
        prop_assert_eq!(&after, before);
        return Ok(());
    }
    let app = grant.build.app();
    prop_assert_eq!(grant.book, id);
    // Either it was published, and the state is the one that was seen then; or nobody could have
    // seen it, and it was made up to fit.
    if let Some(seen) = seen.0.get(&(grant.book, app.clone(), grant.generation.get())) {
        prop_assert_eq!(seen, &states[&app]);
    }
    let named = |kind: fn(_, _) -> _| kind(grant.build.clone(), grant.host.clone());
    let named = [named(Blocked), named(HeldDown), named(HoldRan)];
    let freed: Vec<_> = before.difference(&after).collect();
    prop_assert!(!freed.is_empty() && freed.iter().all(|one| named.contains(one)), "{freed:?}");
    prop_assert!(after.is_subset(before));
    Ok(())
}

/// The laws would hold of a book to which nothing happens. Things do.
#[test]
fn the_steps_reach_what_the_laws_are_about() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut words = BTreeMap::<String, u32>::new();
    for _ in 0..200 {
        let steps: Vec<Step> = steps().new_tree(&mut runner).unwrap().current();
        let mut world = World::new();
        for step in &steps {
            let owed = world.book().save_owed();
            let reconciled = world.step(step).map(|outcome| {
                *words.entry(outcome.word).or_default() += 1;
                world.book().reconciled()
            });
            if let (Operation::Crash, Some(1..)) = (&step.operation, reconciled) {
                *words.entry("reconciled".to_owned()).or_default() += 1;
            }
            if let (Operation::Crash, true) = (&step.operation, owed) {
                *words.entry("crashed while a save was owed".to_owned()).or_default() += 1;
            }
        }
    }
    for word in [
        "recorded",
        "merged",
        "unchanged",
        "pre_retry",
        "cleared",
        "not cleared",
        "may execute",
        "intent stands",
        "not landed",
        "freed nothing",
        "freed of the record",
        "freed of the marker",
        "freed of both",
        "reconciled",
        "crashed while a save was owed",
    ] {
        assert!(words.get(word).is_some_and(|count| *count >= 5), "{word}: {words:?}");
    }
}
