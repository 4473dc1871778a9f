//! Landings that fail: nothing runs without its intent, nothing is forgotten, and what is owed lands later.

use wire::ResourceState;

use crate::bench::{A, B, Bench, C, WEB, Write, fragile, hold};

/// B is tried beside A and is one look away from passing.
fn about_to_pass() -> Bench {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, WEB);
    let run = bench.run.unwrap();
    bench.started(run);
    for _ in 0..3 {
        bench.checked(run, Ok(()));
        bench.pass(900);
    }
    while bench.statements().is_empty() {
        bench.pass(10);
    }
    bench.told();
    bench
}

/// Lets it pass.
fn passes(bench: &mut Bench) {
    for _ in 0..3 {
        bench.checked(bench.run.unwrap(), Ok(()));
        bench.pass(1_000);
    }
}

/// What is owed is tried again by itself, and lands once the disk takes it.
fn is_saved_in_the_end(bench: &mut Bench) {
    bench.disk = Ok(());
    bench.pass(6_000);
    assert!(!bench.book_is_owed);
}

#[test]
fn an_intent_that_does_not_land_begins_nothing_and_is_tried_again() {
    for write in [Write::Fails, Write::LandsUnknown] {
        let mut bench = Bench::running(A, WEB);
        bench.declare(2, B, WEB);
        bench.installed(B, Ok(()));
        bench.told();
        bench.landings = [write].into();
        bench.verified(Ok(()));
        assert_eq!(bench.told(), ["report 2: blog unable, Book"]);
        bench.acknowledge();
        // Whatever the disk had of it, it has it no longer: nothing was tried.
        bench.pass(4_900);
        assert_eq!((bench.told(), bench.book()), (vec![], vec![]));
        bench.pass(1_500);
        assert_eq!(bench.told(), ["install blog B"]);
        bench.installed(B, Ok(()));
        bench.verified(Ok(()));
        assert_eq!(bench.told().pop().unwrap(), "start blog-1 of blog B");
    }
}

#[test]
fn while_no_intent_lands_nothing_is_ever_tried() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.told();
    bench.disk = Err("no space left".to_owned());
    for _ in 0..50 {
        bench.verified(Ok(()));
        bench.pass(75_000);
        bench.installed(B, Ok(()));
    }
    let told = bench.told();
    assert!(told.iter().all(|told| told != "start blog-1 of blog B"), "{told:?}");
    is_saved_in_the_end(&mut bench);
    assert_eq!(bench.book(), [""; 0]);
}

#[test]
fn a_failure_that_does_not_land_keeps_the_build_away_all_the_same_and_lands_later() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, &fragile(WEB));
    bench.told();
    bench.disk = Err("no space left".to_owned());
    bench.fall();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
    bench.acknowledge();
    bench.pass(600_000);
    assert!(bench.told().iter().all(|told| !told.starts_with("install")));
    is_saved_in_the_end(&mut bench);
    assert_eq!(bench.book(), ["record B on blog-1"]);
}

#[test]
fn what_is_owed_is_tried_once_more_when_the_agent_is_asked_to_end() {
    let mut bench = Bench::running(A, WEB);
    bench.readied(2, B, &fragile(WEB));
    bench.landings = [Write::Fails; 3].into();
    bench.fall();
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
    bench.landings.clear();
    bench.event(agent_core::Event::ShutDown(agent_core::Ending::Leave));
    assert_eq!(bench.book(), ["record B on blog-1"]);
    assert!(bench.agent.is_over());
}

#[test]
fn a_failure_that_did_not_land_is_a_failure_to_the_next_agent_too() {
    let mut bench = Bench::running(A, &hold());
    let old = bench.run.unwrap();
    bench.readied(2, B, &fragile(&hold()));
    bench.exited(old, "exit status 0");
    bench.disk = Err("no space left".to_owned());
    bench.fall();
    bench.disk = Ok(());
    bench.restart();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["record B on blog-1, holds down blog-1", "marker B on blog-1"]);
    bench.pass(600_000);
    assert_eq!((bench.row().state, bench.row().process), (ResourceState::Failed, None));
}

#[test]
fn a_marker_that_does_not_land_keeps_the_old_build_away_and_lands_later() {
    let mut bench = Bench::running(A, &hold());
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold());
    bench.exited(old, "exit status 0");
    let tried = bench.run.unwrap();
    bench.started(tried);
    bench.told();
    // The declaration lands, its consequences do not.
    bench.landings = [Write::Lands, Write::Fails, Write::Fails].into();
    bench.declare(3, A, &hold());
    bench.exited(tried, "signal 15 (TERM)");
    let told = bench.told();
    assert!(told.iter().all(|told| !told.starts_with("install")), "{told:?}");
    is_saved_in_the_end(&mut bench);
    assert_eq!(bench.book(), ["marker B on blog-1"]);
}

#[test]
fn what_passed_and_cannot_be_kept_runs_on_is_said_so_and_is_kept_later() {
    let mut bench = about_to_pass();
    bench.disk = Err("no space left".to_owned());
    passes(&mut bench);
    assert_eq!(bench.told(), ["report 2: blog unable, Disk"]);
    bench.acknowledge();
    assert_eq!(bench.row().build.as_str(), A, "the old one serves until it is kept");
    bench.disk = Ok(());
    passes(&mut bench);
    passes(&mut bench);
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
    assert_eq!((bench.good("blog-1").unwrap().as_str(), bench.book().len()), (B, 0));
}

#[test]
fn what_passed_is_kept_as_soon_as_the_disk_gives_no_trouble_any_more() {
    let mut bench = about_to_pass();
    bench.disk = Err("no space left".to_owned());
    bench.machine_has(&[wire::TroubleKind::DiskFull]);
    passes(&mut bench);
    assert_eq!(bench.told(), ["report 2: blog unable, Disk"]);
    bench.acknowledge();
    bench.disk = Ok(());
    bench.machine_has(&[]);
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
}

#[test]
fn a_pass_is_reported_when_it_is_kept_though_its_intent_goes_later() {
    let mut bench = about_to_pass();
    bench.landings = [Write::Lands, Write::Fails].into();
    passes(&mut bench);
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
    is_saved_in_the_end(&mut bench);
    assert_eq!(bench.book(), [""; 0]);
}

#[test]
fn what_was_kept_as_good_goes_on_though_the_agent_died_before_its_intent_went() {
    let mut bench = about_to_pass();
    bench.landings = [Write::Lands, Write::DiesBefore].into();
    passes(&mut bench);
    assert_eq!(bench.good("blog-1").unwrap(), B);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["report 2: blog applied"]);
    assert_eq!(bench.row().process, Some(found.process));
}

#[test]
fn a_trial_is_stopped_and_the_old_one_serves_on_wherever_the_agent_dies_before_it_is_kept() {
    // At the failure's landing, at the landing of its end, and without any.
    for landings in [
        vec![],
        vec![Write::DiesBefore],
        vec![Write::DiesAfter],
        vec![Write::Lands, Write::DiesBefore],
    ] {
        let mut bench = Bench::running(A, WEB);
        let old = bench.found(0, &bench.start.clone().unwrap());
        bench.readied(2, B, &fragile(WEB));
        let new = bench.found(1, &bench.start.clone().unwrap());
        bench.started(bench.run.unwrap());
        if !landings.is_empty() {
            bench.landings = landings.clone().into();
            bench.exited(bench.run.unwrap(), "exit status 3");
            assert!(bench.is_dead);
        }
        bench.told();
        bench.restart_with(vec![old.clone(), new]);
        assert_eq!(bench.told(), ["stop", "report 2: blog failed on blog-1"], "{landings:?}");
        assert_eq!(bench.book(), ["record B on blog-1"]);
        assert_eq!(bench.row().process, Some(old.process));
    }
}

#[test]
fn what_the_open_of_the_book_owes_lands_before_what_is_kept_and_before_anything_is_done() {
    let mut bench = Bench::running(A, &hold());
    bench.readied(2, B, &hold());
    // Its intent stands. The next agent dies at its first landing, and the one after that at its second.
    bench.landings = [Write::DiesBefore].into();
    bench.restart();
    assert_eq!((bench.told(), bench.book()), (vec![], vec!["intent B on blog-1, hold".to_owned()]));
    let engines = bench.kept.as_ref().unwrap().engines;
    bench.landings = [Write::Lands, Write::DiesBefore].into();
    bench.restart();
    let made = ["record B on blog-1, holds down blog-1", "marker B on blog-1"];
    assert_eq!(bench.book(), made);
    assert_eq!((bench.told(), bench.kept.as_ref().unwrap().engines), (vec![], engines));
    bench.restart();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
}

#[test]
fn a_hold_down_that_was_outlived_counts_again_before_its_build_runs_again() {
    let mut bench = Bench::running(A, &hold());
    let old = bench.run.unwrap();
    bench.readied(2, B, &fragile(&hold()));
    bench.exited(old, "exit status 0");
    bench.fall();
    bench.readied(3, C, &hold());
    bench.prove(bench.run.unwrap());
    bench.acknowledge();
    // Somebody frees the instance for B, which is declared again.
    bench.free("blog-1", B);
    bench.restart();
    bench.installed(C, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    let serving = bench.run.unwrap();
    bench.acknowledge();
    bench.declare(4, B, &fragile(&hold()));
    bench.installed(B, Ok(()));
    bench.told();
    // Begun, and that could not be kept: it does not run.
    bench.landings = [Write::Lands, Write::Fails].into();
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["report 4: blog unable, Disk"]);
    bench.acknowledge();
    bench.pass(6_500);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.exited(serving, "exit status 0");
    assert_eq!(bench.told().pop().unwrap(), "start blog-1 of blog B");
    bench.fall();
    assert_eq!(bench.told(), ["report 4: blog failed on blog-1"]);
    bench.restart();
    assert_eq!(bench.told(), ["report 4: blog failed on blog-1"], "C is not brought back");
}
