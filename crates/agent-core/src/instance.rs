//! One instance on its way from the build that it runs to the one that it should run.
//!
//! Plain stop-and-start: install while the old one runs, verify, stop the old one, start the new one. What is *unable*
//! before the old one is touched leaves it running, and is tried again by itself. So does a disk that gives trouble.

use core::time::Duration;

use chrono::{DateTime, Utc};
use names::{BuildId, ExecutionId, ResourceName};
use wire::{ModuleOutcome, ResourceState, UnableBecause};

use crate::action::Action;
use crate::draws::{RunId, VerificationId, doubling};
use crate::event::Obstacle;
use crate::execution::{Execution, Heard};
use crate::placement::{Place, Placement};
use crate::turn::Turn;

/// What kept a build from being tried often passes by itself (space returns, a port is freed): it is looked at again
/// after this pause, doubled up to the longest.
const UNABLE_PAUSE_MIN: Duration = Duration::from_secs(5);
const UNABLE_PAUSE_MAX: Duration = Duration::from_secs(60);

/// One copy of a module on this machine.
#[derive(Debug)]
pub(crate) struct Instance {
    place: Place,
    /// What should run; `None`: nothing any longer.
    wanted: Option<Placement>,
    running: Option<Execution>,
    stage: Stage,
    /// What came of what is wanted, as far as is known.
    outcome: Option<ModuleOutcome>,
    past: Past,
    /// Since when it is wanted, by the time of day.
    since: DateTime<Utc>,
    unable_in_row: u32,
}

/// Whether anything ran here, or should have, before what is wanted now. Where it did and nothing runs any longer the
/// instance is down, and that is worse than a start on a disk that gives trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// Nothing did.
    Unused,
    /// Something did.
    Used,
}

/// How far it is on its way.
#[derive(Debug)]
enum Stage {
    /// What runs was found running, and has not been compared with what is wanted.
    Found,
    /// What runs is what is wanted.
    Settled,
    /// The build wanted is being installed.
    Installing,
    /// What its start needs is looked at.
    Verifying { verification: VerificationId, execution: ExecutionId },
    /// What ran is being stopped; then the verified execution begins, if one was.
    Stopping { then: Option<ExecutionId> },
    /// Something is in the way.
    Unable { obstacle: Obstacle, again_at: Duration },
    /// The agent ends: what ran is being stopped, and nothing follows.
    Ended,
}

impl Instance {
    /// An instance of which nothing runs and nothing is wanted yet.
    pub(crate) fn new(place: Place, past: Past, turn: &Turn<'_>) -> Self {
        Self {
            place,
            wanted: None,
            running: None,
            stage: Stage::Settled,
            outcome: None,
            past,
            since: turn.now.wall,
            unable_in_row: 0,
        }
    }

    /// An instance of which something was found running, and of which is not known yet what is wanted.
    pub(crate) fn found(place: Place, running: Execution, turn: &Turn<'_>) -> Self {
        Self { running: Some(running), stage: Stage::Found, ..Self::new(place, Past::Used, turn) }
    }

    pub(crate) fn wanted(&self) -> Option<&Placement> {
        self.wanted.as_ref()
    }

    pub(crate) fn running(&self) -> Option<&Execution> {
        self.running.as_ref()
    }

    /// The execution of what is wanted, if that is what runs.
    pub(crate) fn settled(&self) -> Option<&Execution> {
        let wanted = self.wanted.as_ref()?;
        self.running.as_ref().filter(|running| running.placement.is(wanted))
    }

    pub(crate) fn outcome(&self) -> Option<&ModuleOutcome> {
        self.outcome.as_ref()
    }

    pub(crate) fn since(&self) -> DateTime<Utc> {
        self.since
    }

    /// Whether it is on no way from one build to another. What it would go to is installed before it sets out.
    pub(crate) fn is_at_rest(&self) -> bool {
        match self.stage {
            Stage::Settled | Stage::Unable { .. } => true,
            Stage::Found
            | Stage::Installing
            | Stage::Verifying { .. }
            | Stage::Stopping { .. }
            | Stage::Ended => false,
        }
    }

    /// Whether nothing of it is left and nothing is wanted.
    pub(crate) fn is_gone(&self) -> bool {
        self.wanted.is_none() && self.running.is_none()
    }

    /// How a resource stands that is wanted and has never been asked to start.
    pub(crate) fn before_start(&self) -> (ResourceState, Option<&str>) {
        match &self.stage {
            Stage::Unable { obstacle, .. } => (ResourceState::Unhealthy, Some(&obstacle.why)),
            Stage::Installing => (ResourceState::Starting, Some("its build is being installed")),
            Stage::Found | Stage::Settled | Stage::Verifying { .. } | Stage::Stopping { .. } => {
                (ResourceState::Starting, None)
            }
            Stage::Ended => (ResourceState::Stopped, None),
        }
    }

    /// When it next wants a turn.
    pub(crate) fn wake(&self) -> Option<Duration> {
        let again = match &self.stage {
            Stage::Unable { again_at, .. } => Some(*again_at),
            Stage::Found
            | Stage::Settled
            | Stage::Installing
            | Stage::Verifying { .. }
            | Stage::Stopping { .. }
            | Stage::Ended => None,
        };
        let supervision = self.running.as_ref().and_then(Execution::wake);
        again.into_iter().chain(supervision).min()
    }

    /// From now on this should run here.
    pub(crate) fn want(&mut self, wanted: Option<Placement>, turn: &mut Turn<'_>) {
        let is_same = match (&self.wanted, &wanted) {
            (Some(before), Some(now)) => before.is(now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.wanted = wanted;
        let is_compared = !matches!(self.stage, Stage::Found);
        if is_same && is_compared {
            return;
        }
        self.outcome = None;
        self.unable_in_row = 0;
        self.since = turn.now.wall;
        match &mut self.stage {
            // What is being stopped is gone first, whatever comes after it; what was verified was for another build.
            Stage::Stopping { then } => *then = None,
            Stage::Ended => {}
            Stage::Found
            | Stage::Settled
            | Stage::Installing
            | Stage::Verifying { .. }
            | Stage::Unable { .. } => self.compare(turn),
        }
    }

    pub(crate) fn installed(
        &mut self,
        build: &BuildId,
        outcome: &Result<(), Obstacle>,
        turn: &mut Turn<'_>,
    ) {
        let Stage::Installing = self.stage else { return };
        let Some(wanted) = self.wanted.as_ref().filter(|wanted| wanted.module.build == *build)
        else {
            return;
        };
        if let Some(obstacle) = outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            return self.be_unable(obstacle, turn);
        }
        let verification = turn.draws.verification();
        let execution = turn.draws.execution();
        let start = |resource| wanted.start(&self.place, &execution, resource);
        let starts = wanted.resources().iter().map(start).collect();
        let ours = self.running.as_ref().map(Execution::runs).unwrap_or_default();
        turn.actions.push(Action::Verify { verification, starts, ours });
        self.stage = Stage::Verifying { verification, execution };
    }

    pub(crate) fn verified(
        &mut self,
        of: VerificationId,
        outcome: &Result<(), Obstacle>,
        turn: &mut Turn<'_>,
    ) {
        let execution = match &self.stage {
            Stage::Verifying { verification, execution } if *verification == of => {
                execution.clone()
            }
            Stage::Verifying { .. }
            | Stage::Found
            | Stage::Settled
            | Stage::Installing
            | Stage::Stopping { .. }
            | Stage::Unable { .. }
            | Stage::Ended => return,
        };
        match outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            Some(obstacle) => self.be_unable(obstacle, turn),
            None => self.stop_then(Some(execution), turn),
        }
    }

    /// Something became of one of its runs.
    pub(crate) fn heard(
        &mut self,
        resource: &ResourceName,
        run: RunId,
        what: Heard,
        turn: &mut Turn<'_>,
    ) {
        if let Some(running) = &mut self.running {
            running.heard(resource, run, what, turn);
        }
        self.go_on(turn);
    }

    /// Does what is due by now.
    pub(crate) fn tick(&mut self, turn: &mut Turn<'_>) {
        if let Some(running) = &mut self.running {
            running.tick(turn);
        }
        if let Stage::Unable { again_at, .. } = &self.stage
            && *again_at <= turn.now.monotonic
        {
            self.compare(turn);
        }
        self.note_outcome();
    }

    /// Somebody asks again for what is wanted already: what could not be tried is tried now.
    pub(crate) fn try_now(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Unable { .. } = &self.stage {
            self.compare(turn);
        }
    }

    /// The machine's disk no longer gives trouble: what waited for that goes on now.
    pub(crate) fn relieve(&mut self, turn: &mut Turn<'_>) {
        if let Some(running) = &mut self.running {
            running.relieve(turn);
        }
        if let Stage::Unable { obstacle: Obstacle { because: UnableBecause::Disk, .. }, .. } =
            &self.stage
        {
            self.compare(turn);
        }
    }

    /// The agent ends: whatever runs is stopped, and nothing follows.
    pub(crate) fn end(&mut self, turn: &mut Turn<'_>) {
        if let Some(running) = &mut self.running {
            running.stop(turn);
        }
        self.stage = Stage::Ended;
        self.go_on(turn);
    }

    fn compare(&mut self, turn: &mut Turn<'_>) {
        let Some(wanted) = &self.wanted else { return self.stop_then(None, turn) };
        if let Some(running) = self.running.as_mut().filter(|one| one.placement.is(wanted)) {
            running.complete(&self.place, turn);
            self.stage = Stage::Settled;
            return;
        }
        if let Some(obstacle) = self.held_back(turn).cloned() {
            return self.be_unable(obstacle, turn);
        }
        let (module, build) = (self.place.0.clone(), wanted.module.build.clone());
        turn.install(module, build, wanted.module.artifacts.clone());
        self.stage = Stage::Installing;
    }

    /// What is wrong with the machine itself and keeps another build from being begun here.
    fn held_back<'a>(&self, turn: &'a Turn<'_>) -> Option<&'a Obstacle> {
        let is_down = match &self.running {
            None => self.past == Past::Used,
            Some(running) => running.is_given_up(),
        };
        turn.troubles.obstacle().filter(|_| !is_down)
    }

    fn stop_then(&mut self, then: Option<ExecutionId>, turn: &mut Turn<'_>) {
        if let Some(running) = &mut self.running {
            running.stop(turn);
        }
        self.stage = Stage::Stopping { then };
        self.go_on(turn);
    }

    /// Goes on once what was to be stopped is gone.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        let then = match &mut self.stage {
            Stage::Ended => None,
            Stage::Stopping { then } => Some(then),
            Stage::Found
            | Stage::Settled
            | Stage::Installing
            | Stage::Verifying { .. }
            | Stage::Unable { .. } => return,
        };
        if self.running.as_ref().is_some_and(|running| !running.is_over()) {
            return;
        }
        self.running = None;
        let Some(then) = then else { return };
        match (then.take(), &self.wanted) {
            (_, None) => self.stage = Stage::Settled,
            (None, Some(_)) => self.compare(turn),
            (Some(id), Some(wanted)) => {
                self.running = Some(Execution::begin(id, wanted.clone(), &self.place, turn));
                self.stage = Stage::Settled;
                self.past = Past::Used;
                // What kept it from being tried is over, and what comes of it is not known yet.
                self.outcome = None;
                self.unable_in_row = 0;
            }
        }
    }

    fn be_unable(&mut self, obstacle: Obstacle, turn: &mut Turn<'_>) {
        self.unable_in_row = self.unable_in_row.saturating_add(1);
        let pause = doubling(UNABLE_PAUSE_MIN, UNABLE_PAUSE_MAX, self.unable_in_row);
        let again_at = turn.now.after(turn.draws.spread(pause));
        self.outcome = Some(obstacle.outcome());
        self.stage = Stage::Unable { obstacle, again_at };
    }

    /// A build that failed here has failed, even if it comes to life later.
    fn note_outcome(&mut self) {
        let Stage::Settled = self.stage else { return };
        if matches!(self.outcome, Some(ModuleOutcome::Failed { .. })) {
            return;
        }
        if let Some(outcome) = self.running.as_ref().and_then(|one| one.outcome(&self.place)) {
            self.outcome = Some(outcome);
        }
    }
}
