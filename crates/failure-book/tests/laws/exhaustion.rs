//! A book without numbers is at its end: nothing of it lands or is published any more.

use crate::operations::{Operation, Step, steps};
use crate::restrictions::everywhere;
use crate::world::World;
use failure_book::{Fault, Journal, Kept, MemoryJournal, Unsaved};
use proptest::prelude::*;

/// The last number that is given.
const LAST: u64 = u64::MAX - 2;

/// A journal with a book that has so many numbers left.
fn nearly_exhausted(left: u64) -> MemoryJournal {
    let mut journal = MemoryJournal::new();
    let book = format!(
        r#"{{"format": 1, "book": "00112233445566778899aabbccddeeff", "seq": {}}}"#,
        LAST - left
    );
    journal.entries_mut().insert("book".to_owned(), book.into_bytes());
    journal
}

fn on_disk(world: &World) -> Option<Kept> {
    world.journal().clone().load().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Once a change needed a number that was not there, until the next open: nothing lands,
    /// nothing is published, nothing executes, no grant frees anything, no snapshot is given, and
    /// every answer says so. The disk stays as it was.
    #[test]
    fn exhaustion_is_final(steps in steps(), left in 0..12_u64) {
        let mut world = World::over(nearly_exhausted(left));
        let mut end: Option<(Option<Kept>, u64)> = None;
        for step in &steps {
            let outcome = world.step(step);
            if let Operation::Crash = step.operation {
                end = world.book().is_exhausted().then(|| (on_disk(&world), world.journal().landings()));
                continue;
            }
            let Some(outcome) = outcome else { continue };
            if let Some((disk, landings)) = &end {
                prop_assert!(world.book().is_exhausted());
                let is_refusal =
                    outcome.word == "exhausted" || outcome.word == "intent stands";
                prop_assert!(is_refusal || outcome.error == Some(Unsaved::Exhausted), "{outcome:?}");
                prop_assert!(outcome.word != "may execute");
                prop_assert!(!outcome.word.starts_with("freed of"), "{outcome:?}");
                prop_assert_eq!(world.journal().landings(), *landings);
                prop_assert_eq!(&on_disk(&world), disk);
            }
            if world.book().is_exhausted() {
                end.get_or_insert_with(|| (on_disk(&world), world.journal().landings()));
                prop_assert!(world.book().save_owed());
                prop_assert_eq!(world.book().snapshot(), None);
                for (build, host) in everywhere() {
                    prop_assert_eq!(world.book().published_generation(&build, &host), None);
                }
            }
        }
    }

    /// The next open begins from what landed, which has no number past the last.
    #[test]
    fn no_number_past_the_last_is_on_the_disk(steps in steps(), left in 0..12_u64) {
        let mut world = World::over(nearly_exhausted(left));
        for Step { operation, faults } in steps {
            let faults = faults.map(|fault| fault.filter(|fault| *fault != Fault::Fails));
            world.step(&Step { operation, faults });
            let text = on_disk(&world).unwrap().to_document().unwrap();
            for past in [LAST + 1, LAST + 2] {
                prop_assert!(!text.contains(&past.to_string()), "{text}");
            }
        }
    }
}
