//! The book agrees with a model of it that is written the plain way, whatever the journal does.

use crate::model::{Given, Model};
use crate::operations::{Operation, steps};
use crate::restrictions::everywhere;
use crate::sheet::{Sheet, time};
use crate::world::World;
use failure_book::{Generation, Served};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The heart of the laws: the same operations, the same faults, the same crashes. Answers,
    /// entries in their order, numbers, debts and clears are the same. Where a write tore, the
    /// model is told what is on the disk, and says what an open makes of it.
    #[test]
    fn the_book_is_as_its_rules_say(steps in steps()) {
        let mut world = World::new();
        let mut model = Model::new(&world.book().id().to_string());
        same(&world, &model)?;
        for step in &steps {
            let snapshot = step.operation.snap().and_then(|snap| world.snapshot(snap));
            let grant = step.operation.grant().map(|signed| world.sign(signed));
            if grant == Some(None) {
                continue;
            }
            if let (Operation::Crash, true) = (&step.operation, model.is_disk_unknown()) {
                model.learn_disk(world.on_disk().as_ref().map(Sheet::of).unwrap_or_default());
            }
            let outcome = world.step(step);
            let given = Given {
                now: time(Some(world.now())),
                snapshot,
                grant: grant.flatten(),
                fresh: world.last_identity(),
                faults: step.faults,
            };
            prop_assert_eq!(outcome, Some(model.run(&step.operation, &given)), "{:?}", step);
            same(&world, &model)?;
        }
    }
}

fn same(world: &World, model: &Model) -> Result<(), TestCaseError> {
    let book = world.book();
    prop_assert_eq!(Sheet::of(&book.kept()), model.memory.clone());
    prop_assert_eq!(book.save_owed(), model.is_owed());
    prop_assert_eq!(book.reconciled(), model.reconciled);
    prop_assert_eq!(book.snapshot().map(|snapshot| snapshot.get()), Some(model.memory.seq + 1));
    for (build, host) in everywhere() {
        let (text, on) = (build.to_string(), host.to_string());
        let record = model.memory.records.iter().find(|record| record.build == text);
        let lists = |hosts: &[String]| hosts.contains(&on);
        let retried = record.is_some_and(|record| lists(&record.retried));
        let held_down = record.is_some_and(|record| lists(&record.held_down)) && !retried;
        prop_assert_eq!(book.blocks(&build, &host, Served::NotYet), record.is_some() && !retried);
        prop_assert!(!book.blocks(&build, &host, Served::Already));
        prop_assert_eq!(book.retried(&build, &host), retried);
        prop_assert_eq!(book.held_down(&build, &host), held_down);
        let generation = model.generation(&text, &on);
        let is = |generation: Option<Generation>| generation.map_or(0, Generation::get);
        prop_assert_eq!(is(book.restriction_generation(&build, &host)), generation);
        let published = if model.is_owed() { 0 } else { generation };
        prop_assert_eq!(is(book.published_generation(&build, &host)), published);
        let app = build.app();
        prop_assert_eq!(book.for_app(&app).count(), book.for_app_len(&app));
    }
    prop_assert_eq!(book.hold_ran_count(), model.memory.markers.len());
    Ok(())
}
