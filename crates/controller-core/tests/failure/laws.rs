//! Laws of every handling, whatever the world answers and wherever it is cut.

use std::collections::{BTreeMap, BTreeSet};

use conditions::{Kind, Resolver, Rollback};
use controller_core::failure::{
    FailedBuild, FailedModule, Handled, Handling, HeldBack, Likeness, Need, NotBack, PreviousBuild,
    Refusal, Reported, Rules, Wrote,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{Effect, MANY, NOW, ROLLBACK_ID, Script, World, failed};

const MODULES: [&str; 3] = ["blog", "shop", "wiki"];
const MACHINES: [&str; 3] = ["a", "b", "c"];

/// Mostly lands, so that most runs get far.
fn wrote() -> impl Strategy<Value = Wrote> {
    prop_oneof![7 => Just(Wrote::Landed), 1 => Just(Wrote::Failed)]
}

fn likeness() -> impl Strategy<Value = Likeness> {
    prop_oneof![
        7 => Just(Likeness::Different),
        1 => select(vec![Likeness::Identical, Likeness::Unknown, Likeness::Unreadable]),
    ]
}

fn reported() -> impl Strategy<Value = Reported> {
    prop_oneof![
        6 => Just(Reported::Applied),
        1 => Just(Reported::Failed { why: "it exits".to_owned() }),
        1 => Just(Reported::Refused(Refusal::Held { instances: vec![HeldBack {
            instance: "one".to_owned(),
            build: "B2".to_owned(),
            rule: "held down".to_owned(),
        }] })),
    ]
}

fn script() -> impl Strategy<Value = Script> {
    let failed_build = prop_oneof![7 => Just(FailedBuild::Found), 1 => Just(FailedBuild::Missing)];
    let previous_build = prop_oneof![
        7 => Just(PreviousBuild::Found("B1".to_owned())),
        1 => Just(PreviousBuild::NotFound),
    ];
    let reports = prop::collection::btree_map(select(&MACHINES[..]), reported(), 2..=3);
    (
        (likeness(), likeness(), failed_build, previous_build),
        (wrote(), wrote(), wrote(), wrote()),
        reports,
    )
        .prop_map(|(looked_up, written, reports)| Script {
            source: looked_up.0,
            artifacts: looked_up.1,
            failed_build: looked_up.2,
            previous_build: looked_up.3,
            record: written.0,
            restore: written.1,
            save: written.2,
            set_rollback: written.3,
            reports: reports.into_iter().map(|(name, said)| (name.to_owned(), said)).collect(),
        })
}

fn failure(module: &'static str) -> impl Strategy<Value = FailedModule> {
    let machines = prop::sample::subsequence(&MACHINES[..], 0..=3).prop_shuffle();
    let previous = prop_oneof![7 => Just(Some("c1")), 1 => Just(None), 1 => Just(Some("c2"))];
    (machines, previous).prop_map(move |(machines, previous)| FailedModule {
        previous: previous.map(str::to_owned),
        ..failed(module, &machines)
    })
}

/// A world, and what failed in it.
fn worlds() -> impl Strategy<Value = (World, Vec<FailedModule>)> {
    let scripts = [script(), script(), script()];
    let failures = MODULES.map(failure);
    let refused = prop_oneof![7 => Just(false), 1 => Just(true)];
    (scripts, failures, 1..=3_usize, refused).prop_map(|(scripts, failures, count, refused)| {
        let mut world = World::new(MODULES.into_iter().zip(scripts));
        world.send_refused = refused;
        (world, failures.into_iter().take(count).collect())
    })
}

fn begin(failures: &[FailedModule]) -> Handling {
    Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures.to_vec())
}

fn failure_of(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

fn stored_and_restored(handling: &Handling) -> Result<Handling, TestCaseError> {
    let text = serde_json::to_string(handling).map_err(failure_of)?;
    serde_json::from_str(&text).map_err(failure_of)
}

/// Answers this many needs; fewer when it is done sooner.
fn step(handling: &mut Handling, world: &mut World, count: usize) -> Result<(), TestCaseError> {
    for _ in 0..count {
        let Some(answer) = world.answer(&handling.need()) else { return Ok(()) };
        handling.answer(NOW, answer).map_err(failure_of)?;
    }
    Ok(())
}

fn finish(handling: &mut Handling, world: &mut World) -> Result<(), TestCaseError> {
    step(handling, world, MANY)?;
    prop_assert_eq!(handling.need(), Need::Done);
    Ok(())
}

/// Each effect where it first happened.
fn once(effects: &[Effect]) -> Vec<&Effect> {
    let mut first: Vec<&Effect> = Vec::new();
    for effect in effects {
        if !first.contains(&effect) {
            first.push(effect);
        }
    }
    first
}

fn module_of(effect: &Effect) -> Option<&str> {
    match effect {
        Effect::Recorded { module, .. }
        | Effect::Restored { module, .. }
        | Effect::Saved { module, .. }
        | Effect::Set { module, .. }
        | Effect::Raised { module, .. } => Some(module),
        Effect::Published(event) => Some(&event.module),
        Effect::Sent { .. } => None,
    }
}

fn by_module<'a>(effects: &[&'a Effect]) -> BTreeMap<&'a str, Vec<&'a Effect>> {
    let mut by_module: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
    for effect in effects {
        if let Some(module) = module_of(effect) {
            by_module.entry(module).or_default().push(effect);
        }
    }
    by_module
}

fn ends(handling: &Handling) -> Vec<(Option<Rollback>, Option<NotBack>)> {
    let end = |handled: Handled| (handled.rollback, handled.not_back);
    handling.handled().into_iter().map(end).collect()
}

proptest! {
    #[test]
    fn an_answer_that_is_lost_is_asked_again_with_the_same_end((world, failures) in worlds()) {
        let (mut whole, mut handling) = (world.clone(), begin(&failures));
        finish(&mut handling, &mut whole)?;
        for cut in 0..MANY {
            let (mut world, mut cut_off) = (world.clone(), begin(&failures));
            step(&mut cut_off, &mut world, cut)?;
            // It was stored and then done, and the answer never arrived.
            let mut restored = stored_and_restored(&cut_off)?;
            prop_assert_eq!(&restored, &cut_off);
            if world.answer(&cut_off.need()).is_none() {
                break;
            }
            finish(&mut restored, &mut world)?;
            prop_assert_eq!(ends(&restored), ends(&handling));
            prop_assert_eq!(once(&world.effects), once(&whole.effects), "cut at {}", cut);
        }
    }

    #[test]
    fn begun_anew_after_a_crash_it_ends_the_same((world, failures) in worlds()) {
        let (mut whole, mut handling) = (world.clone(), begin(&failures));
        finish(&mut handling, &mut whole)?;
        for cut in 0..MANY {
            let (mut world, mut cut_off) = (world.clone(), begin(&failures));
            step(&mut cut_off, &mut world, cut)?;
            let was_done = cut_off.need() == Need::Done;
            let mut anew = begin(&failures);
            finish(&mut anew, &mut world)?;
            prop_assert_eq!(ends(&anew), ends(&handling), "cut at {}", cut);
            prop_assert_eq!(
                by_module(&once(&world.effects)),
                by_module(&once(&whole.effects)),
                "cut at {}",
                cut
            );
            let mut targets = BTreeMap::new();
            for effect in &world.effects {
                let Effect::Sent { modules, .. } = effect else { continue };
                for (module, target, rollback_id) in modules {
                    let back = (target, rollback_id);
                    prop_assert_eq!(*targets.entry(module).or_insert(back), back);
                }
            }
            if was_done {
                break;
            }
        }
    }

    #[test]
    fn nothing_is_sent_before_its_verdict_and_its_plan_were_kept((world, failures) in worlds()) {
        let (mut world, mut handling) = (world, begin(&failures));
        finish(&mut handling, &mut world)?;
        let mut kept = BTreeSet::new();
        let mut saved = BTreeSet::new();
        for effect in &world.effects {
            match effect {
                Effect::Recorded { module, landed: Wrote::Landed, .. } => {
                    kept.insert(module.as_str());
                }
                Effect::Saved { module, landed: Wrote::Landed } => {
                    prop_assert!(kept.contains(module.as_str()));
                    saved.insert(module.as_str());
                }
                Effect::Sent { modules, .. } => {
                    for (module, ..) in modules {
                        prop_assert!(kept.contains(module.as_str()));
                        prop_assert!(saved.contains(module.as_str()));
                    }
                }
                Effect::Recorded { .. }
                | Effect::Restored { .. }
                | Effect::Saved { .. }
                | Effect::Set { .. }
                | Effect::Raised { .. }
                | Effect::Published(_) => {}
            }
        }
        prop_assert!(world.sends() <= 1, "all of it goes in one send");
    }

    #[test]
    fn what_is_said_is_what_the_machines_reported((world, failures) in worlds()) {
        let (mut world, mut handling) = (world, begin(&failures));
        finish(&mut handling, &mut world)?;
        for event in world.events() {
            let reports = &world.scripts[&event.module].reports;
            let all_back = !world.send_refused
                && event.machines.iter().all(|name| reports.get(name) == Some(&Reported::Applied));
            if event.rollback == Rollback::RolledBack {
                prop_assert!(all_back);
            } else {
                prop_assert_eq!(&event.rollback, &Rollback::NotRolledBack);
                prop_assert!(event.not_back.is_some() && event.not_why.is_some());
            }
        }
        for condition in world.conditions() {
            prop_assert!(condition.subject.machine.is_some());
            let waits = condition.resolver == Resolver::Operator;
            prop_assert_eq!(waits, condition.kind == Kind::ROLLBACK_FAILED);
        }
    }
}
