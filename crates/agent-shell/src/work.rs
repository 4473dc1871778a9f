//! Slow work on the host, each piece a future that ends in what came of it.

use std::error::Error;
use std::time::Duration;

use agent_core::{Event, Obstacle, RunId, Start, VerificationId};
use host::{Bundle, Host, InstallError, Process, ProcessSpec, StartError};
use wire::UnableBecause;

pub(crate) async fn install<H: Host>(host: H, bundle: Bundle) -> Event {
    let outcome = host.install(&bundle).await.map_err(|error| not_installed(&error));
    Event::Installed { module: bundle.module, build: bundle.build, outcome }
}

pub(crate) async fn verify<H: Host>(
    host: H,
    verification: VerificationId,
    starts: Vec<Start>,
    ours: Vec<H::Process>,
) -> Event {
    let mut outcome = Ok(());
    for start in starts {
        if let Err(error) = host.verify(&spec(start), &ours).await {
            outcome = Err(not_started(&error));
            break;
        }
    }
    Event::Verified { verification, outcome }
}

pub(crate) async fn check<P: Process>(
    process: P,
    run: RunId,
    check: inventory::Check,
    timeout: Duration,
) -> Event {
    let outcome = process.check(&check, timeout).await.map_err(|failed| failed.0);
    Event::Checked { run, outcome }
}

/// Waits until a process is gone.
pub(crate) async fn end<P: Process>(process: P, run: RunId) -> Event {
    let exit = process.ended().await;
    let last_lines = process.last_lines().await;
    Event::Exited { run, how: exit.to_string(), last_lines }
}

/// What a start is to a host.
pub(crate) fn spec(start: Start) -> ProcessSpec {
    let Start {
        module,
        instance,
        resource,
        build,
        execution,
        command,
        environment,
        listen,
        user,
        limits,
    } = start;
    ProcessSpec {
        module,
        instance,
        resource,
        build,
        execution,
        command,
        environment,
        listen,
        user,
        limits,
    }
}

fn not_installed(error: &InstallError) -> Obstacle {
    let because = match error {
        InstallError::Missing { .. }
        | InstallError::Mismatch { .. }
        | InstallError::Unsafe { .. } => UnableBecause::Artifact,
        InstallError::Full { .. } | InstallError::ReadOnly | InstallError::Failed { .. } => {
            UnableBecause::Disk
        }
    };
    Obstacle { because, why: words(error) }
}

pub(crate) fn not_started(error: &StartError) -> Obstacle {
    let because = match error {
        StartError::Port { .. } => UnableBecause::Port,
        StartError::Program { .. }
        | StartError::User { .. }
        | StartError::Limit { .. }
        | StartError::Failed { .. } => UnableBecause::Start,
    };
    Obstacle { because, why: words(error) }
}

/// An error with all its causes, in one line.
pub(crate) fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
