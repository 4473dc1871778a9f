//! The simulated machine keeps the port's promises, and moves only when told.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use host::simulated::{BuildScript, Checks, Install, Life, Obstacle, SimHost, Start, Stopping};
use host::{
    Bundle, CheckFailed, Exit, Host, InstallError, Notify, Process, ProcessSpec, StartError,
};
use inventory::{Artifact, ArtifactName, Check, Limits, Listen, Signal, Span, Stop};
use names::{BuildId, Digest};
use wire::BootId;

const BUILD: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn machine(script: BuildScript) -> SimHost {
    let host = SimHost::new(BootId("boot".to_owned()), DateTime::UNIX_EPOCH);
    host.script(build(), script);
    host
}

fn build() -> BuildId {
    BuildId::new(BUILD).unwrap()
}

fn bundle() -> Bundle {
    let name = ArtifactName::new("blog").unwrap();
    let artifact = Artifact { name, size: 1, digest: Digest::from_bytes([0; 32]) };
    Bundle { module: "blog".parse().unwrap(), build: build(), artifacts: vec![artifact] }
}

fn spec() -> ProcessSpec {
    ProcessSpec {
        module: "blog".parse().unwrap(),
        instance: "blog-1".parse().unwrap(),
        resource: "web".parse().unwrap(),
        build: build(),
        execution: "a1-1".parse().unwrap(),
        command: vec!["./blog".to_owned()],
        environment: Default::default(),
        listen: Listen::Private,
        user: None,
        limits: Limits::default(),
        notify: Notify::Unheard,
        keepsake: "web of blog".to_owned(),
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn running(host: &SimHost) -> impl Process + use<> {
    host.install(&bundle()).await.unwrap();
    host.start(&spec()).await.unwrap()
}

#[tokio::test]
async fn a_build_that_is_not_installed_does_not_start() {
    let host = machine(BuildScript::default());
    assert!(matches!(host.start(&spec()).await, Err(StartError::Program { .. })));
    host.install(&bundle()).await.unwrap();
    assert!(host.start(&spec()).await.is_ok());
}

#[tokio::test]
async fn every_obstacle_has_its_error_and_leaves_nothing() {
    for (obstacle, expected) in [
        (Obstacle::Missing, "is not at its source"),
        (Obstacle::Mismatch, "does not match"),
        (Obstacle::Unsafe, "cannot be unpacked"),
        (Obstacle::Full, "no space"),
        (Obstacle::ReadOnly, "read-only"),
    ] {
        let script = BuildScript { install: Install::Fails(obstacle), ..Default::default() };
        let host = machine(script);
        let error: InstallError = host.install(&bundle()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!host.has_installed(&bundle().module, &build()));
    }
}

#[tokio::test]
async fn a_slow_install_takes_its_time_and_no_more() {
    let script = BuildScript { install: Install::Takes(seconds(30)), ..Default::default() };
    let host = machine(script);
    let installing = tokio::spawn({
        let host = host.clone();
        async move { host.install(&bundle()).await }
    });
    tokio::task::yield_now().await;
    host.advance(seconds(29));
    tokio::task::yield_now().await;
    assert!(!installing.is_finished());
    host.advance(seconds(1));
    installing.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_ends_when_its_script_says_and_not_before() {
    let life = Life::EndsAfter(seconds(5), Exit::Status(3));
    let host = machine(BuildScript { life, ..Default::default() });
    let process = running(&host).await;
    host.advance(seconds(4));
    assert_eq!(host.alive().len(), 1);
    host.advance(seconds(1));
    assert_eq!(host.alive().len(), 0);
    assert_eq!(process.ended().await, Exit::Status(3));
}

#[tokio::test]
async fn a_process_that_ignores_its_signal_is_killed_after_the_grace() {
    let host = machine(BuildScript { stopping: Stopping::Ignored, ..Default::default() });
    let process = running(&host).await;
    let how = Stop { signal: Signal::Term, grace: Span::seconds(10), drain: Span::ZERO };
    let stopping = tokio::spawn(async move {
        process.stop(how).await;
        process.ended().await
    });
    tokio::task::yield_now().await;
    host.advance(seconds(9));
    assert_eq!(host.alive().len(), 1);
    host.advance(seconds(1));
    assert_eq!(stopping.await.unwrap(), Exit::Signal(9));
}

#[tokio::test]
async fn checks_follow_the_script_and_die_with_the_process() {
    let checks = Checks::PassBetween { from: seconds(2), until: seconds(4) };
    let host = machine(BuildScript { checks, ..Default::default() });
    let process = running(&host).await;
    let mut found = Vec::new();
    for _ in 0..5 {
        found.push(process.check(&Check::Tcp, seconds(1)).await.is_ok());
        host.advance(seconds(1));
    }
    assert_eq!(found, [false, false, true, true, false]);
    host.kill(process.identity(), Exit::Signal(9));
    let gone = CheckFailed("the process is gone".to_owned());
    assert_eq!(process.check(&Check::Tcp, seconds(1)).await, Err(gone));
}

#[tokio::test]
async fn a_taken_address_is_told_except_when_the_taker_is_ours_to_stop() {
    let host = machine(BuildScript::default());
    host.install(&bundle()).await.unwrap();
    let spec = ProcessSpec { listen: Listen::Direct("0.0.0.0:80".parse().unwrap()), ..spec() };
    let old = host.start(&spec).await.unwrap();
    assert!(matches!(host.verify(&spec, &[]).await, Err(StartError::Port { .. })));
    assert!(host.verify(&spec, std::slice::from_ref(&old)).await.is_ok());
    old.stop(Stop { signal: Signal::Kill, grace: Span::ZERO, ..Stop::default() }).await;
    host.occupy("0.0.0.0:80".parse().unwrap());
    assert!(matches!(host.start(&spec).await, Err(StartError::Port { .. })));
    host.vacate("0.0.0.0:80".parse().unwrap());
    assert!(host.start(&spec).await.is_ok());
}

#[tokio::test]
async fn a_refused_program_is_seen_before_it_is_started() {
    let start = Start::Refused("no such program".to_owned());
    let host = machine(BuildScript { start, ..Default::default() });
    host.install(&bundle()).await.unwrap();
    assert!(matches!(host.verify(&spec(), &[]).await, Err(StartError::Program { .. })));
    assert!(host.started().is_empty());
}

#[tokio::test]
async fn a_process_outlives_its_handles_and_is_adopted_until_its_end_is_heard() {
    let host = machine(BuildScript::default());
    drop(running(&host).await);
    assert_eq!(host.alive().len(), 1);
    let [adopted] = &host.adopt().await.unwrap()[..] else { unreachable!("one process runs") };
    assert_eq!(adopted.process.identity(), &host.alive()[0].identity);
    assert_eq!((adopted.resource.as_str(), &*adopted.keepsake), ("web", "web of blog"));
    host.kill(adopted.process.identity(), Exit::Status(3));
    let [ended] = &host.adopt().await.unwrap()[..] else { unreachable!("its end is not heard") };
    assert_eq!(ended.process.ended().await, Exit::Status(3));
    assert!(host.adopt().await.unwrap().is_empty());
}

#[tokio::test]
async fn setting_the_clock_moves_the_time_of_day_and_nothing_else() {
    let host = machine(BuildScript::default());
    host.advance(seconds(10));
    host.step_wall_clock(TimeDelta::hours(-1));
    let clock = host.clock();
    assert_eq!(clock.monotonic, seconds(10));
    assert_eq!(clock.wall, DateTime::UNIX_EPOCH + TimeDelta::seconds(10 - 3_600));
}
