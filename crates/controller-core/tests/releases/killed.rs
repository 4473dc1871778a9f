//! The controller is killed before each single write and effect of a release, and starts again from its disk: the outcome
//! is the same as if nothing had happened.

use crate::fleet::{Behaviour, Fleet};
use chrono::TimeDelta;
use controller_core::{Controller, PlanState, Rules};
use inventory::{Epoch, Standing};
use names::PlanId;

/// A good build everywhere, then a bad one that is put back; killed before the action with this number, counted from the
/// bad release on. Answers how many actions there were.
fn bad_release(kill_before: Option<usize>) -> usize {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let bad = fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(2));
    let before = fleet.actions;
    let plan = fleet.release("blog@b");
    fleet.kill_before = kill_before.map(|action| before + action);
    fleet.run_until("the plan ends", |fleet| {
        matches!(fleet.plan(&plan).state, PlanState::Failed(_))
    });
    fleet.run(40);

    let context = format!("killed before action {kill_before:?}, {} times", fleet.kills);
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"], "{context}");
    assert_eq!(fleet.declared_to("box-2"), ["a"], "{context}");
    assert_eq!(fleet.declared_to("box-3"), ["a"], "{context}");
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"), "{context}");
    let numbers: std::collections::BTreeSet<_> =
        fleet.sent.iter().map(|it| (it.machine.clone(), it.number)).collect();
    assert_eq!(
        numbers.len(),
        3 + 2,
        "no declaration but one each, the bad one and the put-back: {context}"
    );
    let records = &fleet.core.state().records;
    let Standing::Condemned(verdict) = records.standing(&bad) else {
        panic!("not condemned: {context}")
    };
    let word = verdict.end.rollback().map(|rollback| &rollback.word);
    assert!(matches!(word, Some(inventory::RollbackWord::PutBack { .. })), "{word:?} {context}");
    assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"], "{context}");
    let told = fleet.told.iter().filter(|(kind, _)| kind == "rolled-back").count();
    assert!((1..=2).contains(&told), "told {told} times: {context}");
    fleet.actions - before
}

#[test]
fn between_any_two_actions_of_a_rollback() {
    let actions = bad_release(None);
    assert!(actions > 30, "a rollback has more actions than {actions}");
    for action in 1..=actions {
        bad_release(Some(action));
    }
}

#[test]
fn between_any_two_actions_of_a_good_release() {
    let good_release = |kill_before: Option<usize>| {
        let mut fleet = Fleet::new(3);
        fleet.with_good_build("a");
        let good = fleet.register("b");
        let before = fleet.actions;
        let plan = fleet.release("blog@b");
        fleet.kill_before = kill_before.map(|action| before + action);
        fleet.run_until("the plan ends", |fleet| {
            matches!(fleet.plan(&plan).state, PlanState::Done { .. })
        });
        fleet.run(20);
        for machine in ["box-1", "box-2", "box-3"] {
            assert_eq!(
                fleet.declared_to(machine),
                ["a", "b"],
                "{machine}, killed before {kill_before:?}"
            );
        }
        assert!(fleet.core.state().records.is_proven(&good));
        assert_eq!(fleet.conditions(), Vec::<String>::new());
        fleet.actions - before
    };
    let actions = good_release(None);
    for action in 1..=actions {
        good_release(Some(action));
    }
}

/// A fleet in which a build is at its gate, of which nothing has been reported yet.
fn at_a_gate() -> (Fleet, PlanId) {
    let mut fleet = Fleet::new(1);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::Installing);
    let plan = fleet.release("blog@b");
    fleet.run(5);
    (fleet, plan)
}

fn goes_on(mut fleet: Fleet, plan: &PlanId) {
    fleet.run(2);
    fleet.script("b", Behaviour::HealthyAfter(0));
    fleet.run_until("the plan ends", |fleet| !fleet.plan(plan).is_moving());
    assert!(matches!(fleet.plan(plan).state, PlanState::Done { .. }), "{:?}", fleet.told_of(plan));
}

#[test]
fn a_second_start_remembers_that_nobody_observed_before_the_first() {
    let (mut fleet, plan) = at_a_gate();
    for seconds in [100, 1] {
        let gap = TimeDelta::seconds(seconds);
        fleet.now += gap;
        let records = fleet.disk.read();
        fleet.core = Controller::restore(Rules::default(), Epoch(1), records, fleet.now, gap);
        fleet.machine("box-1").plug_in();
        fleet.run(1);
    }
    goes_on(fleet, &plan);
}

#[test]
fn a_process_that_was_stopped_for_a_while_ends_no_gate_by_that() {
    let (mut fleet, plan) = at_a_gate();
    fleet.now += TimeDelta::seconds(100);
    goes_on(fleet, &plan);
}
