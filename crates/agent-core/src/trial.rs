//! A trial: an execution that is to take the place of what serves, watched until it has shown what it is.

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
use crate::turn::Turn;

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

/// What is to serve next, running.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) to: Placement,
    /// What is known of it to the book; `None` for a build that served here before.
    pub(crate) attempt: Option<Attempt>,
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
    pub(crate) fn new(to: Placement, attempt: Option<Attempt>, execution: Execution) -> Self {
        Self { to, attempt, execution, healthy_since: None }
    }

    /// How long it must be healthy. What served before only has to come up.
    fn observe(&self) -> Duration {
        match self.attempt {
            Some(_) => self.to.module.manifest.observe.as_duration(),
            None => Duration::ZERO,
        }
    }

    /// Looks at how it does now. While the machine's disk gives trouble, a check that fails says nothing of the build.
    pub(crate) fn watch(&mut self, turn: &Turn<'_>) -> Option<Shown> {
        let (now, is_machines) = (turn.now, turn.troubles.obstacle().is_some());
        let resources = self.execution.resources();
        for one in resources {
            let place = format!("resource `{}`", one.start().resource);
            if let Record::NeverStarted(Some(obstacle)) = one.record() {
                return Some(Shown::Unable(obstacle.clone()));
            }
            if one.state() == ResourceState::Failed || one.fails_its_checks() && !is_machines {
                let why = one.why().unwrap_or("it failed");
                return Some(Shown::Failed { why: excerpt(&format!("{place}: {why}")) });
            }
        }
        if !resources.iter().all(|one| one.state() == ResourceState::Healthy) {
            self.healthy_since = None;
            return None;
        }
        let since = *self.healthy_since.get_or_insert(now.monotonic);
        (now.monotonic.saturating_sub(since) >= self.observe()).then_some(Shown::Passed)
    }

    /// When it wants to be looked at again though nothing happens.
    pub(crate) fn wake(&self) -> Option<Duration> {
        let passes = self.healthy_since.map(|since| since.saturating_add(self.observe()));
        self.execution.wake().into_iter().chain(passes).min()
    }

    /// What its failure is to the book; none when it is none of the book's business.
    pub(crate) fn failure(&self, place: &Place, why: String, now: Now) -> Option<Failure> {
        let host = failures::host(&place.1)?;
        let Attempt { to, id, mode, snapshot, start } = self.attempt.as_ref()?;
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
