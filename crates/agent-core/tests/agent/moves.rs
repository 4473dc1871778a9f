//! How an instance moves from one build to the next.

use agent_core::{Action, Ending, Event};
use inventory::Check;
use wire::{ResourceState, UnableBecause};

use crate::bench::{A, B, Bench, WEB, declaration, module, with_environment};

#[test]
fn install_and_verify_while_the_old_one_runs_then_start_beside_it_then_stop_it() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.declare(2, B, WEB);
    assert_eq!(bench.told(), ["install blog B", "answer: taken"]);
    bench.installed(B, Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 1 of ours will be gone"]);
    bench.event(Event::Tick);
    let verification = bench.verification.unwrap();
    bench.event(Event::Verified { verification, outcome: Ok(()) });
    assert_eq!(bench.told(), ["start blog-1 of blog B"]);
    let new = bench.run.unwrap();
    bench.prove(new);
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), [""; 0]);
    let row = bench.row();
    assert_eq!((row.build.as_str(), row.state), (B, ResourceState::Healthy));
}

#[test]
fn what_is_unable_before_the_old_one_is_touched_leaves_it_running() {
    for because in [UnableBecause::Artifact, UnableBecause::Disk] {
        let mut bench = Bench::running(A, WEB);
        bench.declare(2, B, WEB);
        bench.told();
        bench.installed(B, Err(because));
        assert_eq!(bench.told(), [format!("report 2: blog unable, {because:?}")]);
        bench.pass(5_000);
        let row = bench.row();
        assert_eq!((row.build.as_str(), row.state), (A, ResourceState::Healthy));
    }
    for because in [UnableBecause::Port, UnableBecause::Start] {
        let mut bench = Bench::running(A, WEB);
        bench.declare(2, B, WEB);
        bench.installed(B, Ok(()));
        bench.told();
        let verification = bench.verification.unwrap();
        let obstacle = agent_core::Obstacle { because, why: "in the way".to_owned() };
        bench.event(Event::Verified { verification, outcome: Err(obstacle) });
        assert_eq!(bench.told(), [format!("report 2: blog unable, {because:?}")]);
    }
}

#[test]
fn what_was_in_the_way_is_looked_at_again_until_it_is_gone() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Err(UnableBecause::Disk));
    bench.acknowledge();
    bench.told();
    bench.pass(10_000);
    assert_eq!(bench.told(), ["install blog B"]);
    bench.installed(B, Err(UnableBecause::Disk));
    // Nothing new is to be reported, and the pause grows.
    bench.pass(9_000);
    assert_eq!(bench.told(), Vec::<String>::new());
    bench.pass(5_000);
    assert_eq!(bench.told(), ["install blog B"]);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    let expected = [
        "verify 1 starts, 1 of ours will be gone",
        "start blog-1 of blog B",
        "stop",
        "report 2: blog applied",
    ];
    assert_eq!(bench.told(), expected);
}

#[test]
fn a_start_that_is_refused_is_unable_and_no_failure() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.told();
    bench.not_started(bench.run.unwrap());
    assert_eq!(bench.told(), ["report 2: blog unable, Start"]);
    bench.acknowledge();
    bench.pass(4_900);
    assert_eq!(bench.told(), [""; 0], "not before its pause is over");
    bench.pass(2_000);
    assert_eq!(bench.told(), ["install blog B"]);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told().pop().unwrap(), "report 2: blog applied");
}

#[test]
fn a_process_that_says_by_itself_that_it_is_ready_is_asked_whether_it_has() {
    let notify = WEB.replace("http = \"/\"", "notify = true");
    let mut bench = Bench::new();
    bench.declare(1, A, &notify);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.start.as_ref().unwrap().check, Check::Notify { watchdog: None });
    bench.started(bench.run.unwrap());
    let asks = |action: &Action| matches!(action, Action::Check { ask: Check::Notify { .. }, .. });
    assert!(bench.actions.iter().any(asks));
}

#[test]
fn another_environment_moves_one_instance_and_no_sibling() {
    let (mut bench, [_, old]) = Bench::pair(A, WEB);
    let both = || module(A, WEB, &["blog-1", "blog-2"]);
    let changed = with_environment(both(), "blog-2", "COLOUR", "blue");
    bench.offer(declaration(2, [("blog", changed)], &[]));
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    let expected = [
        "install blog A",
        "answer: taken",
        "verify 1 starts, 1 of ours will be gone",
        "start blog-2 of blog A",
    ];
    assert_eq!(bench.told(), expected);
    // It has served here: it only has to come up.
    let new = bench.run.unwrap();
    bench.started(new);
    bench.checked(new, Ok(()));
    bench.pass(1_000);
    assert_eq!(bench.told(), [""; 0]);
    bench.checked(new, Ok(()));
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
    assert!(
        bench
            .actions
            .iter()
            .all(|action| !matches!(action, Action::Stop { run, .. } if *run != old))
    );
}

#[test]
fn instances_of_one_build_share_its_install() {
    let mut bench = Bench::new();
    bench.told();
    bench.offer(declaration(1, [("blog", module(A, WEB, &["blog-1", "blog-2"]))], &[]));
    assert_eq!(bench.told(), ["install blog A", "answer: taken"]);
    bench.installed(A, Ok(()));
    let verify = "verify 1 starts, 0 of ours will be gone";
    assert_eq!(bench.told(), [verify, verify]);
}

#[test]
fn where_nothing_is_found_running_everything_is_started_again_and_reported_again() {
    let mut bench = Bench::running(A, WEB);
    bench.restart();
    assert_eq!(bench.told(), ["install blog A"]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    bench.started(bench.run.unwrap());
    let expected = [
        "verify 1 starts, 0 of ours will be gone",
        "start blog-1 of blog A",
        "report 1: blog applied",
    ];
    assert_eq!(bench.told(), expected);
}

#[test]
fn shutting_down_stops_everything_whole_and_begins_nothing() {
    let mut bench = Bench::running(A, WEB);
    let run = bench.run.unwrap();
    bench.declare(2, B, WEB);
    bench.told();
    bench.event(Event::ShutDown(Ending::Stop));
    assert_eq!(bench.told(), ["stop"]);
    assert!(!bench.agent.is_over());
    bench.installed(B, Ok(()));
    bench.declare(3, B, WEB);
    let late = "answer: refused, it could not be kept: the agent is ending; it takes declarations when it is back";
    assert_eq!(bench.told(), [late]);
    bench.exited(run, "exit status 0");
    assert!(bench.agent.is_over());
    assert_eq!(bench.row().state, ResourceState::Stopped);
}

#[test]
fn a_process_that_was_being_started_at_shutdown_is_stopped_as_well() {
    let mut bench = Bench::new();
    bench.declare(1, A, WEB);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    let run = bench.run.unwrap();
    bench.event(Event::ShutDown(Ending::Stop));
    bench.told();
    assert!(!bench.agent.is_over());
    bench.started(run);
    assert_eq!(bench.told(), ["stop"]);
    bench.exited(run, "signal 15 (TERM)");
    assert!(bench.agent.is_over());
}
