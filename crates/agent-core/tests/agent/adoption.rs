//! An agent that finds processes running: it goes on with them, moves them, or stops them; it never starts a second copy.

use agent_core::{Action, RunId, Start};
use inventory::Signal;
use wire::ResourceState;

use crate::bench::{A, B, Bench, WEB, declaration, in_turn, module, with_environment};

const TWO: &str = r#"
[module]
name = "blog"
observe = "2s"
[[resource]]
name = "web"
command = ["./blog"]
health = { tcp = true, every = "1s", timeout = "1s" }
stop = { signal = "INT", grace = "7s" }
[[resource]]
name = "worker"
command = ["./worker"]
health = { tcp = true, every = "1s", timeout = "1s" }
"#;

#[test]
fn what_runs_as_wanted_goes_on_under_its_own_execution() {
    let mut bench = Bench::running(A, WEB);
    let before = bench.row();
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["report 1: blog applied"]);
    let row = bench.row();
    assert_eq!((&row.execution, row.process), (&before.execution, Some(found.process)));
    assert_eq!(
        (row.state, row.restarts),
        (ResourceState::Starting, 0),
        "not known before its checks"
    );
    bench.checked(found.run, Ok(()));
    bench.pass(1_000);
    bench.checked(found.run, Ok(()));
    assert_eq!(bench.row().state, ResourceState::Healthy);
    let executions = bench.row().execution;
    assert_eq!(executions, before.execution);
    assert_eq!(bench.told(), [""; 0]);
}

#[test]
fn what_runs_of_another_build_serves_until_the_new_one_may_start() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.declare(2, B, WEB);
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["install blog B"]);
    assert_eq!(bench.row().build.as_str(), A);
    bench.checked(found.run, Ok(()));
    bench.pass(1_000);
    bench.checked(found.run, Ok(()));
    assert_eq!(bench.row().state, ResourceState::Healthy, "it is looked after meanwhile");
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 1 of ours will be gone", "start blog-1 of blog B"]);
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
}

#[test]
fn what_nobody_declares_any_more_is_stopped_whole() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.offer(declaration(2, [], &["blog"]));
    bench.offer(declaration(3, [], &[]));
    // The stop did not get through before the agent died.
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["stop", "report 3: "]);
    bench.exited(found.run, "signal 15 (TERM)");
    assert!(bench.newest_statement().resources.is_empty());
}

#[test]
fn another_environment_is_not_the_wanted_one() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    let blue = with_environment(module(A, WEB, &["blog-1"]), "blog-1", "COLOUR", "blue");
    bench.offer(declaration(2, [("blog", blue)], &[]));
    bench.restart_with(vec![found]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    // It is not known yet whether what was found does well, so it is not waited for.
    let moved = ["install blog A", "verify 1 starts, 1 of ours will be gone", "stop"];
    assert_eq!(bench.told(), moved);
}

#[test]
fn a_process_that_ended_meanwhile_counts_as_any_other_and_is_started_again() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    let execution = bench.row().execution;
    bench.restart_with(vec![found.clone()]);
    bench.exited(found.run, "exit status 3");
    let row = bench.row();
    assert_eq!(row.state, ResourceState::Unhealthy);
    assert!(row.why.unwrap().starts_with("it ended with exit status 3"));
    bench.pass(2_000);
    assert_eq!(bench.told(), ["report 1: blog applied", "start blog-1 of blog A"]);
    assert_eq!((bench.row().execution, bench.row().restarts), (execution, 1));
}

#[test]
fn a_resource_that_is_missing_is_started_beside_those_that_run() {
    let mut bench = Bench::new();
    bench.readied(1, A, TWO);
    let worker = bench.start.clone().unwrap();
    assert_eq!(worker.resource.as_str(), "worker");
    bench.prove_all(&bench.runs());
    let found = bench.found(0, &worker);
    bench.restart_with(vec![found]);
    assert_eq!(bench.told(), ["start blog-1 of blog A"]);
    let web = bench.start.clone().unwrap();
    assert_eq!((web.resource.as_str(), &web.execution), ("web", &worker.execution));
}

#[test]
fn a_resource_that_is_missing_is_started_also_while_another_build_is_on_its_way() {
    let mut bench = Bench::new();
    bench.readied(1, A, TWO);
    let worker = bench.start.clone().unwrap();
    bench.prove_all(&bench.runs());
    bench.declare(2, B, TWO);
    let found = bench.found(0, &worker);
    bench.restart_with(vec![found]);
    assert_eq!(bench.told(), ["start blog-1 of blog A", "install blog B"]);
}

#[test]
fn of_two_copies_the_newer_is_kept() {
    let mut bench = Bench::new();
    bench.readied(1, A, TWO);
    let start = bench.start.clone().unwrap();
    bench.prove_all(&bench.runs());
    let web = Start { resource: "web".parse().unwrap(), ..start.clone() };
    let old = Start { execution: "a0-1".parse().unwrap(), ..web.clone() };
    let found = [old, web, start].iter().zip(0..).map(|(one, nth)| bench.found(nth, one)).collect();
    bench.restart_with(found);
    let stopped = bench.actions.iter().filter_map(|action| {
        if let Action::Stop { run, how } = action { Some((*run, how.signal)) } else { None }
    });
    assert_eq!(stopped.collect::<Vec<_>>(), [(RunId::adopted(0), Signal::Int)]);
    assert_eq!(bench.runs(), []);
}

/// What is on the disk, as an agent left it that kept nothing of what has served.
fn of_an_older_agent(bench: &mut Bench) {
    let kept = bench.kept.as_mut().unwrap();
    kept.served.clear();
    kept.taken_at = None;
}

#[test]
fn where_an_older_agent_kept_nothing_of_what_served_what_runs_goes_on_and_is_good_when_it_is_healthy()
 {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    of_an_older_agent(&mut bench);
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["report 1: blog applied"]);
    assert_eq!(bench.good("blog-1"), None);
    bench.checked(found.run, Ok(()));
    bench.pass(1_000);
    bench.checked(found.run, Ok(()));
    assert_eq!(bench.good("blog-1").unwrap(), A);
    // Also when something else is wanted by then: it is what would be fallen back to.
    let mut bench = Bench::running(A, WEB);
    of_an_older_agent(&mut bench);
    bench.restart_with(vec![found.clone()]);
    bench.declare(2, B, WEB);
    bench.checked(found.run, Ok(()));
    bench.pass(1_000);
    bench.checked(found.run, Ok(()));
    assert_eq!(bench.good("blog-1").unwrap(), A);
}

#[test]
fn what_failed_does_not_go_on_though_nothing_is_known_of_what_served() {
    let mut bench = Bench::running(A, WEB);
    let good = bench.found(0, &bench.start.clone().unwrap());
    bench.readied(2, B, WEB);
    let tried = bench.found(1, &bench.start.clone().unwrap());
    of_an_older_agent(&mut bench);
    bench.restart_with(vec![good.clone(), tried]);
    assert_eq!(bench.row().process, Some(good.process));
    assert_eq!(bench.told(), ["stop", "report 2: blog failed on blog-1"]);
}

#[test]
fn what_never_served_does_not_go_on_though_nothing_is_known_against_it() {
    let mut bench = Bench::new();
    bench.readied(1, A, WEB);
    let run = bench.run.unwrap();
    bench.started(run);
    let found = bench.found(0, &bench.start.clone().unwrap());
    // It was superseded and is being stopped when the agent dies.
    bench.declare(2, B, WEB);
    bench.restart_with(vec![found]);
    assert_eq!(bench.told(), ["stop"]);
}

#[test]
fn what_an_instance_was_just_moved_back_to_goes_on_before_it_is_good_again() {
    let in_turn = in_turn();
    let mut bench = Bench::running(A, &in_turn);
    let old = bench.run.unwrap();
    bench.readied(2, B, &in_turn);
    bench.exited(old, "exit status 0");
    bench.prove(bench.run.unwrap());
    bench.acknowledge();
    let old = bench.run.unwrap();
    bench.readied(3, A, &in_turn);
    bench.exited(old, "exit status 0");
    bench.started(bench.run.unwrap());
    let found = bench.found(0, &bench.start.clone().unwrap());
    assert_eq!((found.declared.build.as_str(), bench.good("blog-1").unwrap().as_str()), (A, B));
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), ["report 3: blog applied"]);
    assert_eq!(bench.row().process, Some(found.process));
}

#[test]
fn an_agent_that_lost_its_document_stops_nothing_that_no_declaration_speaks_of() {
    let mut bench = Bench::running(A, WEB);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.kept = None;
    bench.restart_with(vec![found.clone()]);
    assert_eq!(bench.told(), [""; 0]);
    assert_eq!(bench.row().process, Some(found.process.clone()), "it is stated all the same");
    bench.offer(declaration(9, [], &[]));
    assert_eq!(bench.told(), ["answer: taken", "report 9: "]);
    bench.restart_with(vec![found]);
    assert_eq!(bench.told(), ["report 9: "]);
    bench.offer(declaration(10, [], &["blog"]));
    assert_eq!(bench.told(), ["stop", "answer: taken"]);
}

#[test]
fn what_was_seen_outlives_the_loss_of_what_was_kept() {
    let mut bench = Bench::running(A, WEB);
    let first = bench.found(0, &bench.start.clone().unwrap());
    bench.declare(2, A, WEB);
    let second = bench.found(1, &bench.start.clone().unwrap());
    bench.kept = None;
    bench.restart_with(vec![first, second]);
    bench.told();
    bench.offer(declaration(1, [("blog", module(A, WEB, &["blog-1"]))], &[]));
    assert_eq!(bench.told(), ["answer: refused, number 2 is held here, newer than 1"]);
    bench.offer(declaration(2, [("blog", module(B, WEB, &["blog-1"]))], &[]));
    assert_eq!(bench.told(), ["answer: refused, number 2 is held here with other content"]);
    bench.declare(2, A, WEB);
    assert_eq!(bench.kept.clone().unwrap().declaration.number.0, 2);
}
