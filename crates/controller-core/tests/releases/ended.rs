//! Plans that end before they are done: stopped, superseded, or past the point where anything could be put back.

use controller_core::PlanState;
use inventory::Standing;
use wire::api::{Ask, Pace, RefusalKind};

use crate::fleet::{Behaviour, Fleet};

fn has_failed(fleet: &Fleet, plan: &names::PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

fn is_done(fleet: &Fleet, plan: &names::PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Done { .. })
}

#[test]
fn a_stopped_plan_leaves_nothing_unproven_behind() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.run(5);
    fleet.ask(Ask::Stop { plan: plan.clone() }).unwrap();
    fleet.run(60);
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"]);
    assert_eq!(fleet.declared_to("box-2"), ["a"]);
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Unproven));
    assert_eq!(fleet.ask(Ask::Stop { plan }).unwrap_err().kind, RefusalKind::Rule);
}

#[test]
fn plans_of_one_module_take_turns_and_a_newer_queued_one_replaces_the_older() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    for commit in ["b", "c", "d"] {
        fleet.register(commit);
    }
    let b = fleet.release("blog@b");
    let c = fleet.release("blog@c");
    assert_eq!(fleet.plan(&c).state, PlanState::Queued);
    let d = fleet.release("blog@d");
    assert!(matches!(fleet.plan(&c).state, PlanState::Superseded { .. }));
    fleet.run_until("both have passed", |fleet| is_done(fleet, &d));
    assert!(is_done(&fleet, &b));
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "d"]);
}

#[test]
fn what_an_ended_plan_moved_is_put_back_when_the_plan_in_its_place_never_begins() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.register("c");
    fleet.script("b", Behaviour::NeverHealthy);
    let first = fleet.release("blog@b");
    fleet.run(3);
    let second = fleet.try_release("blog@c", Pace::Now { why: "b is wrong".into() }).unwrap();
    fleet.ask(Ask::Stop { plan: second }).unwrap();
    fleet.run(30);
    assert!(!fleet.plan(&first).is_moving());
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.runs(machine).as_deref(), Some("a"), "{machine}");
    }
}

#[test]
fn past_a_point_of_no_return_nothing_older_is_put_back() {
    let manifest = crate::fleet::MANIFEST
        .replace("name = \"blog\"", "name = \"blog\"\npoint_of_no_return = true");
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet.try_register("b", &manifest).unwrap();
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.run(3);
    fleet.ask(Ask::Stop { plan }).unwrap();
    fleet.run(5);
    assert_eq!(fleet.declared_to("box-1"), ["a", "b"], "a person's stop does not either");

    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(20);
    assert_eq!(
        fleet.declared_to("box-2"),
        ["a", "b"],
        "the healthier machine came first this time"
    );
    assert!(
        fleet.conditions().contains(&"build.blog.box-2.rollback-failed".to_owned()),
        "{:?}",
        fleet.conditions()
    );
}

#[test]
fn old_plans_make_room_and_what_they_decided_stays() {
    let mut fleet = Fleet::new(1);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(0));
    let mut plan = fleet.release("blog@b");
    for _ in 0..120 {
        fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
        let answer = fleet.ask(Ask::Retry { plan }).unwrap();
        let wire::api::Answer::Released(released) = answer else {
            panic!("not released: {answer:?}")
        };
        plan = released.plan.plan;
    }
    fleet.run(10);
    let records = &fleet.core.state().records;
    assert!(records.plans.len() <= 103, "{} plans are kept", records.plans.len());
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    fleet.join("box-2");
    fleet.assign("blog", "box-2");
    fleet.run(5);
    assert_eq!(fleet.runs("box-2").as_deref(), Some("a"));
}

#[test]
fn a_newer_build_mid_gate_starts_at_zero_and_the_older_is_neither_good_nor_bad() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let b = fleet.register("b");
    let c = fleet.register("c");
    let first = fleet.release("blog@b");
    let judged = |fleet: &Fleet| matches!(&fleet.plan(&first).state, PlanState::Judging { gate, .. } if gate.row().is_some_and(|row| row.passes.get() == 2));
    fleet.run_until("two of three passes", judged);
    let second = fleet.try_release("blog@c", Pace::Now { why: "b has a typo".into() }).unwrap();
    fleet.script("c", Behaviour::NeverHealthy);
    assert!(matches!(fleet.plan(&first).state, PlanState::Superseded { .. }));
    let PlanState::Judging { gate, .. } = &fleet.plan(&second).state else {
        panic!("it begins at once")
    };
    assert_eq!(gate.row(), None);
    fleet.run_until("c fails", |fleet| has_failed(fleet, &second));
    assert_eq!(
        fleet.declared_to("box-1"),
        ["a", "b", "c", "a"],
        "what is put back is what passed last"
    );
    assert!(matches!(fleet.core.state().records.standing(&b), Standing::Unproven));
    assert!(matches!(fleet.core.state().records.standing(&c), Standing::Condemned(_)));
}

#[test]
fn nothing_unproven_is_put_onto_a_machine_that_never_ran_it() {
    let mut fleet = Fleet::new(2);
    fleet.register("a");
    fleet.assign("blog", "box-1,box-2");
    fleet.script("a", Behaviour::Unable);
    let plan = fleet.release("blog@a");
    fleet.run_until("nobody can tell", |fleet| has_failed(fleet, &plan));
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(0));
    let plan = fleet.release("blog@b");
    fleet.run_until("b fails", |fleet| has_failed(fleet, &plan));
    fleet.run(20);
    assert!(
        !fleet.declared_to("box-2").contains(&"a".to_owned()),
        "{:?}",
        fleet.declared_to("box-2")
    );
}

#[test]
fn a_machine_with_a_new_disk_is_believed_from_its_first_report_on() {
    let mut fleet = Fleet::new(1);
    fleet.with_good_build("a");
    fleet.machine("box-1").wipe();
    fleet.run(5);
    fleet.register("b");
    let plan = fleet.release("blog@b");
    fleet.run_until("b passes", |fleet| is_done(fleet, &plan));
}
