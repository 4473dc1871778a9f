//! A trial: an execution of a build that its instance has not served, watched until it has shown what it is.

use core::time::Duration;

use chrono::{DateTime, Utc};
use failure_book::{ExecutionId, Failure, HoldRan, Hosts, MarkerWish, Mode, Snapshot};
use wire::{ModuleOutcome, ResourceState};

use crate::event::Obstacle;
use crate::excerpt::excerpt;
use crate::execution::Execution;
use crate::failures;
use crate::placement::{Place, Placement};
use crate::supervised::Record;
use crate::time::Now;

/// What the failure book is told of every failure that is recorded: the build was tried here, and failed.
const CAUSE: &str = "release";

/// What is known of an attempt from when it is announced.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// What is tried.
    pub(crate) to: Placement,
    /// The execution, as the book knows it.
    pub(crate) id: ExecutionId,
    /// How, in effect.
    pub(crate) mode: Mode,
    /// Where the book stood.
    pub(crate) snapshot: Snapshot,
    /// When it was announced.
    pub(crate) start: DateTime<Utc>,
}

/// An attempt whose build runs.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) attempt: Attempt,
    pub(crate) execution: Execution,
    healthy_since: Option<Duration>,
}

/// What a trial has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It was healthy for its time.
    Passed,
    /// It failed.
    Failed { why: String },
    /// Nothing of it could be started: nothing is known about the build.
    Unable(Obstacle),
}

impl Trial {
    pub(crate) fn new(attempt: Attempt, execution: Execution) -> Self {
        Self { attempt, execution, healthy_since: None }
    }

    /// Looks at how it does now.
    pub(crate) fn watch(&mut self, now: Now) -> Option<Shown> {
        let resources = self.execution.resources();
        for one in resources {
            let place = format!("resource `{}`", one.start().resource);
            if let Record::NeverStarted(Some(obstacle)) = one.record() {
                return Some(Shown::Unable(obstacle.clone()));
            }
            if one.state() == ResourceState::Failed || one.fails_its_checks() {
                let why = one.why().unwrap_or("it failed");
                return Some(Shown::Failed { why: excerpt(&format!("{place}: {why}")) });
            }
        }
        if !resources.iter().all(|one| one.state() == ResourceState::Healthy) {
            self.healthy_since = None;
            return None;
        }
        let since = *self.healthy_since.get_or_insert(now.monotonic);
        let observe = self.attempt.to.module.manifest.observe.as_duration();
        (now.monotonic.saturating_sub(since) >= observe).then_some(Shown::Passed)
    }

    /// When it wants to be looked at again though nothing happens.
    pub(crate) fn wake(&self) -> Option<Duration> {
        let observe = self.attempt.to.module.manifest.observe.as_duration();
        let passes = self.healthy_since.map(|since| since.saturating_add(observe));
        self.execution.wake().into_iter().chain(passes).min()
    }

    /// What its failure is to the book; none when its names have no place there.
    pub(crate) fn failure(&self, place: &Place, why: String, now: Now) -> Option<Failure> {
        let host = failures::host(&place.1)?;
        let Attempt { to, id, mode, snapshot, start } = &self.attempt;
        let held_down = if mode.is_hold() { vec![host.clone()] } else { Vec::new() };
        Some(Failure {
            build: failures::build(&to.module, &place.0)?,
            host,
            cause: CAUSE.to_owned(),
            mode: mode.clone(),
            reason: why,
            promoted_at: to.composed_at,
            at: Some(now.wall),
            held_down: Hosts::from_iter(held_down),
            marker: MarkerWish::Leave,
            exec: Some(id.clone()),
            start: Some(*start),
            snapshot: Some(*snapshot),
        })
    }
}

impl Attempt {
    /// The marker that it leaves when it ran as a hold and is not brought to its end.
    pub(crate) fn marker(&self, place: &Place) -> Option<HoldRan> {
        let build = failures::build(&self.to.module, &place.0)?;
        self.mode.is_hold().then(|| HoldRan {
            build,
            exec: Some(self.id.clone()),
            at: Some(self.start),
        })
    }
}

/// What is reported of a failed trial.
pub(crate) fn failed(place: &Place, why: String) -> ModuleOutcome {
    ModuleOutcome::Failed { instance: place.1.clone(), why }
}
