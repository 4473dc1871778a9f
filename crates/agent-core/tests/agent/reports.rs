//! Reports, statements and hellos.

use agent_core::{Action, Event};
use wire::{HelloReply, ModuleOutcome, ReportReply};

use crate::bench::{A, B, Bench, WEB, declaration, module};

#[test]
fn applied_becomes_failed_when_it_is_given_up_before_it_was_ever_healthy() {
    // It has served here before, so it is not watched before it is reported.
    let mut bench = Bench::started_again(A, WEB);
    let applied = bench.reports().pop().unwrap();
    bench.acknowledge();
    bench.told();
    for _ in 0..2 {
        bench.exited(bench.run.unwrap(), "exit status 3");
        bench.pass(3_000);
        bench.started(bench.run.unwrap());
    }
    bench.exited(bench.run.unwrap(), "exit status 3");
    let failed = bench.reports().pop().unwrap();
    assert!(failed.revision > applied.revision);
    let report = failed.modules.values().next().unwrap();
    assert_eq!(report.executions.len(), 1);
    let ModuleOutcome::Failed { instance, why } = &report.outcome else {
        unreachable!("{report:?}")
    };
    assert_eq!(instance.as_str(), "blog-1");
    let words = "resource `web`: given up after 2 restarts within 1m of health: it ended with exit status 3; its last lines:\nlast words";
    assert_eq!(why, words);
}

#[test]
fn a_build_that_was_healthy_once_stays_applied_when_it_falls() {
    let mut bench = Bench::running(A, WEB);
    for _ in 0..3 {
        bench.exited(bench.run.unwrap(), "exit status 3");
        bench.pass(3_000);
        if bench.row().process.is_none() && bench.row().state != wire::ResourceState::Failed {
            bench.started(bench.run.unwrap());
        }
    }
    assert_eq!(bench.row().state, wire::ResourceState::Failed);
    assert_eq!(bench.reports(), []);
}

#[test]
fn a_report_is_sent_until_it_is_acknowledged_with_growing_pauses() {
    let mut bench = Bench::new();
    bench.offer(declaration(1, [], &["blog"]));
    let mut sent_at = Vec::new();
    for _ in 0..9 {
        while bench.reports().is_empty() {
            bench.pass(100);
        }
        sent_at.push(bench.now.monotonic.as_millis());
        bench.told();
        bench.event(Event::ReportUnanswered);
    }
    let pauses: Vec<_> = sent_at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (pause, least) in
        pauses.iter().zip([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
    {
        assert!((least..=least * 5 / 4 + 100).contains(pause), "{pauses:?}");
    }
    while bench.reports().is_empty() {
        bench.pass(100);
    }
    bench.acknowledge();
    bench.told();
    bench.pass(300_000);
    assert_eq!(bench.told(), Vec::<String>::new());
}

#[test]
fn an_answer_to_an_older_report_does_not_stop_the_newest() {
    let mut bench = Bench::new();
    bench.offer(declaration(1, [], &["blog"]));
    let first = bench.reports().pop().unwrap();
    bench.offer(declaration(2, [], &["blog"]));
    bench.told();
    let reply = ReportReply { declaration: first.declaration, revision: first.revision };
    bench.event(Event::ReportKept(reply));
    assert_eq!(bench.told(), ["report 2: blog applied"]);
}

#[test]
fn revisions_grow_across_restarts() {
    let mut bench = Bench::new();
    bench.offer(declaration(1, [], &["blog"]));
    let mut last = bench.reports().pop().unwrap().revision;
    for _ in 0..3 {
        bench.restart();
        let revision = bench.reports().pop().unwrap().revision;
        assert!(revision > last);
        last = revision;
    }
}

#[test]
fn a_report_waits_for_every_module() {
    let mut bench = Bench::new();
    bench.told();
    let shop = WEB.replace("\"blog\"", "\"shop\"");
    let modules = [("blog", module(A, WEB, &["blog-1"])), ("shop", module(B, &shop, &["shop-1"]))];
    bench.offer(declaration(1, modules, &[]));
    bench.installed(A, Err(wire::UnableBecause::Artifact));
    assert!(bench.reports().is_empty());
    let (module, build) = ("shop".parse().unwrap(), B.parse().unwrap());
    bench.event(Event::Installed { module, build, outcome: Ok(()) });
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    let told = bench.told().pop().unwrap();
    assert_eq!(told, "report 1: blog unable, Artifact, shop applied");
}

#[test]
fn statements_come_every_while_and_at_once_on_a_change_and_their_sequence_grows() {
    let mut bench = Bench::running(A, WEB);
    for _ in 0..20 {
        bench.checked(bench.run.unwrap(), Ok(()));
        bench.pass(1_000);
    }
    assert_eq!(bench.statements().len(), 4);
    bench.actions.clear();
    bench.exited(bench.run.unwrap(), "exit status 3");
    assert_eq!(bench.statements().len(), 1);
    bench.pass(60_000);
    let sequences: Vec<u64> = bench.statements().iter().map(|one| one.sequence).collect();
    assert!(sequences.is_sorted_by(|one, next| one < next), "{sequences:?}");
}

#[test]
fn a_machine_with_nothing_to_state_says_so() {
    let bench = Bench::new();
    let statement = bench.statements().pop().unwrap();
    assert_eq!((statement.declaration, statement.resources.len()), (None, 0));
}

#[test]
fn hello_is_said_at_start_and_every_while_and_sooner_when_nobody_answered() {
    let mut bench = Bench::new();
    let hellos = |bench: &mut Bench| {
        let count = bench.actions.iter().filter(|one| matches!(one, Action::Hello(_))).count();
        bench.actions.clear();
        count
    };
    assert_eq!(hellos(&mut bench), 1);
    bench.pass(60_000);
    assert_eq!(hellos(&mut bench), 0, "one is asked at a time");
    bench.event(Event::HelloUnanswered);
    bench.pass(1_250);
    assert_eq!(hellos(&mut bench), 1);
    bench.event(Event::HelloAnswered(Box::new(HelloReply { declaration: None, keep: None })));
    bench.pass(29_999);
    assert_eq!(hellos(&mut bench), 0);
    bench.pass(7_501);
    assert_eq!(hellos(&mut bench), 1);
}

#[test]
fn a_statement_of_many_that_fail_loses_words_and_no_row() {
    let mut bench = Bench::new();
    let names: Vec<String> = (0..300).map(|n| format!("blog-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    bench.offer(declaration(1, [("blog", module(A, WEB, &names))], &[]));
    bench.installed(A, Ok(()));
    for verification in bench.verifications() {
        bench.event(Event::Verified { verification, outcome: Ok(()) });
    }
    for run in bench.runs() {
        bench.started(run);
        let last_lines = vec!["é".repeat(2_000)];
        bench.event(Event::Exited { run, how: "exit status 1".to_owned(), last_lines });
    }
    let statement = bench.newest_statement();
    assert_eq!(statement.resources.len(), 300);
    let words: usize =
        statement.resources.iter().filter_map(|row| row.why.as_ref()).map(String::len).sum();
    assert!(words <= 128 * 1024, "{words}");
    let first = statement.resources[0].why.as_ref().unwrap();
    assert!(first.starts_with("it ended with exit status 1"), "{first}");
}
