//! Slow work on the host, each piece a future that ends in what came of it.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use agent_core::{Adopted, CheckId, Event, Obstacle, RunId, Start, VerificationId};
use host::{AdoptError, Bundle, Host, InstallError, Notify, Process, ProcessSpec, StartError};
use inventory::{Check, DeclaredModule, Stop};
use names::{BuildId, ModuleName};
use serde::{Deserialize, Serialize};
use wire::{Held, UnableBecause};

use crate::log::{Log, Severity};

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
        if let Err(error) = host.verify(&spec(start, None), &ours).await {
            outcome = Err(not_started(&error));
            break;
        }
    }
    Event::Verified { verification, outcome }
}

pub(crate) async fn check<P: Process>(
    process: P,
    run: RunId,
    check: CheckId,
    ask: Check,
    timeout: Duration,
) -> Event {
    let outcome = process.check(&ask, timeout).await.map_err(|failed| failed.0);
    Event::Checked { run, check, outcome }
}

/// Removes every build but these.
pub(crate) async fn collect<H: Host>(
    host: H,
    keep: BTreeSet<(ModuleName, BuildId)>,
    log: Log,
) -> Event {
    let gone = host.collect(&keep).await;
    if !gone.is_empty() {
        let names = gone.iter().map(|(module, build)| format!("{module} {build}"));
        let line = format!(
            "builds that nothing needs any longer were removed: {}",
            names.collect::<Vec<_>>().join(", ")
        );
        log.say(Severity::Info, &line);
    }
    Event::Collected
}

/// Waits until a process is gone.
pub(crate) async fn end<P: Process>(process: P, run: RunId) -> Event {
    let exit = process.ended().await;
    let last_lines = process.last_lines().await;
    Event::Exited { run, how: exit.to_string(), last_lines }
}

/// What is kept with a process for the agent that finds it, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Words {
    /// What it was declared as.
    declared: DeclaredModule,
    /// The newest declaration seen when it was started.
    seen: Option<Held>,
}

/// What a start is to a host.
pub(crate) fn spec(start: Start, seen: Option<Held>) -> ProcessSpec {
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
        check,
        declared,
    } = start;
    let notify = match check {
        Check::Notify { watchdog } => {
            Notify::Heard { watchdog: watchdog.map(|bound| bound.as_duration()) }
        }
        Check::Http { .. } | Check::Tcp | Check::Exec(_) | Check::Alive(_) => Notify::Unheard,
    };
    // Without words nobody could tell what it is, and it would be stopped instead of gone on with.
    let keepsake = serde_json::to_string(&Words { declared, seen }).unwrap_or_default();
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
        notify,
        keepsake,
    }
}

/// Takes hold of what an agent before this one started. What nobody can tell what it is, is stopped whole: nobody could look
/// after it, and it would stand in the way.
pub(crate) async fn adopt<H: Host>(
    host: &H,
    log: &Log,
) -> Result<Vec<(Adopted, H::Process)>, AdoptError> {
    let mut adopted = Vec::new();
    for (nth, found) in (0..).zip(host.adopt().await?) {
        let host::Adopted { module, instance, resource, execution, keepsake, process } = found;
        match serde_json::from_str(&keepsake) {
            Ok(Words { declared, seen }) => {
                let (run, address) = (RunId::adopted(nth), process.address());
                let identity = process.identity().clone();
                let known = Adopted {
                    run,
                    module,
                    instance,
                    resource,
                    execution,
                    declared,
                    seen,
                    process: identity,
                    address,
                };
                adopted.push((known, process));
            }
            Err(error) => {
                let line = format!(
                    "a process of `{instance}` that was found is stopped, since what was kept of it cannot be read: {error}"
                );
                log.say(Severity::Warning, &line);
                process.stop(Stop::default()).await;
            }
        }
    }
    Ok(adopted)
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
        StartError::Forbidden { .. } => UnableBecause::Bounds,
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
