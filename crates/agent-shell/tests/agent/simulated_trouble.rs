//! Whole agents on a simulated machine: disks, ports, builds and buses that give trouble.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_shell::{Config, Incarnation, Log, RunError};
use bus::{Bus, Fault, Leg, Rule};
use chrono::TimeDelta;
use host::Exit;
use host::simulated::{BuildScript, Checks, Install, Life, Obstacle, Stopping};
use store::{Batch, Disk, Entry, Expect, Failure, Key, Store};
use wire::{DeclareReply, ModuleOutcome, RefusedDeclaration, ResourceState, UnableBecause};

use crate::controller::Controller;
use crate::declared::{self, A, B, any_artifact, blog, build, declaration, manifest};
use crate::simulated::{machine, running, runs, web};

fn unable(because: UnableBecause) -> impl Fn(u64, &ModuleOutcome) -> bool {
    move |number, outcome| {
        number == 2
            && matches!(outcome, ModuleOutcome::Unable { because: found, .. } if *found == because)
    }
}

fn applied(number: u64, outcome: &ModuleOutcome) -> bool {
    number == 2 && *outcome == ModuleOutcome::Applied
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_is_refused_and_not_begun() {
    let host = machine();
    let (controller, _agent) = running(&host).await;
    controller.store.set_disk(Disk::Refusing(Failure::Full));
    let reply = controller.declare(runs(B, 2)).await;
    let DeclareReply::Refused(RefusedDeclaration::NotKept { why }) = reply else {
        unreachable!("{reply:?}")
    };
    assert_eq!(why, "no space left for the store");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(host.alive()[0].spec.build, build(A));
    controller.store.set_disk(Disk::Writable);
    assert_eq!(controller.declare(runs(B, 2)).await, DeclareReply::Taken);
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_build_from_being_tried_is_no_failure_and_leaves_the_old_one_running() {
    for (obstacle, because) in [
        (Obstacle::Missing, UnableBecause::Artifact),
        (Obstacle::Mismatch, UnableBecause::Artifact),
        (Obstacle::Unsafe, UnableBecause::Artifact),
        (Obstacle::Full, UnableBecause::Disk),
        (Obstacle::ReadOnly, UnableBecause::Disk),
    ] {
        let host = machine();
        let (mut controller, _agent) = running(&host).await;
        let install = Install::Fails(obstacle);
        host.script(build(B), BuildScript { install, ..Default::default() });
        controller.declare(runs(B, 2)).await;
        controller.until_report("unable", unable(because)).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let row = controller.until_row("A stands", |_| true).await;
        assert_eq!((row.build, row.state), (build(A), ResourceState::Healthy));
        assert_eq!(host.started().len(), 1);
        // It gets well by itself when the cause is gone.
        host.script(build(B), BuildScript::default());
        controller.until_report("applied", applied).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_a_stranger_holds_is_unable_and_one_of_our_own_is_not() {
    let fixed = || manifest("command = [\"./blog\"]\nlisten = \"0.0.0.0:8080\"\ndirect = true");
    let other = || manifest("command = [\"./blog\"]\nlisten = \"0.0.0.0:9090\"\ndirect = true");
    let host = machine();
    let mut controller = Controller::new().await;
    let _agent = controller.start(&host, 1);
    controller.declare(declaration(1, Some(blog(A, fixed(), any_artifact())))).await;
    let is_applied = |_, outcome: &ModuleOutcome| *outcome == ModuleOutcome::Applied;
    controller.until_report("A is applied", is_applied).await;

    let stranger = "0.0.0.0:9090".parse().unwrap();
    host.occupy(stranger);
    controller.declare(declaration(2, Some(blog(B, other(), any_artifact())))).await;
    controller.until_report("unable", unable(UnableBecause::Port)).await;
    assert_eq!(host.alive()[0].spec.build, build(A));
    host.vacate(stranger);
    controller.until_report("applied", applied).await;

    // The next build wants the port that the present one holds: that one is stopped first.
    controller.declare(declaration(3, Some(blog(A, other(), any_artifact())))).await;
    controller
        .until_row("A again", |row| row.build == build(A) && row.state == ResourceState::Healthy)
        .await;
    assert_eq!(host.started().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_build_that_crashes_at_once_is_given_up_and_reported_failed() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    let life = Life::EndsAfter(Duration::from_millis(100), Exit::Signal(11));
    let checks = Checks::Fail;
    host.script(build(B), BuildScript { life, checks, ..Default::default() });
    controller.declare(runs(B, 2)).await;
    let report = controller
        .until_report("failed", |number, outcome| {
            number == 2 && matches!(outcome, ModuleOutcome::Failed { .. })
        })
        .await;
    let ModuleOutcome::Failed { instance, why } = &report.modules.values().next().unwrap().outcome
    else {
        unreachable!("it was waited for")
    };
    assert_eq!(instance.as_str(), "blog-1");
    for words in ["given up after 3 restarts within 1m of health", "signal 11 (SEGV)", "was here"] {
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(host.started().len(), 1 + 4);
    let row = controller.until_row("A serves on", |_| true).await;
    assert_eq!((row.build, row.state), (build(A), ResourceState::Healthy));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(host.started().len(), 1 + 4, "nothing tries it again by itself");
}

#[tokio::test(start_paused = true)]
async fn a_build_that_never_answers_is_never_healthy() {
    for checks in [Checks::Hang, Checks::Fail, Checks::PassFrom(Duration::from_secs(3_600))] {
        let host = machine();
        let (mut controller, _agent) = running(&host).await;
        host.script(build(B), BuildScript { checks, ..Default::default() });
        controller.declare(runs(B, 2)).await;
        let failed = |number, outcome: &ModuleOutcome| {
            number == 2 && matches!(outcome, ModuleOutcome::Failed { .. })
        };
        controller.until_report("failed", failed).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(host.alive().iter().all(|one| one.spec.build == build(A)));
        let heard = controller.heard.borrow();
        let healthy = |row: &wire::ResourceStatement| {
            row.build == build(B) && row.state == ResourceState::Healthy
        };
        assert!(!heard.statements.iter().flat_map(|one| &one.resources).any(healthy));
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ignores_its_signal_is_gone_before_the_next_starts() {
    let host = machine();
    host.script(build(A), BuildScript { stopping: Stopping::Ignored, ..Default::default() });
    let mut controller = Controller::new().await;
    let _agent = controller.start(&host, 1);
    // Two of them cannot listen at a time.
    let fixed = || manifest("command = [\"./blog\"]\nlisten = \"0.0.0.0:8080\"\ndirect = true");
    controller.declare(declaration(1, Some(blog(A, fixed(), any_artifact())))).await;
    let is_applied = |_, outcome: &ModuleOutcome| *outcome == ModuleOutcome::Applied;
    controller.until_report("A is applied", is_applied).await;
    controller.declare(declaration(2, Some(blog(B, fixed(), any_artifact())))).await;
    controller.until_report("applied", applied).await;
    let [a, b] = &host.started()[..] else { unreachable!("two were started") };
    assert!(b.at - a.at >= Duration::from_secs(10), "the default grace was given");
}

#[tokio::test(start_paused = true)]
async fn what_the_bus_loses_is_said_again_until_it_is_heard() {
    let host = machine();
    let mut controller = Controller::new().await;
    let drop = |leg, subject: String, which| Rule {
        leg,
        pattern: subject.parse().unwrap(),
        which,
        fault: Fault::Drop,
    };
    controller.bus.set_script(vec![
        drop(Leg::Request, wire::subject::any_hello(), 0..2),
        drop(Leg::Request, wire::subject::any_report(), 0..2),
        drop(Leg::Answer, wire::subject::any_report(), 0..2),
        drop(Leg::Message, wire::subject::any_health(), 0..3),
    ]);
    let _agent = controller.start(&host, 1);
    controller.declare(runs(A, 1)).await;
    controller.until_row("healthy", |row| row.state == ResourceState::Healthy).await;
    // Two reports came through and their answers did not; the third was acknowledged, and then there is silence.
    controller.until("three reports", |heard| (heard.reports.len() == 3).then_some(())).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let heard = controller.heard.borrow();
    assert_eq!(heard.reports.len(), 3);
    assert!(heard.reports.iter().all(|report| report.revision == heard.reports[0].revision));
    assert!(!heard.hellos.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_clock_set_back_in_the_middle_of_a_start_changes_nothing() {
    for step in [TimeDelta::hours(-1), TimeDelta::hours(1)] {
        let host = machine();
        let mut controller = Controller::new().await;
        let checks = Checks::PassFrom(Duration::from_secs(3));
        host.script(build(A), BuildScript { checks, ..Default::default() });
        let _agent = controller.start(&host, 1);
        controller.declare(runs(A, 1)).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        host.step_wall_clock(step);
        let begun = tokio::time::Instant::now();
        controller.until_row("healthy", |row| row.state == ResourceState::Healthy).await;
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_dropped_and_told_once_a_minute() {
    let host = machine();
    let controller = Controller::new().await;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let log = Log::new(move |_, line| told.lock().unwrap().push(line.to_owned()));
    let config = Config { log, ..Config::new(declared::machine(), "test".into(), Incarnation(1)) };
    let _agent = controller.start_as(config, &host);
    assert_eq!(controller.declare(runs(A, 1)).await, DeclareReply::Taken);
    let subject = wire::subject::declare(&declared::machine()).parse().unwrap();
    for _ in 0..50 {
        let timeout = Duration::from_secs(1);
        let answer = controller.bus.request(&subject, "nonsense".into(), timeout).await;
        assert!(answer.is_err());
    }
    assert_eq!(controller.declare(runs(B, 2)).await, DeclareReply::Taken);
    let mut log = lines.lock().unwrap();
    log.retain(|line| line.contains("unreadable"));
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0].starts_with("1 unreadable declarations dropped: the message is no envelope"));
}

#[tokio::test(start_paused = true)]
async fn a_document_that_cannot_be_read_is_not_taken_for_none() {
    let host = machine();
    let controller = Controller::new().await;
    let key = Key::new("agent", [declared::machine().as_str()]).unwrap();
    let entry = Entry::put(key, Expect::Any, b"half a doc".to_vec());
    controller.store.commit(Batch::new(vec![entry]).unwrap()).await.unwrap();
    let agent = controller.start(&host, 1);
    assert!(matches!(agent.task.await.unwrap(), Err(RunError::Reopen(_))));
}

#[tokio::test(start_paused = true)]
async fn a_bus_that_is_closed_for_good_ends_the_agent_and_leaves_what_runs() {
    let host = machine();
    let (controller, agent) = running(&host).await;
    controller.bus.close();
    assert!(matches!(agent.task.await.unwrap(), Err(RunError::BusClosed)));
    assert_eq!(host.alive().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_one_process_runs_whenever_the_agent_crashes() {
    // The agent dies after each of the first steps of a move, and another takes over from what was kept.
    let mut cut_off = 0;
    for ms in (0..3_000).step_by(300) {
        let host = machine();
        let (mut controller, agent) = running(&host).await;
        let install = Install::Takes(Duration::from_secs(1));
        let stopping = Stopping::Takes(Duration::from_secs(1));
        host.script(build(B), BuildScript { install, ..Default::default() });
        host.script(build(A), BuildScript { stopping, ..Default::default() });
        controller.declare(declaration(2, Some(blog(B, web(), any_artifact())))).await;
        tokio::time::sleep(Duration::from_millis(ms)).await;
        agent.crash().await;
        let _agent = controller.start(&host, 2);
        // A crash while it is tried keeps it away from here, and says nothing of it: A serves on. Before that, the second agent
        // tries it.
        let is_told = |number, outcome: &ModuleOutcome| {
            number == 2 && matches!(outcome, ModuleOutcome::Applied | ModuleOutcome::Unable { .. })
        };
        let report = controller.until_report("told", is_told).await;
        let is_cut_off = report.modules.values().all(|one| one.outcome != ModuleOutcome::Applied);
        let stands = if is_cut_off { build(A) } else { build(B) };
        controller
            .until("one stands, by the second agent", |heard| {
                let last = heard.statements.last().filter(|last| last.engine.0 == "2")?;
                let row = last.resources.first()?;
                let is_so = row.build == stands && row.state == ResourceState::Healthy;
                (is_so && host.alive().len() == 1).then_some(())
            })
            .await;
        assert!(host.started().len() <= 2, "nothing is tried twice, after {ms} ms");
        cut_off += u32::from(is_cut_off);
    }
    assert!(
        (1..10).contains(&cut_off),
        "some crashes came before the trial and some in it: {cut_off}"
    );
}
