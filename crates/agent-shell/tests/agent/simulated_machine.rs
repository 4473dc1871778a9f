//! Whole agents on a simulated machine that has trouble of its own: a full disk, builds that nobody needs, a clock that is
//! set.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::TimeDelta;
use host::simulated::{BuildScript, Checks, Install, Life, Obstacle, SimHost, Stopping};
use host::{Bundle, Exit, Host};
use inventory::DeclarationNumber;
use tokio::time::Instant;
use wire::{
    BuildsKept, ModuleOutcome, ResourceState, ResourceStatement, Trouble, TroubleKind,
    UnableBecause,
};

use crate::controller::Controller;
use crate::declared::{A, B, any_artifact, build};
use crate::simulated::{machine, running, runs};

/// A build that nobody declares.
const OLD: &str = "01ARZ3NDEKTSV4RRFFQ69G5FA0";

fn applied(number: u64) -> impl Fn(u64, &ModuleOutcome) -> bool {
    move |of, outcome| of == number && *outcome == ModuleOutcome::Applied
}

fn healthy(id: &str) -> impl Fn(&ResourceStatement) -> bool {
    move |row| row.build == build(id) && row.state == ResourceState::Healthy
}

fn is_there(host: &SimHost, id: &str) -> bool {
    host.has_installed(&"blog".parse().unwrap(), &build(id))
}

/// Waits until something about the machine is so.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let reached = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), reached)
        .await
        .unwrap_or_else(|_| unreachable!("{what}"));
}

fn full() -> Trouble {
    let why = "0 of 1000 MB are left below /var/lib; make room".to_owned();
    Trouble { kind: TroubleKind::DiskFull, why }
}

/// The controller says that this machine needs no builds but those that it runs.
fn name_nothing(controller: &Controller, under: u64) {
    let under = DeclarationNumber(under);
    controller.keep.send_replace(Some(BuildsKept { under, builds: BTreeMap::new() }));
}

#[tokio::test(start_paused = true)]
async fn on_a_full_disk_nothing_is_begun_and_it_goes_on_by_itself_when_there_is_room() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    host.trouble(vec![full()]);
    let is_stated = |troubles: &[Trouble]| troubles == [full()];
    controller
        .until("it is stated", |heard| {
            heard.statements.last().filter(|last| is_stated(&last.troubles)).map(drop)
        })
        .await;
    controller.declare(runs(B, 2)).await;
    let report = controller
        .until_report("unable", |number, outcome| {
            let because = UnableBecause::Disk;
            number == 2
                && matches!(outcome, ModuleOutcome::Unable { because: found, .. } if *found == because)
        })
        .await;
    assert!(format!("{report:?}").contains("make room; nothing new is begun here"), "{report:?}");
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(!is_there(&host, B));
    let row = controller.until_row("A stands", |_| true).await;
    assert_eq!((row.build, row.state), (build(A), ResourceState::Healthy));

    host.trouble(Vec::new());
    let since = Instant::now();
    controller.until_report("applied", applied(2)).await;
    let took = since.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "at the next look, not when it would be tried anyway: {took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_restart_on_a_full_disk_happens_and_is_never_the_last() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    host.trouble(vec![full()]);
    // Since there is no room it ends as soon as it has started.
    let life = Life::EndsAfter(Duration::from_millis(50), Exit::Status(28));
    host.script(build(A), BuildScript { life, ..Default::default() });
    host.kill(&host.alive()[0].identity, Exit::Status(28));
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(host.started().len() > 10);
    host.script(build(A), BuildScript::default());
    host.trouble(Vec::new());
    let since = Instant::now();
    controller.until_row("A is healthy", healthy(A)).await;
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let heard = controller.heard.borrow();
    let rows = heard.statements.iter().flat_map(|one| &one.resources);
    assert!(rows.into_iter().all(|row| row.state != ResourceState::Failed));
    let failed = |outcome: &ModuleOutcome| matches!(outcome, ModuleOutcome::Failed { .. });
    let modules = heard.reports.iter().flat_map(|report| report.modules.values());
    assert!(modules.into_iter().all(|module| !failed(&module.outcome)));
}

#[tokio::test(start_paused = true)]
async fn a_put_back_after_builds_were_removed_needs_no_source() {
    let host = machine();
    let (module, artifacts) = ("blog".parse().unwrap(), any_artifact());
    host.install(&Bundle { module, build: build(OLD), artifacts }).await.unwrap();
    let (mut controller, _agent) = running(&host).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(is_there(&host, OLD), "a controller that says nothing has nothing removed");

    controller.declare(runs(B, 2)).await;
    controller.until_row("B is healthy", healthy(B)).await;
    // The word is as poor as can be: it names nothing at all.
    name_nothing(&controller, 2);
    until("the old build is gone", || !is_there(&host, OLD)).await;
    assert!(is_there(&host, A), "what served before stays");

    // From here on nobody could bring A onto this machine again.
    let install = Install::Fails(Obstacle::Missing);
    host.script(build(A), BuildScript { install, ..Default::default() });
    controller.declare(runs(A, 3)).await;
    controller.until_report("A is back", applied(3)).await;
    controller.until_row("and healthy", healthy(A)).await;
}

#[tokio::test(start_paused = true)]
async fn a_word_about_another_declaration_removes_nothing() {
    let host = machine();
    let (module, artifacts) = ("blog".parse().unwrap(), any_artifact());
    host.install(&Bundle { module, build: build(OLD), artifacts }).await.unwrap();
    let (controller, _agent) = running(&host).await;
    name_nothing(&controller, 2);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(is_there(&host, OLD));
}

#[tokio::test(start_paused = true)]
async fn what_is_declared_while_builds_are_removed_is_installed_after_that() {
    let host = machine();
    // B was brought here once, and nobody needs it: it is being removed when it is declared.
    let (module, artifacts) = ("blog".parse().unwrap(), any_artifact());
    host.install(&Bundle { module, build: build(B), artifacts }).await.unwrap();
    let (mut controller, _agent) = running(&host).await;
    let hellos = controller.heard.borrow().hellos.len();
    host.removal_takes(Duration::from_secs(20));
    name_nothing(&controller, 1);
    controller
        .until("the word is given", |heard| (heard.hellos.len() > hellos).then_some(()))
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    controller.declare(runs(B, 2)).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(host.alive()[0].spec.build, build(A), "what ran goes on meanwhile");
    controller.until_report("B is applied", applied(2)).await;
    controller.until_row("and healthy", healthy(B)).await;
    assert!(is_there(&host, B), "it was not taken away from under what runs");
}

#[tokio::test(start_paused = true)]
async fn a_check_whose_answer_is_lost_has_failed_and_the_next_one_is_made() {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    host.script(build(A), BuildScript { checks: Checks::Lost, ..Default::default() });
    let unhealthy = |row: &ResourceStatement| row.state == ResourceState::Unhealthy;
    let row = controller.until_row("it is not healthy", unhealthy).await;
    assert_eq!(row.why.as_deref(), Some("its check fails: no answer within 1s"));
    host.script(build(A), BuildScript::default());
    controller.until_row("it is healthy again", healthy(A)).await;
    assert_eq!(host.started().len(), 1);
}

/// What is under way when the clock is set, and how that shows in the end.
struct Course {
    name: &'static str,
    a: BuildScript,
    b: BuildScript,
    /// How long after B was declared the clock is set.
    after: Duration,
}

fn courses() -> [Course; 4] {
    let seconds = Duration::from_secs;
    let plain = BuildScript::default;
    let life = Life::EndsAfter(Duration::from_millis(1_500), Exit::Status(1));
    [
        Course {
            name: "an install",
            a: plain(),
            b: BuildScript { install: Install::Takes(seconds(6)), ..plain() },
            after: seconds(3),
        },
        Course {
            name: "a start",
            a: plain(),
            b: BuildScript { checks: Checks::PassFrom(seconds(4)), ..plain() },
            after: seconds(2),
        },
        Course {
            name: "a stop",
            a: BuildScript { stopping: Stopping::Ignored, ..plain() },
            b: plain(),
            after: seconds(5),
        },
        Course {
            name: "a pause after a fall",
            a: plain(),
            b: BuildScript { life, ..plain() },
            after: seconds(4),
        },
    ]
}

/// Everything that is started, stopped and said, by the time since boot.
async fn transcript(course: &Course, step: TimeDelta) -> Vec<(Duration, String)> {
    let host = machine();
    let (mut controller, _agent) = running(&host).await;
    host.script(build(A), course.a.clone());
    host.script(build(B), course.b.clone());
    controller.declare(runs(B, 2)).await;
    tokio::time::sleep(course.after).await;
    host.step_wall_clock(step);
    let set = Instant::now();
    let is_over = |number, outcome: &ModuleOutcome| {
        number == 2 && matches!(outcome, ModuleOutcome::Applied | ModuleOutcome::Failed { .. })
    };
    controller.until_report("B is through", is_over).await;
    let well = (set.elapsed(), "through".to_owned());
    tokio::time::sleep(Duration::from_secs(90)).await;
    let started = host.started().into_iter().map(|one| (one.at, one.spec.build.short().to_owned()));
    let heard = controller.heard.borrow();
    let stated = heard.statements.iter().flat_map(|one| &one.resources);
    let mut states = Vec::new();
    for row in stated.map(|row| (row.build.clone(), row.state, row.restarts)) {
        if states.last() != Some(&row) {
            states.push(row);
        }
    }
    let states = states.into_iter().map(|row| (Duration::ZERO, format!("{row:?}")));
    let reports = (Duration::ZERO, format!("{} reports", heard.reports.len()));
    started.chain(states).chain([well, reports]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_changes_nothing_that_is_under_way() {
    for course in courses() {
        let undisturbed = transcript(&course, TimeDelta::zero()).await;
        assert!(undisturbed.len() > 4, "{undisturbed:?}");
        // An hour back and on; from 1970 to a right time; and back to long before the machine booted.
        for step in [
            TimeDelta::hours(-1),
            TimeDelta::hours(1),
            TimeDelta::days(20_000),
            TimeDelta::days(-20_000),
        ] {
            assert_eq!(transcript(&course, step).await, undisturbed, "{} and {step}", course.name);
        }
    }
}
