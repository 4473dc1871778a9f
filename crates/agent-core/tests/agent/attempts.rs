//! Builds that an instance has not served are tried: announced, watched, and their outcome written before what follows.

use agent_core::Ending;
use agent_core::Event;
use wire::ResourceState;

use crate::bench::{A, B, Bench, C, WEB, Write, fragile, in_turn};

#[test]
fn nothing_of_a_new_build_runs_before_its_intent_is_on_the_disk() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.told();
    bench.landings = [Write::DiesBefore].into();
    bench.verified(Ok(()));
    assert_eq!((bench.told(), bench.book()), (vec![], vec![]));

    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.told();
    bench.landings = [Write::DiesAfter].into();
    bench.verified(Ok(()));
    assert_eq!(bench.told(), [""; 0]);
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
}

#[test]
fn a_build_that_passes_is_good_before_its_intent_goes_and_before_the_old_one_is_stopped() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, WEB);
    bench.told();
    let new = bench.run.unwrap();
    bench.started(new);
    for ms in [1_000, 1_000, 900] {
        bench.checked(new, Ok(()));
        bench.pass(ms);
    }
    assert_eq!(bench.told(), [""; 0]);
    assert_eq!(bench.good("blog-1").unwrap(), A);
    // It passes now: its intent still stands when it is kept as good.
    bench.landings = [Write::Lands, Write::DiesBefore].into();
    bench.pass(100);
    assert_eq!(bench.good("blog-1").unwrap(), B);
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
    assert_eq!(bench.told(), [""; 0], "the old one is not touched before all of it is written");
}

#[test]
fn one_moment_that_is_not_healthy_begins_the_watch_anew() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, &WEB.replace("failures = 2", "failures = 9"));
    let new = bench.run.unwrap();
    bench.started(new);
    // Healthy after two passes; it falls just before its time is over, and rises again.
    for _ in 0..2 {
        bench.checked(new, Ok(()));
        bench.pass(1_000);
    }
    bench.checked(new, Ok(()));
    bench.pass(500);
    bench.exited(new, "exit status 3");
    bench.pass(1_500);
    let again = bench.run.unwrap();
    bench.told();
    bench.started(again);
    for ms in [1_000, 1_000, 900] {
        bench.checked(again, Ok(()));
        bench.pass(ms);
        assert_eq!(bench.told(), [""; 0]);
    }
    bench.pass(100);
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
}

#[test]
fn what_fails_beside_the_old_one_is_stopped_and_the_old_one_never_was() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.row();
    bench.readied(2, B, &fragile(WEB));
    bench.told();
    bench.fall();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["record B on blog-1"]);
    let row = bench.row();
    assert_eq!((row.build, row.execution), (old.build, old.execution));
    // Nothing tries it again by itself.
    bench.acknowledge();
    bench.pass(3_600_000);
    assert!(bench.told().iter().all(|told| !told.starts_with("install")), "it is not tried again");
}

#[test]
fn what_fails_its_checks_after_its_start_up_time_has_failed() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.readied(2, B, WEB);
    let new = bench.run.unwrap();
    bench.told();
    bench.started(new);
    for second in 0..12 {
        bench.checked(old, Ok(()));
        let told = bench.told();
        assert_eq!(told, [""; 0], "after {second} s");
        bench.checked(new, Err("status 500"));
        bench.pass(1_000);
    }
    assert_eq!(bench.told(), ["stop", "report 2: blog failed on blog-1"]);
    let report = bench.reports();
    assert_eq!(report, []);
}

#[test]
fn in_turn_the_old_one_stops_first_and_is_up_again_at_once_when_the_new_one_fails() {
    let in_turn = fragile(&in_turn());
    let mut bench = Bench::running(A, &in_turn);
    let old = bench.run.unwrap();
    bench.readied(2, B, &in_turn);
    assert_eq!(bench.told().pop().unwrap(), "stop");
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), ["start blog-1 of blog B"]);
    bench.fall();
    assert_eq!(bench.told(), ["install blog A", "report 2: blog failed on blog-1"]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 0 of ours will be gone", "start blog-1 of blog A"]);
    bench.prove(bench.run.unwrap());
    bench.acknowledge();
    assert_eq!(bench.told(), [""; 0], "it has failed, whatever runs now");
    assert_eq!((bench.row().build.as_str(), bench.row().state), (A, ResourceState::Healthy));
}

#[test]
fn what_could_not_be_started_in_turn_waits_after_the_old_one_is_back() {
    let mut bench = Bench::running(A, &in_turn());
    let old = bench.run.unwrap();
    bench.readied(2, B, &in_turn());
    bench.exited(old, "exit status 0");
    bench.told();
    bench.not_started(bench.run.unwrap());
    assert_eq!(bench.told(), ["install blog A", "report 2: blog unable, Start"]);
    assert_eq!(bench.book(), [""; 0], "it says nothing of the build");
    bench.acknowledge();
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    let back = bench.run.unwrap();
    bench.started(back);
    bench.told();
    bench.pass(4_900);
    assert_eq!(bench.told(), [""; 0], "not before its pause is over");
    bench.pass(1_500);
    assert_eq!(bench.told(), ["install blog B"]);
}

#[test]
fn an_old_one_that_cannot_be_brought_back_does_not_keep_a_new_one_from_being_tried() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.restart();
    assert_eq!(bench.told(), ["install blog A"], "what is down is up again first");
    bench.installed(A, Err(wire::UnableBecause::Artifact));
    assert_eq!(bench.told(), ["install blog B"]);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.told().pop().unwrap(), "start blog-1 of blog B");
}

#[test]
fn a_newer_declaration_ends_a_trial_and_says_nothing_of_its_build() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, WEB);
    let tried = bench.run.unwrap();
    bench.started(tried);
    bench.told();
    bench.declare(3, C, WEB);
    assert_eq!(bench.told(), ["answer: taken", "stop", "install blog C"]);
    assert_eq!(bench.book(), [""; 0]);
    // No third one beside the two: what is being stopped is gone first.
    bench.installed(C, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 2 of ours will be gone"]);
    bench.exited(tried, "signal 15 (TERM)");
    assert_eq!(bench.told(), ["start blog-1 of blog C"]);
    // B can be declared again and is tried anew.
    bench.declare(4, B, WEB);
    bench.exited(bench.run.unwrap(), "signal 15 (TERM)");
    assert!(bench.told().contains(&"install blog B".to_owned()));
}

#[test]
fn a_build_that_served_before_is_moved_to_without_intent_or_record() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.readied(2, B, WEB);
    bench.prove(bench.run.unwrap());
    bench.exited(old, "exit status 0");
    bench.acknowledge();
    let serving = bench.run.unwrap();
    bench.readied(3, A, &fragile(WEB));
    let told = bench.told();
    assert_eq!(told.last().unwrap(), "start blog-1 of blog A", "beside what serves well");
    assert_eq!(bench.book(), [""; 0]);
    // It does not come up this time: what serves goes on, and it is tried again after a pause, for it is declared.
    bench.fall();
    assert_eq!(bench.told(), ["report 3: blog failed on blog-1"]);
    assert_eq!(bench.book(), [""; 0]);
    bench.acknowledge();
    bench.pass(4_900);
    assert_eq!(bench.told(), [""; 0]);
    bench.pass(1_500);
    assert_eq!(bench.told(), ["install blog A"]);
    bench.checked(serving, Ok(()));
    bench.pass(1_000);
    bench.checked(serving, Ok(()));
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    let back = bench.run.unwrap();
    bench.started(back);
    bench.checked(back, Ok(()));
    bench.pass(1_000);
    bench.checked(back, Ok(()));
    assert_eq!(bench.told().split_off(2), ["stop", "report 3: blog applied"]);
    assert_eq!(bench.good("blog-1").unwrap(), A);
}

#[test]
fn moving_back_beside_what_serves_waits_until_what_was_tried_is_gone() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.readied(2, B, WEB);
    bench.prove(bench.run.unwrap());
    bench.exited(old, "exit status 0");
    bench.acknowledge();
    bench.readied(3, C, WEB);
    let tried = bench.run.unwrap();
    bench.started(tried);
    bench.told();
    bench.readied(4, A, WEB);
    let verify = "verify 1 starts, 2 of ours will be gone";
    assert_eq!(bench.told(), ["answer: taken", "stop", "install blog A", verify]);
    bench.exited(tried, "signal 15 (TERM)");
    assert_eq!(bench.told(), ["start blog-1 of blog A"]);
}

#[test]
fn the_machines_disk_fails_no_trial() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, WEB);
    let new = bench.run.unwrap();
    bench.started(new);
    bench.pass(11_000);
    bench.told();
    bench.machine_has(&[wire::TroubleKind::DiskFull]);
    for _ in 0..20 {
        bench.checked(new, Err("no space left"));
        bench.pass(1_000);
    }
    assert_eq!(bench.told(), [""; 0]);
    // With room again its checks count from the beginning.
    bench.machine_has(&[]);
    bench.checked(new, Err("status 500"));
    bench.pass(1_000);
    assert_eq!(bench.told(), [""; 0]);
    bench.checked(new, Err("status 500"));
    assert_eq!(bench.told(), ["stop", "report 2: blog failed on blog-1"]);
}

#[test]
fn a_failed_build_that_is_declared_again_is_refused_and_says_why() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, &fragile(WEB));
    bench.fall();
    bench.acknowledge();
    bench.told();
    bench.now.wall += chrono::TimeDelta::minutes(1);
    bench.declare(3, B, &fragile(WEB));
    let words = "resource `web`: given up after 0 restarts within 1m of health: it ended with exit status 3; its last lines:\nlast words";
    let refused = format!(
        "report 3: blog refused, build {B} failed on this machine, first on blog-1: {words}"
    );
    assert_eq!(bench.told(), ["answer: taken", &refused]);
    bench.restart();
    bench.installed(A, Ok(()));
    assert_eq!(bench.reports().pop().map(|one| one.declaration.0), Some(3));
    assert!(bench.told().contains(&refused));
}

#[test]
fn an_agent_that_is_to_leave_waits_for_what_is_being_tried_and_begins_nothing_new() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, WEB);
    let new = bench.run.unwrap();
    bench.event(Event::ShutDown(Ending::Leave));
    assert!(!bench.agent.is_over());
    bench.prove(new);
    assert!(bench.agent.is_over());
    assert_eq!((bench.good("blog-1").unwrap().as_str(), bench.book().len()), (B, 0));

    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.event(Event::ShutDown(Ending::Leave));
    bench.told();
    bench.verified(Ok(()));
    assert_eq!((bench.told(), bench.agent.is_over()), (vec![], true));
}
