//! Laws that hold for every sequence of runs.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use conditions::{
    Event, Keeper, Key, Kind, Observation, Resolver, Scope, Severity, Source, Subject, Summary,
};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Run(u8, Vec<Observation>),
    Fail(u8),
    Sight(u8, Box<Observation>),
    Restart,
}

fn observation() -> impl Strategy<Value = Observation> {
    let kind = prop_oneof![Just(Kind::SILENT), Just(Kind::UNHEALTHY)];
    let severity = prop_oneof![Just(Severity::Warning), Just(Severity::Urgent)];
    (kind, severity, 0..3_u8).prop_map(|(kind, severity, machine)| Observation {
        subject: Subject {
            scope: Scope::MACHINE,
            id: format!("m{machine}"),
            machine: Some(format!("m{machine}")),
            also: Vec::new(),
        },
        token: kind.as_str().to_owned(),
        kind,
        severity,
        source: None,
        resolver: Resolver::System,
        summary: Summary { code: "wrong".into(), text: "it is wrong".to_owned() },
        show: "controller doctor".to_owned(),
        resolve: Vec::new(),
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..2_u8, prop::collection::vec(observation(), 0..4))
            .prop_map(|(source, observations)| Step::Run(source, observations)),
        1 => (0..2_u8).prop_map(Step::Fail),
        1 => (0..2_u8, observation()).prop_map(|(source, seen)| Step::Sight(source, Box::new(seen))),
        1 => Just(Step::Restart),
    ]
}

fn source(number: u8) -> Source {
    Source::new(format!("probe-{number}"))
}

fn at(minute: usize) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::minutes(i64::try_from(minute).unwrap_or(i64::MAX))
}

fn open_keys(keeper: &Keeper) -> BTreeSet<Key> {
    keeper.open().map(|condition| condition.key.clone()).collect()
}

/// The conditions without what every sighting moves.
fn as_said(keeper: &Keeper) -> BTreeMap<Key, conditions::Condition> {
    let still = |condition: &conditions::Condition| conditions::Condition {
        last_seen: condition.raised,
        times_seen: 0,
        ..condition.clone()
    };
    keeper.open().map(|condition| (condition.key.clone(), still(condition))).collect()
}

fn take(keeper: &mut Keeper, step: &Step, now: DateTime<Utc>) -> Result<Vec<Event>, TestCaseError> {
    Ok(match step {
        Step::Run(number, seen) => keeper.run(&source(*number), now, seen.clone()),
        Step::Fail(number) => {
            keeper.run_failed(&source(*number), now, "unreadable");
            Vec::new()
        }
        Step::Sight(number, seen) => {
            keeper.sight(&source(*number), now, (**seen).clone()).into_iter().collect()
        }
        Step::Restart => {
            *keeper = restored(keeper).map_err(|error| TestCaseError::fail(error.to_string()))?;
            Vec::new()
        }
    })
}

fn restored(keeper: &Keeper) -> Result<Keeper, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(keeper)?)
}

proptest! {
    #[test]
    fn events_are_exactly_what_changed(steps in prop::collection::vec(step(), 0..40)) {
        let mut keeper = Keeper::default();
        for (minute, step) in steps.iter().enumerate() {
            let before = as_said(&keeper);
            let events = take(&mut keeper, step, at(minute))?;
            let after = as_said(&keeper);

            let mut told = before.clone();
            for event in &events {
                let key = event.condition().key.clone();
                match event {
                    Event::Raised { .. } => prop_assert!(!told.contains_key(&key)),
                    Event::Changed { .. } => prop_assert!(told[&key] != after[&key]),
                    Event::Cleared { .. } => prop_assert!(!after.contains_key(&key)),
                }
                match after.get(&key) {
                    Some(now) => told.insert(key, now.clone()),
                    None => told.remove(&key),
                };
            }
            prop_assert_eq!(told, after, "an unsaid change at {:?}", step);
        }
    }

    #[test]
    fn an_open_condition_was_seen(steps in prop::collection::vec(step(), 0..40)) {
        let mut keeper = Keeper::default();
        let mut seen = BTreeSet::new();
        for (minute, step) in steps.iter().enumerate() {
            match step {
                Step::Run(_, said) => seen.extend(said.iter().map(Observation::key)),
                Step::Sight(_, said) => seen.extend([said.key()]),
                Step::Fail(_) | Step::Restart => {}
            }
            take(&mut keeper, step, at(minute))?;
            prop_assert!(open_keys(&keeper).is_subset(&seen));
        }
    }

    #[test]
    fn a_failed_run_or_a_restart_changes_no_condition(
        steps in prop::collection::vec(step(), 0..40),
        last in prop_oneof![(0..2_u8).prop_map(Step::Fail), Just(Step::Restart)],
    ) {
        let mut keeper = Keeper::default();
        for (minute, step) in steps.iter().enumerate() {
            take(&mut keeper, step, at(minute))?;
        }
        let before: Vec<_> = keeper.open().cloned().collect();
        prop_assert_eq!(take(&mut keeper, &last, at(steps.len()))?, []);
        prop_assert_eq!(keeper.open().cloned().collect::<Vec<_>>(), before);
    }

    #[test]
    fn saying_the_same_again_says_nothing_new(
        steps in prop::collection::vec(step(), 0..40),
        number in 0..2_u8,
        said in prop::collection::vec(observation(), 0..4),
    ) {
        let mut keeper = Keeper::default();
        for (minute, step) in steps.iter().enumerate() {
            take(&mut keeper, step, at(minute))?;
        }
        let now = at(steps.len());
        // The second run raises what needs two in a row; from there on nothing is new.
        keeper.run(&source(number), now, said.clone());
        keeper.run(&source(number), now, said.clone());
        let before = as_said(&keeper);
        prop_assert_eq!(keeper.run(&source(number), now, said), []);
        prop_assert_eq!(as_said(&keeper), before);
    }

    #[test]
    fn a_source_that_says_nothing_leaves_nothing_but_what_flaps_or_others_say(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let mut keeper = Keeper::default();
        for (minute, step) in steps.iter().enumerate() {
            take(&mut keeper, step, at(minute))?;
        }
        // Past the flapping window nothing is held any more.
        let late = at(steps.len() + 60);
        keeper.run(&source(0), late, []);
        keeper.run(&source(1), late, []);
        prop_assert_eq!(open_keys(&keeper), BTreeSet::new());
    }
}
