//! Whole releases on machines that have trouble of their own: no build is blamed for it, and it goes on when it is over.

use controller_core::PlanState;
use inventory::Standing;
use names::{BuildId, PlanId};
use wire::TroubleKind::{DiskFails, DiskFull, DiskReadOnly, FileDamaged, Other};
use wire::api::Ask;

use crate::fleet::{Behaviour, Fleet};

fn has_failed(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

fn is_done(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Done { .. })
}

fn is_open(fleet: &Fleet, key: &str) -> bool {
    fleet.conditions().iter().any(|open| open == key)
}

fn is_unproven(fleet: &Fleet, build: &BuildId) -> bool {
    matches!(fleet.core.state().records.standing(build), Standing::Unproven)
}

/// A fleet that runs `a`, and a release of `b` that has just been sent to the first machine.
fn releasing(machines: usize) -> (Fleet, BuildId, PlanId) {
    let mut fleet = Fleet::new(machines);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    let plan = fleet.release("blog@b");
    (fleet, build, plan)
}

#[test]
fn a_full_disk_on_the_first_machine_keeps_the_release_waiting_until_there_is_room() {
    for kind in [DiskFull, DiskReadOnly, DiskFails] {
        let (mut fleet, build, plan) = releasing(3);
        fleet.machine("box-1").has(&[kind]);
        fleet.run(12);
        let key = format!("machine.box-1.{}", kind.as_str());
        assert!(is_open(&fleet, &key), "{:?}", fleet.conditions());
        assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
        assert!(is_unproven(&fleet, &build));
        assert_eq!(fleet.declared_to("box-2"), ["a"]);

        fleet.machine("box-1").has(&[]);
        fleet.run(1);
        assert_eq!(fleet.conditions(), Vec::<String>::new(), "the first statement without it");
        fleet.run_until("it went on by itself", |fleet| is_done(fleet, &plan));
        assert_eq!(fleet.runs("box-3").as_deref(), Some("b"));
        assert_eq!(fleet.declared_to("box-1"), ["a", "b"]);
    }
}

#[test]
fn a_disk_that_stays_full_ends_the_plan_as_cannot_tell_and_condemns_nothing() {
    let (mut fleet, build, plan) = releasing(3);
    fleet.machine("box-1").has(&[DiskFull]);
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    let (state, note) = fleet.told_of(&plan);
    assert_eq!(state, "cannot tell");
    assert!(note.contains("it is disk-full"), "{note}");
    assert!(is_unproven(&fleet, &build));
    assert!(is_open(&fleet, "machine.box-1.disk-full"), "{:?}", fleet.conditions());
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"]);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert_eq!(fleet.declared_to("box-2"), ["a"]);

    fleet.machine("box-1").has(&[]);
    fleet.run(5);
    let plan = fleet.release("blog@b");
    fleet.run_until("a second try passes", |fleet| is_done(fleet, &plan));
}

#[test]
fn a_disk_that_was_full_before_is_held_against_nobody() {
    let mut fleet = Fleet::new(1);
    fleet.with_good_build("a");
    fleet.machine("box-1").has(&[DiskFull]);
    fleet.run(3);
    let build = fleet.register("b");
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.told_of(&plan).0, "cannot tell");
    assert!(is_unproven(&fleet, &build));

    // Where room is made in time, the condition that stood before does not keep the build from passing.
    let plan = fleet.release("blog@b");
    fleet.run(5);
    fleet.machine("box-1").has(&[]);
    fleet.run_until("it passes", |fleet| is_done(fleet, &plan));
    // What is damaged and stays so keeps nothing waiting either.
    fleet.machine("box-1").has(&[FileDamaged, Other]);
    fleet.run(3);
    assert_eq!(fleet.conditions(), ["machine.box-1.file-damaged", "machine.box-1.other"]);
    fleet.register("c");
    let plan = fleet.release("blog@c");
    fleet.run_until("it passes too", |fleet| is_done(fleet, &plan));
}

#[test]
fn a_machine_with_a_full_disk_is_not_the_first_where_there_is_another() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.machine("box-1").has(&[DiskFull]);
    fleet.run(3);
    fleet.register("b");
    fleet.release("blog@b");
    fleet.run(2);
    assert_eq!(fleet.declared_to("box-2"), ["a", "b"]);
    assert_eq!(fleet.declared_to("box-1"), ["a"]);
}

#[test]
fn what_is_seen_on_a_machine_whose_disk_is_full_speaks_against_no_build() {
    // It runs, and then has no room: it falls ill, it is given up, or it goes on as if nothing were.
    let ways = [Behaviour::NeverHealthy, Behaviour::FailsAfter(3), Behaviour::HealthyAfter(1)];
    for behaviour in ways {
        let (mut fleet, build, plan) = releasing(3);
        fleet.script("b", behaviour.clone());
        fleet.run(2);
        assert_eq!(fleet.runs("box-1").as_deref(), Some("b"));
        fleet.machine("box-1").has(&[DiskFull]);
        fleet.run_until("the plan ends", |fleet| !fleet.plan(&plan).is_moving());
        fleet.machine("box-1").has(&[]);
        fleet.run_until("it is put back", |fleet| has_failed(fleet, &plan));
        assert_eq!(fleet.told_of(&plan).0, "cannot tell", "{behaviour:?}");
        assert!(is_unproven(&fleet, &build), "{behaviour:?}");
        assert_eq!(fleet.declared_to("box-2"), ["a"]);
        fleet.run(2);
        assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    }
}

#[test]
fn what_is_wrong_with_a_machine_that_has_the_name_of_a_module_is_still_the_machines() {
    let mut fleet = Fleet::new(0);
    fleet.join("blog");
    fleet.with_good_build("a");
    let build = fleet.register("b");
    let plan = fleet.release("blog@b");
    fleet.run(2);
    fleet.machine("blog").has(&[DiskFull]);
    fleet.run_until("the plan ends", |fleet| !fleet.plan(&plan).is_moving());
    fleet.machine("blog").has(&[]);
    fleet.run_until("it is put back", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.told_of(&plan).0, "cannot tell");
    assert!(is_unproven(&fleet, &build));
}

#[test]
fn a_module_with_the_name_of_its_machine_can_still_be_seen_to_fail() {
    let mut fleet = Fleet::new(0);
    fleet.join("blog");
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert!(is_open(&fleet, "build.blog.blog.rolled-back"), "{:?}", fleet.conditions());
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Condemned(_)));
}

#[test]
fn a_machine_that_falls_silent_with_a_full_disk_clears_nothing() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet.machine("box-1").has(&[DiskFull]);
    fleet.run(2);
    fleet.machine("box-1").unplug();
    fleet.machine("box-1").has(&[]);
    fleet.run(120);
    assert_eq!(fleet.conditions(), ["machine.box-1.disk-full", "machine.box-1.silent"]);
    fleet.machine("box-1").plug_in();
    fleet.run(2);
    assert_eq!(fleet.conditions(), Vec::<String>::new());
}

#[test]
fn a_declaration_that_cannot_be_kept_is_sent_until_it_is() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.machine("box-1").keeps = false;
    let plan = fleet.release("blog@b");
    fleet.run(5);
    assert_eq!(fleet.conditions(), ["machine.box-1.declaration-refused"]);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    fleet.run_until("the plan ends", |fleet| !fleet.plan(&plan).is_moving());
    fleet.run(60);
    assert!(is_unproven(&fleet, &build));
    assert!(is_open(&fleet, "machine.box-1.declaration-refused"));
    assert_eq!(fleet.declared_to("box-2"), ["a"]);

    fleet.machine("box-1").keeps = true;
    fleet.run_until("it is put back", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.told_of(&plan).0, "cannot tell");
    fleet.run(2);
    assert!(!is_open(&fleet, "machine.box-1.declaration-refused"), "{:?}", fleet.conditions());
    let plan = fleet.release("blog@b");
    fleet.run_until("a second try passes", |fleet| is_done(fleet, &plan));
}

#[test]
fn a_retry_asks_a_machine_again_that_could_not_try() {
    let mut fleet = Fleet::new(1);
    fleet.register("a");
    fleet.assign("blog", "box-1");
    fleet.script("a", Behaviour::Unable);
    let plan = fleet.release("blog@a");
    fleet.run_until("nobody can tell, and nothing ran before", |fleet| has_failed(fleet, &plan));
    let sent = fleet.sent.len();
    fleet.ask(Ask::Retry { plan }).unwrap();
    fleet.run(1);
    let [before @ .., again] = &fleet.sent[..] else { panic!("nothing was sent") };
    assert_eq!(before.len(), sent, "sent once more");
    assert_eq!(Some(again), before.last(), "and what the machine holds already");
}
