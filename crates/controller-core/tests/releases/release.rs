//! Whole releases against a fleet by script: who gets what, and when nobody gets anything more.

use crate::fleet::{Behaviour, Fleet};
use controller_core::PlanState;
use inventory::Standing;
use wire::api::{Ask, Pace, RefusalKind};

fn has_failed(fleet: &Fleet, plan: &names::PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

fn is_done(fleet: &Fleet, plan: &names::PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Done { .. })
}

#[test]
fn a_good_build_reaches_everyone_and_the_first_machine_first() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.runs(machine).as_deref(), Some("a"));
    }
    let order: Vec<_> =
        fleet.sent.iter().map(|declaration| declaration.machine.to_string()).collect();
    assert_eq!(order, ["box-1", "box-2", "box-3"]);
    assert_eq!(fleet.conditions(), Vec::<String>::new());
}

#[test]
fn a_bad_build_stops_at_its_gate_and_the_previous_one_is_put_back() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let bad = fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(2));
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(60);

    assert_eq!(
        fleet.declared_to("box-1"),
        ["a", "b", "a"],
        "put back once, and nothing is sent again by itself"
    );
    assert_eq!(fleet.declared_to("box-2"), ["a"]);
    assert_eq!(fleet.declared_to("box-3"), ["a"]);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert!(matches!(fleet.core.state().records.standing(&bad), Standing::Condemned(_)));
    assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"]);
    let (state, note) = fleet.told_of(&plan);
    assert_eq!(state, "failed");
    assert!(note.contains("exited with status 3") && note.ends_with("blog was put back"), "{note}");
    assert_eq!(fleet.told.iter().filter(|(kind, _)| kind == "rolled-back").count(), 1);
}

#[test]
fn a_condemned_build_is_refused_by_content_until_a_person_asks_for_a_retry() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(2));
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));

    let refused = fleet.try_release("blog@b", Pace::InTurn).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Rule);
    let refused = fleet.try_register("b", crate::fleet::MANIFEST).unwrap_err();
    assert!(refused.why.contains("failed its gate"), "{refused}");

    fleet.script("b", Behaviour::HealthyAfter(1));
    fleet.ask(Ask::Retry { plan }).unwrap();
    fleet.run_until("the retry is everywhere", |fleet| fleet.runs("box-3").as_deref() == Some("b"));
    fleet.run(10);
    assert_eq!(fleet.conditions(), Vec::<String>::new(), "a pass clears what the failure raised");
}

#[test]
fn stale_status_is_no_success() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    // The artifact takes its time: until then everything that is stated speaks of the build before.
    fleet.script("b", Behaviour::Installing);
    let plan = fleet.release("blog@b");
    fleet.run(15);
    let PlanState::Judging { gate, .. } = &fleet.plan(&plan).state else { panic!("not judged") };
    assert_eq!(gate.row(), None, "not one pass was counted");
    assert_eq!(fleet.declared_to("box-2"), ["a"]);

    fleet.script("b", Behaviour::HealthyAfter(0));
    fleet.run(3);
    assert_eq!(
        fleet.declared_to("box-2"),
        ["a"],
        "three fresh passes and three seconds are wanted"
    );
    fleet.run_until("the build is everywhere", |fleet| is_done(fleet, &plan));
}

#[test]
fn a_check_that_never_passes_fails_at_the_bound() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.run(20);
    assert!(!has_failed(&fleet, &plan), "the bound is twenty seconds");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"]);
    assert_eq!(fleet.declared_to("box-2"), ["a"]);
}

#[test]
fn what_could_not_be_tried_condemns_no_build() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.script("b", Behaviour::Unable);
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.told_of(&plan).0, "cannot tell");
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Unproven));
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"]);

    fleet.script("b", Behaviour::HealthyAfter(1));
    let plan = fleet.release("blog@b");
    fleet.run_until("a second try passes", |fleet| is_done(fleet, &plan));
}

#[test]
fn a_silent_first_machine_stops_the_plan_and_is_put_back_once_when_it_returns() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    let plan = fleet.release("blog@b");
    fleet.machine("box-1").unplug();
    fleet.run(60);
    assert!(
        fleet.conditions().contains(&"machine.box-1.silent".to_owned()),
        "{:?}",
        fleet.conditions()
    );
    assert!(
        fleet.conditions().contains(&"build.blog.box-1.rolling-back".to_owned()),
        "{:?}",
        fleet.conditions()
    );
    assert_eq!(fleet.declared_to("box-2"), ["a"]);
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Unproven));

    fleet.machine("box-1").plug_in();
    fleet.run_until("it is put back", |fleet| has_failed(fleet, &plan));
    fleet.run(20);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"]);
    assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"]);
}

#[test]
fn a_machine_of_a_later_wave_that_falls_silent_stops_the_plan_too() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    let plan = fleet.release("blog@b");
    fleet.run_until("the second wave is sent", |fleet| fleet.declared_to("box-3") == ["a", "b"]);
    fleet.machine("box-3").unplug();
    fleet.run(60);
    fleet.machine("box-3").plug_in();
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.told_of(&plan).0, "cannot tell");
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.runs(machine).as_deref(), Some("a"), "{machine}");
    }
}

#[test]
fn a_machine_that_passed_stays_watched_until_the_plan_ends() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.machine("box-1").script("b", Behaviour::FailsAfter(7));
    for machine in ["box-2", "box-3"] {
        fleet.machine(machine).script("b", Behaviour::HealthyAfter(8));
    }
    let plan = fleet.release("blog@b");
    fleet.run_until("the second wave is sent", |fleet| fleet.declared_to("box-3") == ["a", "b"]);
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Proven(_)));
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    assert!(matches!(fleet.core.state().records.standing(&build), Standing::Condemned(_)));
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.declared_to(machine), ["a", "b", "a"], "{machine}");
    }
}

#[test]
fn applied_is_not_passed_when_the_machine_runs_another_build() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::RunsInstead("a"));
    let plan = fleet.release("blog@b");
    fleet.run(10);
    assert!(
        fleet.conditions().contains(&"module.blog.box-1.drift".to_owned()),
        "{:?}",
        fleet.conditions()
    );
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.declared_to("box-2"), ["a"], "the next wave was never sent");
}

#[test]
fn a_previous_build_that_fails_too_is_said_and_left() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(1));
    let plan = fleet.release("blog@b");
    // The database is gone: from now on no build starts there.
    fleet.machine("box-1").script("a", Behaviour::FailsAfter(1));
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.restart();
    fleet.run(60);
    assert_eq!(
        fleet.declared_to("box-1"),
        ["a", "b", "a"],
        "exactly one put-back, also across a restart"
    );
    assert!(
        fleet.conditions().contains(&"build.blog.box-1.previous-fails-too".to_owned()),
        "{:?}",
        fleet.conditions()
    );
    let told = fleet.told.iter().filter(|(_, text)| text.contains("fails too"));
    assert_eq!(told.count(), 1);

    fleet.register("c");
    let plan = fleet.release("blog@c");
    fleet.run_until("a later build can still be released", |fleet| is_done(fleet, &plan));
    fleet.run(5);
    assert!(!fleet.conditions().contains(&"build.blog.box-1.previous-fails-too".to_owned()));
}

#[test]
fn a_machine_that_was_away_never_meets_the_build_that_failed() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(1));
    fleet.machine("box-3").unplug();
    fleet.run(20);
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.machine("box-3").plug_in();
    fleet.run(30);
    assert_eq!(fleet.declared_to("box-3"), ["a"]);
}

#[test]
fn machines_that_are_away_get_a_good_build_when_they_are_back() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.machine("box-3").unplug();
    fleet.run(20);
    let plan = fleet.release("blog@b");
    fleet.run_until("the others have it", |fleet| is_done(fleet, &plan));
    assert!(fleet.told_of(&plan).1.contains("1 pending: box-3"));
    fleet.machine("box-3").plug_in();
    fleet.run_until("it has it too", |fleet| fleet.runs("box-3").as_deref() == Some("b"));
}

#[test]
fn a_machine_that_joins_late_gets_only_what_has_passed() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@b");
    fleet.join("box-9");
    fleet.assign("blog", "box-9");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(10);
    assert_eq!(fleet.declared_to("box-9"), ["a"]);
}

#[test]
fn a_first_build_that_fails_is_left_and_says_that_nothing_ran_before() {
    let mut fleet = Fleet::new(3);
    fleet.register("a");
    fleet.assign("blog", "box-1,box-2");
    fleet.script("a", Behaviour::FailsAfter(0));
    let plan = fleet.release("blog");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    assert_eq!(fleet.declared_to("box-1"), ["a"]);
    assert_eq!(fleet.declared_to("box-2"), Vec::<String>::new());
    assert!(
        fleet.conditions().contains(&"build.blog.box-1.rollback-failed".to_owned()),
        "{:?}",
        fleet.conditions()
    );
}

#[test]
fn a_module_that_is_assigned_no_longer_is_withdrawn() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet
        .ask(Ask::Unassign { module: "blog".parse().unwrap(), to: "box-1,box-2".parse().unwrap() })
        .unwrap();
    fleet.run(5);
    assert_eq!(fleet.runs("box-1"), None);
    assert_eq!(fleet.machine("box-1").withdrawn, ["blog".parse().unwrap()]);
}

#[test]
fn a_manifest_that_changed_under_the_same_commit_is_a_change() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    let other = crate::fleet::MANIFEST.replace("./blog", "./blgo");
    fleet.try_register("a", &other).unwrap();
    let first = fleet.sent.len();
    fleet.script("a", Behaviour::FailsAfter(0));
    let plan = fleet.release("blog");
    fleet.run_until("the gate fails", |fleet| !fleet.plan(&plan).is_moving());
    fleet.script("a", Behaviour::HealthyAfter(0));
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.sent.len() - first, 2, "sent, and put back");
    assert!(fleet.told_of(&plan).1.ends_with("blog was put back"), "{}", fleet.told_of(&plan).1);
}

#[test]
fn going_back_to_a_proven_build_that_fails_now_ends_at_the_one_proven_before_it() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.with_good_build("b");
    fleet.register("c");
    fleet.release("blog@c");
    fleet.run(1);
    fleet.script("b", Behaviour::FailsAfter(0));
    let plan = fleet.try_release("blog@b", Pace::Now { why: "c is wrong".into() }).unwrap();
    fleet.run_until("b fails now", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(
            fleet.runs(machine).as_deref(),
            Some("a"),
            "c was never proven, and b is condemned: {machine}"
        );
    }
}

#[test]
fn a_store_that_was_put_back_goes_on_above_what_its_machines_have_seen() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    let backup = fleet.disk.clone();
    fleet.with_good_build("b");
    let seen = fleet.sent.iter().map(|it| it.number).max();
    fleet.disk = backup;
    fleet.restart();
    for machine in ["box-1", "box-2"] {
        fleet.machine(machine).plug_in();
    }
    fleet.run(10);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"), "what the store knows is declared anew");
    assert!(fleet.sent.iter().map(|it| it.number).max() > seen);
}
