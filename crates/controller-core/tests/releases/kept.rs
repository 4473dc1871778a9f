//! Builds that stay on the machines' disks: whatever may have to be put back goes back without its source.

use controller_core::PlanState;
use names::{BuildId, PlanId};
use wire::api::{Ask, Pace};

use crate::fleet::{Behaviour, Fleet};

fn has_failed(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

/// What of these is on the first machine's disk.
fn installed<'a>(fleet: &mut Fleet, builds: &'a [(&'a str, BuildId)]) -> Vec<&'a str> {
    let machine = fleet.machine("box-1");
    let there = builds.iter().filter(|(_, build)| machine.has_installed(build));
    there.map(|(commit, _)| *commit).collect()
}

/// From here on nothing can be brought onto any machine that is not there already.
fn without_source(fleet: &mut Fleet) {
    fleet.machines.values_mut().for_each(|machine| machine.fetches = false);
}

/// Long enough for two hellos of every machine.
const HELLOS_S: u32 = 20;

#[test]
fn old_builds_go_and_what_may_be_put_back_stays() {
    let mut fleet = Fleet::new(2);
    let builds: Vec<_> =
        ["a", "b", "c", "d"].map(|commit| (commit, fleet.with_good_build(commit))).into();
    fleet.run(HELLOS_S);
    assert_eq!(installed(&mut fleet, &builds), ["c", "d"]);
}

#[test]
fn a_put_back_needs_no_source() {
    let mut fleet = Fleet::new(3);
    for commit in ["a", "b", "c"] {
        fleet.with_good_build(commit);
    }
    fleet.register("d");
    // It fails only after every machine was told which builds to keep.
    fleet.script("d", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@d");
    fleet.run(HELLOS_S - 2);
    without_source(&mut fleet);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("d"));
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.runs("box-1").as_deref(), Some("c"));
    assert!(fleet.told_of(&plan).1.ends_with("blog was put back"), "{}", fleet.told_of(&plan).1);
}

#[test]
fn what_ran_before_stays_though_it_was_never_proven_and_a_newer_plan_waits() {
    let mut fleet = Fleet::new(1);
    let first = fleet.register("a");
    fleet.assign("blog", "box-1");
    let plan = fleet.release("blog@a");
    fleet.run(1);
    // Nothing ran before it, so it is left when its plan is stopped.
    fleet.ask(Ask::Stop { plan }).unwrap();
    fleet.register("b");
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.register("c");
    fleet.run(1);
    fleet.release("blog@c");
    fleet.run(HELLOS_S - 3);
    assert!(fleet.machine("box-1").has_installed(&first));
    without_source(&mut fleet);
    fleet.run_until("b goes back", |fleet| has_failed(fleet, &plan));
    assert!(fleet.told_of(&plan).1.ends_with("blog was put back"), "{}", fleet.told_of(&plan).1);
}

#[test]
fn what_a_plan_to_come_would_put_back_is_there_already() {
    let mut fleet = Fleet::new(2);
    for commit in ["a", "b"] {
        fleet.with_good_build(commit);
    }
    // The registered build is unproven now, so going back to b would put back a if b fails.
    fleet.register("c");
    fleet.script("c", Behaviour::NeverHealthy);
    fleet.release("blog@c");
    fleet.run(HELLOS_S - 2);
    without_source(&mut fleet);
    fleet.script("b", Behaviour::FailsAfter(0));
    let plan = fleet.try_release("blog@b", Pace::Now { why: "c is wrong".into() }).unwrap();
    fleet.run_until("b fails now", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
}

#[test]
fn a_machine_that_was_away_finds_what_it_is_put_back_to() {
    let mut fleet = Fleet::new(3);
    for commit in ["a", "b"] {
        fleet.with_good_build(commit);
    }
    fleet.register("c");
    fleet.release("blog@c");
    fleet.run(1);
    fleet.machine("box-1").unplug();
    fleet.run(60);
    // While it was away the others went on, and on.
    for commit in ["d", "e", "f"] {
        fleet.register(commit);
        let plan = fleet.release(&format!("blog@{commit}"));
        fleet.run_until("the others have it", |fleet| !fleet.plan(&plan).is_moving());
        fleet.run(2);
    }
    without_source(&mut fleet);
    fleet.machine("box-1").plug_in();
    fleet.run(HELLOS_S);
    // f cannot be had; until it can, what runs there goes on.
    assert!(["b", "c"].contains(&fleet.runs("box-1").unwrap().as_str()));
    fleet.machine("box-1").fetches = true;
    fleet.run_until("it has what has passed", |fleet| fleet.runs("box-1").as_deref() == Some("f"));
}

#[test]
fn a_module_that_is_assigned_no_longer_leaves_nothing_on_the_disk() {
    let mut fleet = Fleet::new(2);
    let build = fleet.with_good_build("a");
    fleet
        .ask(Ask::Unassign { module: "blog".parse().unwrap(), to: "box-1,box-2".parse().unwrap() })
        .unwrap();
    fleet.run(HELLOS_S);
    for machine in ["box-1", "box-2"] {
        assert!(!fleet.machine(machine).has_installed(&build), "{machine}");
    }
}
