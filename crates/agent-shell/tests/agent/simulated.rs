//! Whole agents on a simulated machine: what they do when all goes its way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::DateTime;
use host::simulated::{BuildScript, Install, SimHost, Started};
use host::{Bundle, Exit, Host, Notify, ProcessSpec};
use inventory::Manifest;
use wire::{BootId, DeclareReply, ModuleOutcome, RefusedDeclaration, ResourceState};

use crate::controller::Controller;
use crate::declared::{A, B, any_artifact, blog, build, declaration, manifest};

/// How finely simulated time follows the runtime's.
const TICK: Duration = Duration::from_millis(50);

/// A machine whose time follows the runtime's, which in these tests runs only when nothing else does.
pub(crate) fn machine() -> SimHost {
    let host = SimHost::new(BootId("boot".to_owned()), DateTime::UNIX_EPOCH);
    let moved = host.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(TICK).await;
            moved.advance(TICK);
            let alive = moved.alive();
            let place = |one: &Started| (one.spec.instance.clone(), one.spec.resource.clone());
            let mut executions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
            for one in &alive {
                let is_new = executions.entry(place(one)).or_default().insert(&one.spec.execution);
                assert!(is_new, "two processes of one execution: {alive:#?}");
            }
            let most = executions.values().map(BTreeSet::len).max();
            assert!(most <= Some(2), "more than one beside what serves: {alive:#?}");
        }
    });
    host
}

pub(crate) fn web() -> Manifest {
    manifest(
        r#"
        command = ["./blog", "--port", "${PORT}"]
        health = { http = "/", every = "1s", timeout = "1s", passes = 2, start_up = "5s" }
        restart = { limit = 3, within = "1m", backoff = "200ms..2s" }
        "#,
    )
}

pub(crate) fn runs(id: &str, number: u64) -> inventory::Declaration {
    declaration(number, Some(blog(id, web(), any_artifact())))
}

/// A controller with an agent that runs build A, healthy and reported.
pub(crate) async fn running(host: &SimHost) -> (Controller, crate::controller::Running) {
    let mut controller = Controller::new().await;
    let agent = controller.start(host, 1);
    assert_eq!(controller.declare(runs(A, 1)).await, DeclareReply::Taken);
    controller.until_row("A is healthy", |row| row.state == ResourceState::Healthy).await;
    let applied = |_, outcome: &ModuleOutcome| *outcome == ModuleOutcome::Applied;
    controller.until_report("A is applied", applied).await;
    (controller, agent)
}

#[tokio::test(start_paused = true)]
async fn a_declared_build_runs_is_stated_and_reported() {
    let host = machine();
    let (mut controller, agent) = running(&host).await;
    let row = controller.until_row("it stands", |_| true).await;
    let [alive] = &host.alive()[..] else { unreachable!("one process runs") };
    assert_eq!(row.process.as_ref(), Some(&alive.identity));
    assert_eq!(row.address, Some(alive.address));
    assert_eq!(row.execution.as_ref().map(|one| one.as_str()), Some("a1-2"));
    let report = controller.heard.borrow().reports.last().cloned().unwrap();
    let executions = &report.modules.values().next().unwrap().executions;
    assert_eq!(executions.values().next(), row.execution.as_ref());
    let hello = controller.heard.borrow().hellos.first().cloned().unwrap();
    assert_eq!(hello.held, None);
    agent.stop().await.unwrap();
    assert!(host.alive().is_empty());
    let stopped = |row: &wire::ResourceStatement| row.state == ResourceState::Stopped;
    controller.until_row("the last word", stopped).await;
}

#[tokio::test(start_paused = true)]
async fn the_old_build_runs_while_the_new_one_is_installed() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    let install = Install::Takes(Duration::from_secs(30));
    host.script(build(B), BuildScript { install, ..Default::default() });
    controller.declare(runs(B, 2)).await;
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(host.alive()[0].spec.build, build(A));
    // What still runs is not reported as the new declaration's, and no pass of it counts for that.
    assert!(controller.heard.borrow().reports.iter().all(|report| report.declaration.0 == 1));
    let row = controller.until_row("still A", |_| true).await;
    assert_eq!((row.build, row.state), (build(A), ResourceState::Healthy));
    controller
        .until_report("applied", |number, outcome| {
            number == 2 && *outcome == ModuleOutcome::Applied
        })
        .await;
    controller
        .until_row("B is healthy", |row| {
            row.build == build(B) && row.state == ResourceState::Healthy
        })
        .await;
    let builds: Vec<_> = host.started().into_iter().map(|one| one.spec.build).collect();
    assert_eq!(builds, [build(A), build(B)]);
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_module_is_stopped_and_an_unnamed_one_is_not() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    let mut silent = declaration(2, None);
    silent.withdrawn.clear();
    controller.declare(silent).await;
    controller
        .until("a report", |heard| {
            heard.reports.last().filter(|report| report.declaration.0 == 2).map(drop)
        })
        .await;
    assert_eq!(host.alive().len(), 1);
    controller.declare(declaration(3, None)).await;
    controller
        .until_report("withdrawn", |number, outcome| {
            number == 3 && *outcome == ModuleOutcome::Applied
        })
        .await;
    assert!(host.alive().is_empty());
    controller
        .until("an empty statement", |heard| {
            heard.statements.last().filter(|one| one.resources.is_empty()).map(drop)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_hello_brings_the_declaration_that_was_missed() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    controller.hand_out.send_replace(Some(runs(B, 2)));
    controller
        .until_row("B is healthy", |row| {
            row.build == build(B) && row.state == ResourceState::Healthy
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_same_declaration_is_taken_again_and_its_report_repeated() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    let before = controller.heard.borrow().reports.len();
    assert_eq!(controller.declare(runs(A, 1)).await, DeclareReply::Taken);
    controller.until("a report more", |heard| (heard.reports.len() > before).then_some(())).await;
    assert_eq!(host.started().len(), 1);
    let other = controller.declare(runs(B, 1)).await;
    let refused = RefusedDeclaration::OtherContent { number: inventory::DeclarationNumber(1) };
    assert_eq!(other, DeclareReply::Refused(refused));
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_unnoticed_by_what_runs_and_the_next_agent_goes_on() {
    let host = machine();
    let (mut controller, agent) = running(&host).await;
    let before = controller.until_row("it stands", |_| true).await;
    let revision = controller.heard.borrow().reports.last().unwrap().revision;
    agent.crash().await;
    assert_eq!(host.alive().len(), 1);
    let _agent = controller.start(&host, 2);
    let report = controller
        .until("a later report", |heard| {
            heard.reports.last().filter(|report| report.revision > revision).cloned()
        })
        .await;
    assert_eq!(report.declaration.0, 1);
    let executions = &report.modules.values().next().unwrap().executions;
    assert_eq!(executions.values().next(), before.execution.as_ref());
    controller
        .until("healthy again, by another engine", |heard| {
            let last = heard.statements.last()?;
            let row = last.resources.first()?;
            let is_so = last.engine.0 == "2" && row.state == ResourceState::Healthy;
            (is_so && row.process == before.process && row.execution == before.execution)
                .then_some(())
        })
        .await;
    assert_eq!(host.started().len(), 1, "nothing was started a second time");
    let hello = controller.heard.borrow().hellos.last().cloned().unwrap();
    assert_eq!(hello.held.map(|held| held.number.0), Some(1));
}

#[tokio::test(start_paused = true)]
async fn what_ended_while_no_agent_looked_is_started_again() {
    let host = machine();
    let (mut controller, agent) = running(&host).await;
    let before = controller.until_row("it stands", |_| true).await;
    agent.crash().await;
    host.kill(&host.alive()[0].identity, Exit::Status(3));
    let _agent = controller.start(&host, 2);
    let row = controller.until_row("it is back", |row| row.restarts == 1).await;
    assert_eq!(row.execution, before.execution);
    assert_eq!((host.alive().len(), host.started().len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_tell_what_it_is_is_stopped_before_anything_starts() {
    let host = machine();
    let stranger = ProcessSpec {
        module: "blog".parse().unwrap(),
        instance: "blog-1".parse().unwrap(),
        resource: "web".parse().unwrap(),
        build: build(B),
        execution: "a0-1".parse().unwrap(),
        command: vec!["./blog".to_owned()],
        environment: Default::default(),
        listen: inventory::Listen::Private,
        user: None,
        limits: Default::default(),
        notify: Notify::Unheard,
        keepsake: "of a newer agent".to_owned(),
    };
    let (module, artifacts) = (stranger.module.clone(), any_artifact());
    host.install(&Bundle { module, build: build(B), artifacts }).await.unwrap();
    host.start(&stranger).await.unwrap();
    let (_controller, _agent) = running(&host).await;
    let alive: Vec<_> = host.alive().into_iter().map(|one| one.spec.build).collect();
    assert_eq!(alive, [build(A)]);
}
