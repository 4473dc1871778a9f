//! One instance on its way from the build that serves it to the one that it should run.
//!
//! Everything is installed and verified while the old build serves. A build that the instance has not served is *tried*:
//! announced in the failure book, watched, and its outcome written before anything else is done about the instance. A build
//! that it has served is *moved to*: nothing is written of it. What is *unable* before the old one is touched leaves it
//! running, and is tried again by itself. So does a disk that gives trouble.
//!
//! `stage.rs` says how far it is, `standing.rs` how that looks from outside; `aiming.rs` leads up to a build that could begin; `attempting.rs` tries one; what runs and
//! what becomes of it is here.

mod aiming;
mod attempting;
mod stage;
mod standing;

use core::time::Duration;

use chrono::{DateTime, Utc};
use names::{BuildId, ExecutionId, ResourceName};
use wire::{ModuleOutcome, UnableBecause};

use crate::draws::RunId;
use crate::errands::{Errand, Serves};
use crate::execution::{Execution, Heard};
use crate::placement::{Place, Placement};
use crate::routing::Routing;
use crate::served;
use crate::trial::Trial;
use crate::turn::Turn;
use stage::{End, Hindrance, Next, PAUSE_MIN, Stage, Target, Unable, Way};

/// One copy of a module on this machine.
#[derive(Debug)]
pub(crate) struct Instance {
    place: Place,
    /// What should run; `None`: nothing any longer.
    wanted: Option<Placement>,
    /// What serves.
    serving: Option<Execution>,
    /// What is being stopped. Nothing is started beside it.
    leaving: Vec<Execution>,
    stage: Stage,
    /// What came of what is wanted, as far as is known.
    outcome: Option<ModuleOutcome>,
    past: Past,
    /// Since when it is wanted, by the time of day.
    since: DateTime<Utc>,
    /// What kept what is wanted from being begun last.
    hindrance: Hindrance,
    /// What kept it from being brought back onto its good build last.
    no_fall_back: Hindrance,
    /// When what serves well may be kept as its good build, if it is not yet.
    keep_at: Duration,
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

/// What an instance had to say when its errand was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    None,
    /// This build failed here: its siblings do not try it.
    Halt(BuildId),
}

/// How near an instance is to trying the build that it should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The build is being installed or verified, or something is still being stopped.
    OnItsWay,
    /// It waits for its turn alone.
    Ready,
}

impl Instance {
    /// An instance of which nothing runs and nothing is wanted yet.
    pub(crate) fn new(place: Place, past: Past, turn: &Turn<'_>) -> Self {
        Self {
            place,
            wanted: None,
            serving: None,
            leaving: Vec::new(),
            stage: Stage::Settled,
            outcome: None,
            past,
            since: turn.now.wall,
            hindrance: Hindrance::default(),
            no_fall_back: Hindrance::default(),
            keep_at: Duration::ZERO,
        }
    }

    /// An instance of which something was found running, and of which is not known yet what is wanted. What must not go on
    /// is being stopped already.
    pub(crate) fn found(
        place: Place,
        serving: Option<Execution>,
        leaving: Vec<Execution>,
        turn: &Turn<'_>,
    ) -> Self {
        Self { serving, leaving, stage: Stage::Found, ..Self::new(place, Past::Used, turn) }
    }

    pub(crate) fn wanted(&self) -> Option<&Placement> {
        self.wanted.as_ref()
    }

    fn wants(&self, placement: &Placement) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.is(placement))
    }

    /// What serves.
    pub(crate) fn serving(&self) -> Option<&Execution> {
        self.serving.as_ref()
    }

    /// What serves; while nothing does, what is tried, and else what is being stopped.
    pub(crate) fn running(&self) -> Option<&Execution> {
        let trial = self.stage.trial().map(|trial| &trial.execution);
        self.serving.as_ref().or(trial).or(self.leaving.first())
    }

    /// Everything of it that is alive, or will be.
    pub(crate) fn executions(&self) -> impl Iterator<Item = &Execution> {
        let trial = self.stage.trial().map(|trial| &trial.execution);
        self.serving.iter().chain(trial).chain(&self.leaving)
    }

    /// The execution of what is wanted, if that is what serves.
    pub(crate) fn settled(&self) -> Option<&Execution> {
        let wanted = self.wanted.as_ref()?;
        self.serving.as_ref().filter(|serving| serving.placement.is(wanted))
    }

    pub(crate) fn outcome(&self) -> Option<&ModuleOutcome> {
        self.outcome.as_ref()
    }

    pub(crate) fn since(&self) -> DateTime<Utc> {
        self.since
    }

    /// Whether it is on no way from one build to another. What it would go to is installed before it sets out.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.leaving.is_empty() && matches!(self.stage, Stage::Settled | Stage::Waiting(_))
    }

    /// Whether an agent that ended now would leave it in the middle: what it tries would be condemned unseen, or nothing
    /// would run.
    pub(crate) fn is_in_the_middle(&self) -> bool {
        matches!(
            self.stage,
            Stage::Announcing { .. }
                | Stage::Clearing { then: Some(_) }
                | Stage::Trying(_)
                | Stage::Concluding { .. }
        )
    }

    /// Whether nothing of it is left and nothing is wanted.
    pub(crate) fn is_gone(&self) -> bool {
        self.wanted.is_none() && self.executions().next().is_none() && !self.is_in_the_middle()
    }

    /// How near it is to trying a build, if it is on its way to that. Before it is known whether it could be reached at its
    /// addresses it is not begun.
    pub(crate) fn candidate(&self, routing: &Routing) -> Option<Readiness> {
        let (to, readiness) = match &self.stage {
            Stage::Installing { to } | Stage::Verifying { to, .. } => (to, Readiness::OnItsWay),
            Stage::Queued { to, .. } if self.leaving.is_empty() && routing.knows(&to.placement) => {
                (to, Readiness::Ready)
            }
            Stage::Queued { to, .. } => (to, Readiness::OnItsWay),
            Stage::Found
            | Stage::Settled
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. }
            | Stage::Waiting(_)
            | Stage::Ended => return None,
        };
        match to.way {
            Way::Try(_) => Some(readiness),
            Way::Return => None,
        }
    }

    /// Whether a build is being tried here.
    pub(crate) fn is_trying(&self) -> bool {
        self.stage.attempt().is_some()
    }

    /// When it next wants a turn.
    pub(crate) fn wake(&self) -> Option<Duration> {
        let supervision = self.serving.iter().chain(&self.leaving).filter_map(Execution::wake);
        self.stage.wake().into_iter().chain(supervision).min()
    }

    /// From now on this should run here.
    pub(crate) fn want(&mut self, wanted: Option<Placement>, turn: &mut Turn<'_>) {
        let is_same = match (&self.wanted, &wanted) {
            (Some(before), Some(now)) => before.is(now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let is_compared = !matches!(self.stage, Stage::Found);
        let composed = |one: &Option<Placement>| one.as_ref().and_then(|one| one.composed_at);
        let is_said_again = composed(&self.wanted) != composed(&wanted);
        self.wanted = wanted;
        if is_same && is_compared {
            // What failed before this was declared did not fail of it: from now on it is refused.
            if is_said_again && matches!(self.stage, Stage::Settled) && self.settled().is_none() {
                self.outcome = None;
                self.compare(turn);
            }
            return;
        }
        self.outcome = None;
        self.hindrance = Hindrance::default();
        self.no_fall_back = Hindrance::default();
        self.since = turn.now.wall;
        self.reconsider(turn);
    }

    /// The book may say less than it said: what was refused is looked at again.
    pub(crate) fn freed(&mut self, turn: &mut Turn<'_>) {
        if matches!(self.stage, Stage::Settled) && self.settled().is_none() {
            self.outcome = None;
            self.compare(turn);
        }
    }

    /// Looks again at what is to be done, wherever it is on its way. What was announced to the book is ended there first.
    fn reconsider(&mut self, turn: &mut Turn<'_>) {
        match &self.stage {
            // It is seen whether it is still wanted when that is written.
            Stage::Announcing { .. } | Stage::Concluding { .. } | Stage::Ended => return,
            Stage::Trying(trial) => {
                if !self.wants(&trial.to) {
                    self.conclude(End::Superseded, turn);
                }
                return;
            }
            Stage::Clearing { then: Some(Next::Try { attempt, .. }) } => {
                if self.wants(&attempt.to) {
                    return;
                }
                self.withdraw(&attempt.clone(), turn);
            }
            Stage::Clearing { .. }
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Waiting(_) => {}
        }
        self.compare(turn);
    }

    /// Its sibling failed with a build: it does not try that one. None is trying it now, since one tries at a time.
    pub(crate) fn halt(&mut self, build: &BuildId, turn: &mut Turn<'_>) {
        if self.wanted.as_ref().is_some_and(|wanted| wanted.module.build == *build) {
            self.reconsider(turn);
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
        let trial = self.stage.trial_mut().map(|trial| &mut trial.execution);
        let mut all = self.serving.iter_mut().chain(trial).chain(&mut self.leaving);
        if let Some(one) = all.find(|one| one.has(run)) {
            one.heard(resource, run, what, turn);
        }
        self.go_on(turn);
    }

    /// Does what is due by now.
    pub(crate) fn tick(&mut self, turn: &mut Turn<'_>) {
        if let Some(serving) = &mut self.serving {
            serving.tick(turn);
        }
        self.leaving.iter_mut().for_each(|one| one.tick(turn));
        if let Some(trial) = self.stage.trial_mut() {
            trial.execution.tick(turn);
        }
        if let Stage::Trying(trial) = &mut self.stage
            && let Some(shown) = trial.watch(turn)
        {
            self.conclude(End::of(shown), turn);
        }
        self.keep_again(turn);
        if let Stage::Waiting(Unable { again_at, .. }) = &self.stage
            && *again_at <= turn.now.monotonic
        {
            self.compare(turn);
        }
        self.note_outcome();
        self.note_good(turn);
    }

    /// Somebody asks again for what is wanted already: what could not be tried is tried now.
    pub(crate) fn try_now(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Waiting(_) = &self.stage {
            self.hindrance.lift();
            self.no_fall_back.lift();
            self.compare(turn);
        }
    }

    /// The machine's disk no longer gives trouble: what waited for that goes on now.
    pub(crate) fn relieve(&mut self, turn: &mut Turn<'_>) {
        if let Some(serving) = &mut self.serving {
            serving.relieve(turn);
        }
        if let Some(trial) = self.stage.trial_mut() {
            trial.execution.relieve(turn);
        }
        if let Stage::Concluding { end: End::Passed { again_at }, .. } = &mut self.stage {
            *again_at = turn.now.monotonic;
        }
        if let Stage::Waiting(Unable { obstacle, .. }) = &self.stage
            && matches!(obstacle.because, UnableBecause::Disk | UnableBecause::Book)
        {
            self.try_now(turn);
        }
    }

    /// The agent ends: whatever runs is stopped, and nothing follows.
    pub(crate) fn end(&mut self, turn: &mut Turn<'_>) {
        self.conclude(End::Superseded, turn);
        // What passed and could not be kept ends as if it had not been seen to pass.
        if let Stage::Concluding { trial, end: End::Passed { .. } } = &self.stage {
            self.leave_marker(trial, turn);
        }
        if let Some(attempt) = self.stage.attempt().cloned() {
            self.withdraw(&attempt, turn);
        }
        self.stop_serving(turn);
        if let Stage::Trying(mut trial) | Stage::Concluding { mut trial, .. } =
            std::mem::replace(&mut self.stage, Stage::Ended)
        {
            trial.execution.stop(turn);
            self.leaving.push(trial.execution);
        }
        self.go_on(turn);
    }

    fn stop_serving(&mut self, turn: &mut Turn<'_>) {
        if let Some(mut serving) = self.serving.take() {
            serving.stop(turn);
            self.leaving.push(serving);
        }
    }

    fn clear_then(&mut self, then: Option<Next>, turn: &mut Turn<'_>) {
        self.stop_serving(turn);
        self.stage = Stage::Clearing { then };
        self.go_on(turn);
    }

    /// Goes on once what was to be stopped is gone.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        self.leaving.retain(|one| !one.is_over());
        if let Stage::Queued { to: Target { placement, way: Way::Return }, execution } = &self.stage
        {
            let (to, execution) = (placement.clone(), execution.clone());
            return self.move_to(to, execution, turn);
        }
        if !self.leaving.is_empty() {
            return;
        }
        let Stage::Clearing { then } = &mut self.stage else { return };
        match (then.take(), &self.wanted) {
            (None, None) => self.stage = Stage::Settled,
            (None, Some(_)) => self.compare(turn),
            (Some(Next::Return { to, execution }), _) => {
                let execution = Execution::begin(execution, to, &self.place, turn);
                self.begin(execution);
                self.compare(turn);
            }
            (Some(Next::Try { attempt, execution }), _) => self.try_out(attempt, execution, turn),
        }
    }

    /// Moves to a build that has served here: beside what serves, where that does well and both can stand, else in turn.
    fn move_to(&mut self, to: Placement, execution: ExecutionId, turn: &mut Turn<'_>) {
        let serves_well = self.serving.as_ref().is_some_and(Execution::is_healthy);
        if !serves_well || !to.can_stand_beside() {
            return self.clear_then(Some(Next::Return { to, execution }), turn);
        }
        // Two of an instance are enough: what is still being stopped is gone first.
        if self.leaving.is_empty() {
            let beside = Execution::begin(execution, to.clone(), &self.place, turn);
            self.stage = Stage::Trying(Box::new(Trial::new(to, None, beside)));
        }
    }

    fn begin(&mut self, execution: Execution) {
        self.serving = Some(execution);
        self.stage = Stage::Settled;
        self.past = Past::Used;
        // What kept it from being tried is over, and what comes of it is not known yet.
        if self.settled().is_some() {
            self.outcome = None;
            self.hindrance = Hindrance::default();
        }
    }

    /// What it was moved to, or was found with, is its good build once it has been healthy. Not while the book cannot be
    /// read: it might say that this was tried and never passed.
    fn note_good(&mut self, turn: &mut Turn<'_>) {
        if self.is_in_the_middle()
            || matches!(self.stage, Stage::Found | Stage::Ended)
            || turn.now.monotonic < self.keep_at
            || turn.book.open().is_none()
        {
            return;
        }
        let Some(serving) = self.serving.as_ref().filter(|one| one.was_healthy()) else { return };
        let good = served::good(turn.served, &self.place);
        if good.is_none_or(|good| !good.is(&serving.placement)) {
            let good = serving.placement.clone();
            let serves = Serves::Good { good, outlived: Default::default() };
            turn.errands.push(Errand::Keep { place: self.place.clone(), serves });
            self.keep_at = turn.now.after(PAUSE_MIN);
        }
    }

    /// A build that failed here has failed, even if it comes to life later.
    fn note_outcome(&mut self) {
        let Stage::Settled = self.stage else { return };
        if matches!(self.outcome, Some(ModuleOutcome::Failed { .. })) {
            return;
        }
        if let Some(outcome) = self.settled().and_then(|one| one.outcome(&self.place)) {
            self.outcome = Some(outcome);
        }
    }
}
