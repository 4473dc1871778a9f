//! An execution from before a retry that fails: it says nothing against what the retry let through.
//!
//! The retry comes from inside the agent, so this looks into it.

use core::time::Duration;
use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta};
use failure_book::{Book, BookId, Build, Failure, Host, Hosts, MarkerWish, Mode, Rules, Step};
use inventory::{Declaration, DeclarationNumber, DeclaredModule, Environment, Epoch, Manifest};
use wire::{BootId, ProcessIdentity};

use super::{Agent, Config};
use crate::action::{Action, Decision};
use crate::draws::{AskId, Incarnation, RunId, VerificationId};
use crate::event::Event;
use crate::failures::FoundBook;
use crate::time::Now;

const B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAB";
const MANIFEST: &str = r#"
[module]
name = "blog"
[[resource]]
name = "web"
command = ["./blog"]
restart = { limit = 0, within = "1m", backoff = "1s..8s" }
"#;
const NOW: Now = Now { monotonic: Duration::from_secs(1_000), wall: DateTime::UNIX_EPOCH };

fn land<T>(step: Step<T>, book: &mut Book) {
    if let Step::Land(_, then) = step {
        let _ = book.landed(then, failure_book::Landing::Landed);
    }
}

/// A book in which B failed on `blog-1` and is retried there.
fn retried(build: &Build, host: &Host) -> Book {
    let fresh = || Ok::<_, core::convert::Infallible>(BookId::from_random([7; 16]));
    let Ok(mut book) = Book::open(None, NOW.wall, fresh, Rules::default());
    let failure = Failure {
        build: build.clone(),
        host: host.clone(),
        cause: "release".to_owned(),
        mode: Mode::OVERLAP,
        reason: "it ended".to_owned(),
        promoted_at: Some(NOW.wall),
        at: Some(NOW.wall),
        held_down: Hosts::default(),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    };
    let step = book.record(failure, NOW.wall);
    land(step, &mut book);
    let step = book.retry_host(build, host);
    land(step, &mut book);
    book
}

fn declaration() -> Declaration {
    let instances = BTreeMap::from([("blog-1".parse().unwrap(), Environment::new())]);
    let module = DeclaredModule {
        account: Default::default(),
        build: B.parse().unwrap(),
        commit: "abc".parse().unwrap(),
        manifest: Manifest::from_toml(MANIFEST).unwrap(),
        artifacts: Vec::new(),
        instances,
    };
    Declaration {
        machine: "box-1".parse().unwrap(),
        number: DeclarationNumber(1),
        epoch: Epoch(1),
        composed_at: None,
        modules: BTreeMap::from([("blog".parse().unwrap(), module)]),
        withdrawn: Default::default(),
    }
}

/// Carries out what is decided, and lands everything.
fn follow(agent: &mut Agent, mut decision: Decision) -> Vec<Action> {
    let mut actions = Vec::new();
    loop {
        actions.append(&mut decision.actions);
        let Some(landing) = decision.land else { return actions };
        decision = agent.landed(landing, Ok(()), NOW);
    }
}

fn handle(agent: &mut Agent, event: Event) -> Vec<Action> {
    let decision = agent.handle(event, NOW);
    follow(agent, decision)
}

fn installs(actions: &[Action]) -> bool {
    actions.iter().any(|one| matches!(one, Action::Install { .. }))
}

/// Lets what was asked for last be installed and verified; answers the run that is asked for then.
fn ready(agent: &mut Agent) -> RunId {
    let (module, build) = ("blog".parse().unwrap(), B.parse().unwrap());
    let actions = handle(agent, Event::Installed { module, build, outcome: Ok(()) });
    let verification = actions.iter().find_map(|one| -> Option<VerificationId> {
        if let Action::Verify { verification, .. } = one { Some(*verification) } else { None }
    });
    let event = Event::Verified { verification: verification.unwrap(), outcome: Ok(()) };
    let run = |one: &Action| if let Action::Start { run, .. } = one { Some(*run) } else { None };
    handle(agent, event).iter().find_map(run).unwrap()
}

fn fail(agent: &mut Agent, run: RunId) -> Vec<Action> {
    let process = ProcessIdentity { pid: 7, started: 7, boot: BootId("boot".to_owned()) };
    let address = "127.0.0.1:20001".parse().unwrap();
    handle(agent, Event::Started { run, process, address });
    handle(agent, Event::Exited { run, how: "exit status 3".to_owned(), last_lines: Vec::new() })
}

#[test]
fn a_failure_from_before_a_retry_is_none_and_the_build_is_tried_anew() {
    let (build, host) = (Build::new("default", "blog", B).unwrap(), Host::new("blog-1").unwrap());
    let config = Config {
        machine: "box-1".parse().unwrap(),
        agent: "1".to_owned(),
        statement_every: Duration::from_secs(5),
        trusted: Default::default(),
        hello_every: Duration::from_secs(30),
    };
    let book = FoundBook::Open(Box::new(retried(&build, &host)));
    let boot = BootId("boot".to_owned());
    let (mut agent, decision) =
        Agent::new(config, boot, Incarnation(1), None, book, Vec::new(), NOW);
    follow(&mut agent, decision);
    let declaration = Box::new(declaration());
    assert!(installs(&handle(&mut agent, Event::Declared { ask: AskId(1), declaration })));
    let run = ready(&mut agent);
    // While it runs a newer word lifts the record.
    let FoundBook::Open(book) = &mut agent.ledger.book else { unreachable!() };
    let step = book.clear_on_pointer(&build, Some(NOW.wall + TimeDelta::hours(1)));
    land(step, book);
    let actions = fail(&mut agent, run);
    assert!(installs(&actions), "it is tried anew at once");
    assert!(!actions.iter().any(|one| matches!(one, Action::Report(_))), "it has not failed");
    let FoundBook::Open(book) = &agent.ledger.book else { unreachable!() };
    assert_eq!(book.lookup(&build), None);
    // What it does this time counts.
    let run = ready(&mut agent);
    let actions = fail(&mut agent, run);
    assert!(!installs(&actions) && actions.iter().any(|one| matches!(one, Action::Report(_))));
}
