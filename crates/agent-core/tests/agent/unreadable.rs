//! A failure book that cannot be read: what runs goes on, what may have been forbidden is not begun, and it is said why.

use wire::ModuleOutcome;

use crate::bench::{A, B, Bench, C, WEB, hold};

fn unreadable(bench: &mut Bench) {
    bench.unreadable = Some("a row is damaged".to_owned());
}

/// Why the only module is not as declared: it is no evidence against the build.
fn why(bench: &Bench) -> String {
    match &bench.reports().last().unwrap().modules.values().next().unwrap().outcome {
        ModuleOutcome::Unable { why, .. } => why.clone(),
        other @ (ModuleOutcome::Applied
        | ModuleOutcome::Refused { .. }
        | ModuleOutcome::Failed { .. }) => format!("{other:?}"),
    }
}

#[test]
fn what_runs_goes_on_whatever_it_is() {
    for manifest in [WEB.to_owned(), hold()] {
        let mut bench = Bench::running(A, &manifest);
        let found = bench.found(0, &bench.start.clone().unwrap());
        unreadable(&mut bench);
        bench.restart_with(vec![found.clone()]);
        assert_eq!(bench.told(), ["report 1: blog applied"]);
        assert_eq!(bench.row().process, Some(found.process));
        let [trouble] = &bench.newest_statement().troubles[..] else {
            unreachable!("it is stated")
        };
        assert!(trouble.why.ends_with("no build is tried: a row is damaged"), "{trouble:?}");
        bench.exited(found.run, "exit status 3");
        bench.pass(2_000);
        assert_eq!(bench.told(), ["start blog-1 of blog A"]);
    }
}

#[test]
fn of_what_runs_the_good_build_goes_on_and_not_what_was_being_tried() {
    let mut bench = Bench::running(A, WEB);
    let good = bench.found(0, &bench.start.clone().unwrap());
    bench.readied(2, B, WEB);
    let tried = bench.found(1, &bench.start.clone().unwrap());
    unreadable(&mut bench);
    bench.restart_with(vec![good.clone(), tried]);
    assert_eq!(bench.told(), ["stop", "install blog B"]);
    assert_eq!(bench.row().process, Some(good.process));
}

#[test]
fn a_hold_that_was_being_tried_goes_on_where_nothing_else_runs_and_is_not_good_for_that() {
    let mut bench = Bench::running(A, &hold());
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold());
    bench.exited(old, "exit status 0");
    let tried = bench.found(0, &bench.start.clone().unwrap());
    unreadable(&mut bench);
    bench.restart_with(vec![tried.clone()]);
    for _ in 0..10 {
        bench.checked(tried.run, Ok(()));
        bench.pass(1_000);
    }
    assert_eq!(bench.row().process, Some(tried.process));
    assert_eq!(bench.good("blog-1").unwrap(), A);
}

#[test]
fn a_good_build_that_stands_beside_others_may_start_and_one_that_holds_may_not() {
    let mut bench = Bench::running(A, WEB);
    unreadable(&mut bench);
    bench.restart();
    assert_eq!(bench.told(), ["install blog A"]);

    let mut bench = Bench::running(A, &hold());
    unreadable(&mut bench);
    bench.restart();
    let words = "the failure book cannot be read, so it is not known whether a newer build has been at the data of blog-1: a row is damaged";
    assert_eq!(why(&bench), words);
    bench.told();
    bench.pass(600_000);
    assert_eq!(bench.told().iter().filter(|told| !told.starts_with("report")).count(), 0);
}

#[test]
fn nothing_new_is_tried_and_it_is_said_why() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    unreadable(&mut bench);
    bench.restart_with(vec![found]);
    bench.acknowledge();
    bench.told();
    bench.declare(2, C, WEB);
    bench.installed(C, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(
        why(&bench),
        "the failure book allows no attempt: it cannot be read: a row is damaged"
    );
    bench.told();
    for _ in 0..20 {
        bench.pass(80_000);
        bench.installed(C, Ok(()));
        bench.verified(Ok(()));
    }
    let told = bench.told();
    assert!(!told.contains(&"start blog-1 of blog C".to_owned()), "{told:?}");
}
