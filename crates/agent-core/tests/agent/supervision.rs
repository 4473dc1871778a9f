//! Supervision: states, checks, restarts, giving up.

use chrono::TimeDelta;
use wire::ResourceState::{Failed, Healthy, Starting, Unhealthy};

use crate::bench::{A, Bench, WEB};

/// An agent whose only process runs and was not checked yet.
fn started(manifest: &str) -> Bench {
    Bench::started_again(A, manifest)
}

/// Answers one check and lets the time to the next pass.
fn check(bench: &mut Bench, outcome: Result<(), &str>) {
    bench.checked(bench.run.unwrap(), outcome);
    bench.pass(1_000);
}

#[test]
fn passes_in_a_row_make_healthy_and_failures_in_a_row_unhealthy() {
    let mut bench = started(WEB);
    let mut states = Vec::new();
    let no = Err("status 500");
    for outcome in [Ok(()), no, Ok(()), Ok(()), no, Ok(()), no, no, Ok(()), Ok(())] {
        check(&mut bench, outcome);
        states.push(bench.row().state);
    }
    let expected = [
        Starting, Starting, Starting, Healthy, Healthy, Healthy, Healthy, Unhealthy, Unhealthy,
        Healthy,
    ];
    assert_eq!(states, expected);
    assert_eq!(bench.row().why, None);
}

#[test]
fn failures_count_only_after_the_start_up_time() {
    let mut bench = started(WEB);
    for _ in 0..10 {
        check(&mut bench, Err("connection refused"));
        assert_eq!(bench.row().state, Starting);
    }
    bench.pass(5_000);
    assert_eq!(bench.row().why.unwrap(), "its check fails: connection refused");
    for (outcome, state) in [(Err("slow"), Starting), (Err("slow"), Unhealthy)] {
        check(&mut bench, outcome);
        assert_eq!(bench.row().state, state);
    }
}

#[test]
fn checks_of_one_process_never_overlap() {
    let mut bench = started(WEB);
    assert_eq!(checks(&mut bench), 1);
    bench.pass(5_999);
    assert_eq!(checks(&mut bench), 0);
    bench.checked(bench.run.unwrap(), Ok(()));
    bench.pass(999);
    assert_eq!(checks(&mut bench), 0);
    bench.pass(1);
    assert_eq!(checks(&mut bench), 1);
}

/// How many checks were asked for since the last look.
fn checks(bench: &mut Bench) -> usize {
    let count = bench.actions.iter().filter(|one| crate::brief::is_check(one)).count();
    bench.actions.clear();
    count
}

#[test]
fn a_check_that_is_never_answered_has_failed_and_a_late_answer_counts_for_nothing() {
    let mut bench = started(WEB);
    let run = bench.run.unwrap();
    for _ in 0..2 {
        check(&mut bench, Ok(()));
    }
    assert_eq!(bench.row().state, Healthy);
    let late = bench.check_of(run);
    checks(&mut bench);
    // Its time-out and some slack pass, then a check's distance, and so once more: one at a time, and each has failed.
    bench.pass(6_000);
    assert_eq!(bench.row().state, Healthy, "two failures in a row are wanted");
    bench.pass(7_000);
    let row = bench.row();
    assert_eq!((row.state, checks(&mut bench)), (Unhealthy, 1));
    assert_eq!(row.why.unwrap(), "its check fails: no answer within 1s");
    bench.pass(1_000);
    assert_eq!(checks(&mut bench), 1);
    check(&mut bench, Ok(()));
    bench.check_answered(run, late, Ok(()));
    assert_eq!(bench.row().state, Unhealthy, "one of two passes");
    check(&mut bench, Ok(()));
    assert_eq!(bench.row().state, Healthy);
}

#[test]
fn a_crash_is_told_with_its_end_and_last_lines_and_restarted_after_a_growing_pause() {
    let mut bench = started(WEB);
    for (restarts, pause_min, pause_max) in [(1, 1_000, 1_250), (2, 2_000, 2_500)] {
        bench.told();
        bench.exited(bench.run.unwrap(), "exit status 3");
        let row = bench.row();
        assert_eq!((row.state, row.process), (Unhealthy, None));
        assert_eq!(row.why.unwrap(), "it ended with exit status 3; its last lines:\nlast words");
        bench.pass(pause_min - 1);
        assert_eq!(bench.told(), Vec::<String>::new());
        bench.pass(pause_max - pause_min + 1);
        assert_eq!(bench.told(), ["start blog-1 of blog A"]);
        bench.started(bench.run.unwrap());
        let row = bench.row();
        assert_eq!((row.state, row.restarts), (Starting, restarts));
        assert!(row.why.is_some(), "what happened before is still told");
    }
}

/// Crashes and lets it come back, `times` times, each after it was healthy for `up_ms`.
fn crash(bench: &mut Bench, times: u32, up_ms: u64) {
    for _ in 0..times {
        check(bench, Ok(()));
        check(bench, Ok(()));
        assert_eq!(bench.row().state, Healthy);
        (0..up_ms / 1_000).for_each(|_| check(bench, Ok(())));
        bench.exited(bench.run.unwrap(), "signal 11 (SEGV)");
        bench.pass(10_000);
        if bench.row().state != Failed {
            bench.started(bench.run.unwrap());
        }
    }
}

#[test]
fn a_good_start_does_not_reset_the_count_of_restarts() {
    let mut bench = started(WEB);
    crash(&mut bench, 3, 0);
    let row = bench.row();
    assert_eq!(row.state, Failed);
    let why = row.why.unwrap();
    assert!(
        why.starts_with(
            "given up after 2 restarts within 1m of health: it ended with signal 11 (SEGV)"
        ),
        "{why}"
    );
}

#[test]
fn crashes_that_are_far_apart_never_give_it_up() {
    let mut bench = started(WEB);
    crash(&mut bench, 10, 60_000);
    assert_ne!(bench.row().state, Failed);
    assert_eq!(bench.row().restarts, 10);
}

#[test]
fn only_being_healthy_makes_a_restart_old() {
    // Each pause is longer than the time within which restarts count, and it never passes a check.
    let slow = WEB
        .replace("within = \"1m\", backoff = \"1s..8s\"", "within = \"3s\", backoff = \"5s..8s\"");
    let mut bench = started(&slow);
    for _ in 0..2 {
        bench.exited(bench.run.unwrap(), "exit status 1");
        assert_eq!(bench.row().state, Unhealthy);
        bench.pass(8_000);
        bench.started(bench.run.unwrap());
    }
    bench.exited(bench.run.unwrap(), "exit status 1");
    assert_eq!(bench.row().state, Failed);
}

#[test]
fn pauses_are_spread_and_never_longer_than_the_longest() {
    let patient = WEB.replace("limit = 2", "limit = 100");
    let mut bench = started(&patient);
    let mut pauses = Vec::new();
    for _ in 0..20 {
        bench.exited(bench.run.unwrap(), "exit status 1");
        bench.told();
        let fell = bench.now.monotonic;
        while bench.told().is_empty() {
            bench.pass(1);
        }
        pauses.push((bench.now.monotonic - fell).as_millis());
        bench.started(bench.run.unwrap());
    }
    assert!(pauses.iter().all(|pause| (1_000..=8_000).contains(pause)), "{pauses:?}");
    assert!(pauses[0] < 1_500, "{pauses:?}");
    let late = &pauses[4..];
    assert!(late.iter().all(|pause| *pause >= 6_400), "{pauses:?}");
    assert!(late.iter().collect::<std::collections::BTreeSet<_>>().len() > 5, "{pauses:?}");
}

#[test]
fn what_was_given_up_is_tried_once_in_a_while_and_stays_failed_until_it_is_healthy() {
    let mut bench = started(WEB);
    crash(&mut bench, 3, 0);
    bench.told();
    bench.pass(580_000);
    assert_eq!(bench.told(), Vec::<String>::new());
    bench.pass(10_000);
    assert_eq!(bench.told(), ["start blog-1 of blog A"]);
    bench.started(bench.run.unwrap());
    assert_eq!(bench.row().state, Failed);
    bench.exited(bench.run.unwrap(), "exit status 1");
    bench.pass(60_000);
    assert_eq!(bench.told(), Vec::<String>::new());
    assert_eq!(bench.row().state, Failed);
    bench.pass(540_000);
    bench.started(bench.run.unwrap());
    check(&mut bench, Ok(()));
    assert_eq!(bench.row().state, Failed);
    check(&mut bench, Ok(()));
    assert_eq!(bench.row().state, Healthy);
}

#[test]
fn a_clock_that_is_set_changes_no_span() {
    let run = |step: TimeDelta| {
        let mut bench = started(WEB);
        bench.told();
        bench.now.wall += step;
        bench.exited(bench.run.unwrap(), "exit status 1");
        let mut starts = Vec::new();
        for _ in 0..40 {
            bench.pass(100);
            if bench.told().iter().any(|one| one.starts_with("start")) {
                starts.push(bench.now.monotonic);
            }
        }
        starts
    };
    let undisturbed = run(TimeDelta::zero());
    assert_eq!(undisturbed.len(), 1);
    for step in [TimeDelta::hours(-1), TimeDelta::hours(1), TimeDelta::days(-20_000)] {
        assert_eq!(run(step), undisturbed);
    }
}

#[test]
fn what_is_heard_of_an_old_run_changes_nothing() {
    let mut bench = started(WEB);
    let old = bench.run.unwrap();
    bench.exited(old, "exit status 1");
    bench.pass(2_000);
    bench.started(bench.run.unwrap());
    bench.told();
    bench.exited(old, "exit status 1");
    bench.checked(old, Err("late"));
    bench.not_started(old);
    assert_eq!(bench.told(), Vec::<String>::new());
    check(&mut bench, Ok(()));
    check(&mut bench, Ok(()));
    assert_eq!(bench.row().state, Healthy);
}
