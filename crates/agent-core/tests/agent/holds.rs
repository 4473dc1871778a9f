//! Builds that have the data for themselves: a failure holds the instance down, and what is not brought to its end marks it.

use agent_core::{Ending, Event};
use wire::ResourceState;

use crate::bench::{A, B, Bench, C, declaration, fragile, hold, module};

/// Runs A, then B as a hold, up to where B runs.
fn trying() -> Bench {
    let hold = fragile(&hold());
    let mut bench = Bench::running(A, &hold);
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold);
    assert_eq!(bench.told().pop().unwrap(), "stop", "the old one stops first");
    assert_eq!(bench.book(), ["intent B on blog-1, hold"]);
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), ["start blog-1 of blog B"]);
    bench
}

/// The same, and B fails.
fn held_down() -> Bench {
    let mut bench = trying();
    bench.fall();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["record B on blog-1, holds down blog-1"]);
    bench.acknowledge();
    bench
}

/// Nothing is begun, for as long as anybody would wait.
fn stays_down(bench: &mut Bench) {
    bench.told();
    for _ in 0..100 {
        bench.pass(60_000);
        let told = bench.told();
        let begins = told.iter().any(|one| one.starts_with("install") || one.starts_with("start"));
        assert!(!begins, "{told:?}");
    }
    let row = bench.row();
    assert_eq!((row.state, row.process), (ResourceState::Failed, None));
    assert!(row.why.is_some(), "it is said why it is down");
}

#[test]
fn a_hold_that_fails_holds_the_instance_down() {
    stays_down(&mut held_down());
}

#[test]
fn a_restart_brings_nothing_up_that_is_held_down_and_tells_the_failure_again() {
    let mut bench = held_down();
    bench.restart();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    stays_down(&mut bench);
}

#[test]
fn an_agent_that_dies_in_the_middle_of_a_hold_leaves_it_held_down() {
    let mut bench = trying();
    let run = bench.run.unwrap();
    bench.started(run);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["stop", "report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["record B on blog-1, holds down blog-1", "marker B on blog-1"]);
    bench.exited(found.run, "signal 15 (TERM)");
    stays_down(&mut bench);
}

#[test]
fn declaring_the_old_build_brings_it_not_back_where_a_hold_failed() {
    let mut bench = held_down();
    bench.declare(3, A, &hold());
    let told = bench.told();
    let refused = format!(
        "report 3: blog refused, blog-1 is held down: build {B} ran here as a hold and failed, so its data may be migrated; \
         nothing older is started by itself"
    );
    assert_eq!(told, ["answer: taken", &refused]);
    stays_down(&mut bench);
}

#[test]
fn a_newer_build_is_tried_where_the_instance_is_held_down_and_ends_that_when_it_passes() {
    let mut bench = held_down();
    bench.readied(3, C, &hold());
    assert_eq!(bench.told().pop().unwrap(), "start blog-1 of blog C");
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told(), ["report 3: blog applied"]);
    bench.acknowledge();
    // What it has outlived holds it no longer: it comes up again after a power cut, and can be moved from.
    bench.restart();
    assert_eq!(bench.told(), ["install blog C"]);
    bench.installed(C, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    bench.told();
    bench.readied(4, A, &hold());
    assert_eq!(bench.told().pop().unwrap(), "start blog-1 of blog A");
}

#[test]
fn a_newer_build_that_fails_too_leaves_the_instance_down() {
    let mut bench = held_down();
    bench.readied(3, C, &fragile(&hold()));
    bench.fall();
    let both = ["record B on blog-1, holds down blog-1", "record C on blog-1, holds down blog-1"];
    assert_eq!(bench.book(), both);
    stays_down(&mut bench);
}

#[test]
fn a_hold_that_is_superseded_after_it_ran_marks_the_instance() {
    let mut bench = trying();
    let tried = bench.run.unwrap();
    bench.started(tried);
    bench.told();
    bench.declare(3, A, &hold());
    assert_eq!(bench.book(), ["marker B on blog-1"]);
    bench.exited(tried, "signal 15 (TERM)");
    let refused = format!(
        "report 3: blog refused, blog-1 is held: build {B} ran here as a hold and was not brought to an end, so its data may \
         be migrated; nothing older is started by itself"
    );
    assert_eq!(bench.told(), ["answer: taken", "stop", &refused]);
    stays_down(&mut bench);
    bench.acknowledge();
    // It was not a failure: the build itself can be declared again, and its passing lifts the marker.
    bench.readied(4, B, &hold());
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told().pop().unwrap(), "report 4: blog applied");
    assert_eq!(bench.book(), [""; 0]);
}

#[test]
fn a_marker_says_nothing_of_another_module_that_has_the_name_by_now() {
    let mut bench = trying();
    let tried = bench.run.unwrap();
    bench.started(tried);
    bench.offer(declaration(3, [], &["blog"]));
    bench.exited(tried, "signal 15 (TERM)");
    let shop = hold().replace("\"blog\"", "\"shop\"");
    bench.offer(declaration(4, [("shop", module(A, &shop, &["blog-1"]))], &[]));
    let installed = |bench: &mut Bench| {
        let (module, build) = ("shop".parse().unwrap(), A.parse().unwrap());
        bench.event(Event::Installed { module, build, outcome: Ok(()) });
        bench.verified(Ok(()));
    };
    installed(&mut bench);
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.book(), ["marker B on blog-1"], "it is still true of the other one's data");
    bench.restart();
    bench.told();
    installed(&mut bench);
    assert_eq!(bench.told().pop().unwrap(), "start blog-1 of shop A");
}

#[test]
fn a_hold_that_is_superseded_before_anything_of_it_ran_leaves_no_marker() {
    let hold = hold();
    let mut bench = Bench::running(A, &hold);
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold);
    bench.declare(3, A, &hold);
    assert_eq!(bench.book(), [""; 0]);
    bench.told();
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), ["install blog A"]);
}

#[test]
fn a_hold_that_is_stopped_with_the_agent_marks_the_instance() {
    let mut bench = trying();
    bench.started(bench.run.unwrap());
    bench.event(Event::ShutDown(Ending::Stop));
    assert_eq!(bench.book(), ["marker B on blog-1"]);
    bench.exited(bench.run.unwrap(), "signal 15 (TERM)");
    assert!(bench.agent.is_over());
    // It was not brought to its end, so it is tried anew; the old one does not come back.
    bench.restart();
    assert_eq!(bench.told(), ["install blog B"]);
}

#[test]
fn a_hold_of_which_nothing_could_be_started_brings_the_old_one_back() {
    let mut bench = trying();
    bench.not_started(bench.run.unwrap());
    assert_eq!(bench.told(), ["install blog A", "report 2: blog unable, Start"]);
    assert_eq!(bench.book(), [""; 0]);
}

#[test]
fn what_passed_as_a_hold_and_could_not_be_kept_leaves_a_marker_when_the_agent_stops() {
    let mut bench = trying();
    bench.disk = Err("no space left".to_owned());
    let run = bench.run.unwrap();
    bench.prove(run);
    assert_eq!(bench.told(), ["report 2: blog unable, Disk"]);
    bench.disk = Ok(());
    bench.event(Event::ShutDown(Ending::Stop));
    assert_eq!(
        (bench.book(), bench.good("blog-1").unwrap().as_str()),
        (vec!["marker B on blog-1".to_owned()], A)
    );
    bench.exited(run, "signal 15 (TERM)");
    bench.restart();
    assert_eq!(
        bench.told(),
        ["install blog B"],
        "the old one is not put onto what the new one left"
    );
}
