//! One instance on its way from the build that serves it to the one that it should run.
//!
//! Everything is installed and verified while the old build serves. A build that the instance has not served is *tried*:
//! announced in the failure book, watched, and its outcome written before anything else is done about the instance. A build
//! that it has served is *moved to*: nothing is written of it. What is *unable* before the old one is touched leaves it
//! running, and is tried again by itself. So does a disk that gives trouble.

use core::time::Duration;

use chrono::{DateTime, Utc};
use failure_book::{ExecutionId as BookExecutionId, Intent, Mode, NotBegun, Recorded};
use inventory::Swap;
use names::{BuildId, ExecutionId, ResourceName};
use wire::{ModuleOutcome, ResourceState, UnableBecause};

use crate::action::Action;
use crate::draws::{RunId, VerificationId, doubling};
use crate::errands::{Errand, Told};
use crate::event::Obstacle;
use crate::execution::{Execution, Heard};
use crate::failures::{self, Rule};
use crate::placement::{Place, Placement};
use crate::served;
use crate::trial::{self, Attempt, Shown, Trial};
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
    /// What kept what is wanted from being begun last, and when it is tried again.
    unable: Option<Unable>,
    unable_in_row: u32,
    /// When what serves well may be kept as its good build, if it is not yet.
    keep_at: Duration,
}

#[derive(Debug, Clone)]
struct Unable {
    obstacle: Obstacle,
    again_at: Duration,
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

/// Where an instance is going.
#[derive(Debug, Clone)]
struct Target {
    placement: Placement,
    way: Way,
}

/// How it is brought there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// It has not served that build: it is tried, in this mode.
    Try(Mode),
    /// It has.
    Return,
}

/// How far it is on its way.
#[derive(Debug)]
enum Stage {
    /// What runs was found running, and has not been compared with what is wanted.
    Found,
    /// What serves is what is wanted, or the best that may run; it may be nothing.
    Settled,
    /// The build is being installed.
    Installing { to: Target },
    /// What its start needs is looked at.
    Verifying { to: Target, verification: VerificationId, execution: ExecutionId },
    /// It waits for its turn among the instances of its module.
    Queued { to: Target, execution: ExecutionId },
    /// The attempt is being announced to the failure book.
    Announcing { attempt: Attempt, execution: ExecutionId },
    /// What ran is being stopped; then this begins, if anything does.
    Clearing { then: Option<Next> },
    /// What is to serve next runs, and is watched.
    Trying(Box<Trial>),
    /// The trial has shown what it is, and that is being written.
    Concluding { trial: Box<Trial>, end: End },
    /// Something is in the way of what is wanted; whatever serves goes on.
    Waiting(Unable),
    /// The agent ends: what ran is being stopped, and nothing follows.
    Ended,
}

/// What begins when everything that ran is gone.
#[derive(Debug)]
enum Next {
    Try { attempt: Attempt, execution: ExecutionId },
    Return { to: Placement, execution: ExecutionId },
}

/// How a trial ends, or an attempt that came to none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// It passed, and that is kept next; not before then, when it could not be kept before.
    Passed { again_at: Duration },
    /// It failed. What the book makes of that is not known yet.
    Failed { why: String, made: Option<Recorded> },
    /// Nothing could be started.
    Unable(Obstacle),
    /// It is wanted no longer.
    Superseded,
}

/// What an instance had to say when its errand was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    None,
    /// This build failed here: its siblings do not try it.
    Halt(BuildId),
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
            unable: None,
            unable_in_row: 0,
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

    /// What serves; while nothing does, what is tried, and else what is being stopped.
    pub(crate) fn running(&self) -> Option<&Execution> {
        let trial = self.trial().map(|trial| &trial.execution);
        self.serving.as_ref().or(trial).or(self.leaving.first())
    }

    /// Everything of it that is alive, or will be.
    pub(crate) fn executions(&self) -> impl Iterator<Item = &Execution> {
        let trial = self.trial().map(|trial| &trial.execution);
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
        match self.stage {
            Stage::Announcing { .. }
            | Stage::Clearing { then: Some(Next::Try { .. }) }
            | Stage::Trying(_)
            | Stage::Concluding { .. } => true,
            Stage::Clearing { .. }
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Waiting(_)
            | Stage::Ended => false,
        }
    }

    /// Whether nothing of it is left and nothing is wanted.
    pub(crate) fn is_gone(&self) -> bool {
        self.wanted.is_none() && self.executions().next().is_none() && !self.is_in_the_middle()
    }

    /// The build that waits for its turn to be tried here.
    pub(crate) fn queued(&self) -> Option<&Placement> {
        match &self.stage {
            Stage::Queued { to, .. } => Some(&to.placement),
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. }
            | Stage::Waiting(_)
            | Stage::Ended => None,
        }
    }

    /// The build that is being tried here.
    pub(crate) fn tried(&self) -> Option<&Placement> {
        self.attempt().map(|attempt| &attempt.to)
    }

    /// How a resource stands that is wanted and has never been asked to start.
    pub(crate) fn before_start(&self) -> (ResourceState, Option<&str>) {
        match &self.stage {
            Stage::Waiting(Unable { obstacle, .. }) => {
                (ResourceState::Unhealthy, Some(&obstacle.why))
            }
            Stage::Installing { .. } => {
                (ResourceState::Starting, Some("its build is being installed"))
            }
            Stage::Queued { .. } => {
                (ResourceState::Starting, Some("its build is tried on another instance first"))
            }
            Stage::Settled => match &self.outcome {
                Some(ModuleOutcome::Refused { rule }) => (ResourceState::Failed, Some(rule)),
                Some(ModuleOutcome::Failed { why, .. }) => (ResourceState::Failed, Some(why)),
                Some(ModuleOutcome::Applied | ModuleOutcome::Unable { .. }) | None => {
                    (ResourceState::Starting, None)
                }
            },
            Stage::Found
            | Stage::Verifying { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. } => (ResourceState::Starting, None),
            Stage::Ended => (ResourceState::Stopped, None),
        }
    }

    /// When it next wants a turn.
    pub(crate) fn wake(&self) -> Option<Duration> {
        let own = match &self.stage {
            Stage::Waiting(Unable { again_at, .. }) => Some(*again_at),
            Stage::Trying(trial) => trial.wake(),
            Stage::Concluding { end: End::Passed { again_at }, .. } => Some(*again_at),
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Concluding { .. }
            | Stage::Ended => None,
        };
        let supervision = self.serving.iter().chain(&self.leaving).filter_map(Execution::wake);
        own.into_iter().chain(supervision).min()
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
        self.unable = None;
        self.unable_in_row = 0;
        self.since = turn.now.wall;
        self.reconsider(turn);
    }

    /// Looks again at what is to be done, wherever it is on its way. What was announced to the book is ended there first.
    pub(crate) fn reconsider(&mut self, turn: &mut Turn<'_>) {
        match &self.stage {
            // Its answer is on its way, and then it is seen whether it is still wanted.
            Stage::Announcing { .. } | Stage::Concluding { .. } | Stage::Ended => {}
            Stage::Trying(trial) => {
                if self.wanted.as_ref().is_none_or(|wanted| !trial.to.is(wanted)) {
                    self.conclude(End::Superseded, turn);
                }
            }
            Stage::Clearing { then: Some(Next::Try { attempt, .. }) } => {
                if self.wanted.as_ref().is_none_or(|wanted| !attempt.to.is(wanted)) {
                    self.withdraw(&attempt.clone(), turn);
                    self.stage = Stage::Clearing { then: None };
                }
            }
            // What is being stopped is gone first, whatever comes after it; what was verified was for another build.
            Stage::Clearing { .. } => self.stage = Stage::Clearing { then: None },
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Waiting(_) => self.compare(turn),
        }
    }

    /// The book no longer says what it said: what was refused is looked at again.
    pub(crate) fn freed(&mut self, turn: &mut Turn<'_>) {
        let is_refused = matches!(
            self.outcome,
            Some(ModuleOutcome::Refused { .. } | ModuleOutcome::Failed { .. })
        );
        if is_refused && self.settled().is_none() && matches!(self.stage, Stage::Settled) {
            self.outcome = None;
            self.compare(turn);
        }
    }

    pub(crate) fn installed(
        &mut self,
        build: &BuildId,
        outcome: &Result<(), Obstacle>,
        turn: &mut Turn<'_>,
    ) {
        let Stage::Installing { to } = &self.stage else { return };
        if to.placement.module.build != *build {
            return;
        }
        if let Some(obstacle) = outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            return self.be_unable(obstacle, turn);
        }
        let to = to.clone();
        let verification = turn.draws.verification();
        let execution = turn.draws.execution();
        let start = |resource| to.placement.start(&self.place, &execution, resource);
        let starts = to.placement.resources().iter().map(start).collect();
        let ours = self.executions().flat_map(Execution::runs).collect();
        turn.actions.push(Action::Verify { verification, starts, ours });
        self.stage = Stage::Verifying { to, verification, execution };
    }

    pub(crate) fn verified(
        &mut self,
        of: VerificationId,
        outcome: &Result<(), Obstacle>,
        turn: &mut Turn<'_>,
    ) {
        let (to, execution) = match &self.stage {
            Stage::Verifying { to, verification, execution } if *verification == of => {
                (to.clone(), execution.clone())
            }
            Stage::Verifying { .. }
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. }
            | Stage::Waiting(_)
            | Stage::Ended => return,
        };
        if let Some(obstacle) = outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            return self.be_unable(obstacle, turn);
        }
        match to.way {
            Way::Return => match &self.serving {
                Some(serving) if serving.is_healthy() && can_stand_beside(&to.placement) => {
                    let placement = to.placement.clone();
                    let beside = Execution::begin(execution, to.placement, &self.place, turn);
                    self.stage = Stage::Trying(Box::new(Trial::new(placement, None, beside)));
                }
                Some(_) | None => {
                    self.clear_then(Some(Next::Return { to: to.placement, execution }), turn);
                }
            },
            Way::Try(_) => self.stage = Stage::Queued { to, execution },
        }
    }

    /// It is its turn to try the build that it waits for.
    pub(crate) fn announce(&mut self, turn: &mut Turn<'_>) {
        let Stage::Queued { to, execution } = &self.stage else { return };
        let (to, execution) = (to.clone(), execution.clone());
        // The book may have learned of the build since it was looked at.
        let mode = match self.way(&to.placement, turn) {
            Ok(Way::Try(mode)) => mode,
            Ok(Way::Return) | Err(_) => return self.compare(turn),
        };
        if let Some(obstacle) = self.held_back(turn).cloned() {
            return self.be_unable(obstacle, turn);
        }
        let announced = self.intent(&to.placement, mode, &execution, turn);
        match announced {
            Err(why) => {
                self.be_unable(Obstacle { because: UnableBecause::Book, why }, turn);
            }
            Ok((errand, attempt)) => {
                turn.errands.push(errand);
                self.stage = Stage::Announcing { attempt, execution };
            }
        }
    }

    fn intent(
        &self,
        to: &Placement,
        mode: Mode,
        execution: &ExecutionId,
        turn: &Turn<'_>,
    ) -> Result<(Errand, Attempt), String> {
        let book = turn.book.open().ok_or_else(|| "it cannot be read".to_owned());
        let book = book.map_err(|why| format!("the failure book allows no attempt: {why}"))?;
        let Some(snapshot) = book.snapshot() else {
            let why = "the failure book has no numbers left, so no outcome could be written; give it a new start with \
                       `node-agent book export` and `import`";
            return Err(why.to_owned());
        };
        let named = || {
            let host = failures::host(&self.place.1)?;
            let build = failures::build(&to.module, &self.place.0)?;
            Some((host, build, BookExecutionId::new(execution.as_str()).ok()?))
        };
        let Some((host, build, id)) = named() else {
            return Err("the failure book cannot carry its names".to_owned());
        };
        let start = turn.now.wall;
        let intent = Intent { build, mode: mode.clone(), id: id.clone(), start: Some(start) };
        let errand = Errand::Begin { place: self.place.clone(), host, intent };
        Ok((errand, Attempt { to: to.clone(), id, mode, snapshot, start }))
    }

    /// An errand of it is done.
    pub(crate) fn told(&mut self, told: Told, turn: &mut Turn<'_>) -> News {
        match told {
            Told::Begun(begun) => self.begun(begun, turn),
            Told::Recorded(made) => return self.recorded(made),
            Told::GoodKept(kept) => self.good_kept(kept, turn),
            Told::Ended => self.ended(turn),
        }
        News::None
    }

    fn begun(&mut self, begun: Result<(), NotBegun>, turn: &mut Turn<'_>) {
        let Stage::Announcing { attempt, execution } = &self.stage else { return };
        let (attempt, execution) = (attempt.clone(), execution.clone());
        if let Err(why) = begun {
            let why = format!("the failure book does not let it begin: {why}");
            return self.be_unable(Obstacle { because: UnableBecause::Book, why }, turn);
        }
        if self.wanted.as_ref().is_none_or(|wanted| !attempt.to.is(wanted)) {
            self.withdraw(&attempt, turn);
            self.stage = Stage::Settled;
            return self.compare(turn);
        }
        if self.serving.is_some() && !attempt.mode.is_hold() && can_stand_beside(&attempt.to) {
            self.try_out(attempt, execution, turn);
        } else {
            self.clear_then(Some(Next::Try { attempt, execution }), turn);
        }
    }

    fn try_out(&mut self, attempt: Attempt, execution: ExecutionId, turn: &mut Turn<'_>) {
        let to = attempt.to.clone();
        let execution = Execution::begin(execution, to.clone(), &self.place, turn);
        self.past = Past::Used;
        self.stage = Stage::Trying(Box::new(Trial::new(to, Some(attempt), execution)));
    }

    fn recorded(&mut self, made: Recorded) -> News {
        let Stage::Concluding { trial, end: End::Failed { made: last, .. } } = &mut self.stage
        else {
            return News::None;
        };
        *last = Some(made);
        match made {
            Recorded::PreRetry => News::None,
            Recorded::Recorded | Recorded::Merged | Recorded::Unchanged => {
                News::Halt(trial.to.module.build.clone())
            }
        }
    }

    fn good_kept(&mut self, kept: Result<(), String>, turn: &mut Turn<'_>) {
        if kept.is_err() {
            self.keep_at = turn.now.after(UNABLE_PAUSE_MIN);
        }
        let Stage::Concluding { trial, end: End::Passed { again_at } } = &mut self.stage else {
            return;
        };
        match kept {
            Ok(()) => match trial.attempt.clone() {
                Some(attempt) => {
                    if let Some(host) = failures::host(&self.place.1) {
                        let snapshot = Some(attempt.snapshot);
                        turn.errands.push(Errand::Disprove { host, snapshot });
                    }
                    self.withdraw(&attempt, turn);
                }
                None => self.ended(turn),
            },
            Err(_) => *again_at = turn.now.after(UNABLE_PAUSE_MIN),
        }
    }

    /// Everything about the attempt is written.
    fn ended(&mut self, turn: &mut Turn<'_>) {
        let Stage::Concluding { .. } = self.stage else { return };
        let Stage::Concluding { mut trial, end } =
            std::mem::replace(&mut self.stage, Stage::Settled)
        else {
            return;
        };
        if let End::Passed { .. } = end {
            self.stop_serving(turn);
            self.serving = Some(trial.execution);
            self.outcome = Some(ModuleOutcome::Applied);
            self.unable_in_row = 0;
            return self.compare(turn);
        }
        trial.execution.stop(turn);
        self.leaving.push(trial.execution);
        let is_wanted = self.wanted.as_ref().is_some_and(|wanted| trial.to.is(wanted));
        match end {
            End::Failed { why, made } if is_wanted && made != Some(Recorded::PreRetry) => {
                self.outcome = Some(trial::failed(&self.place, why));
            }
            End::Unable(obstacle) if is_wanted => {
                self.be_unable(obstacle, turn);
                if let Stage::Waiting(unable) = &self.stage {
                    self.unable = Some(unable.clone());
                }
            }
            End::Failed { .. } | End::Unable(_) | End::Superseded | End::Passed { .. } => {}
        }
        self.clear_then(None, turn);
    }

    /// Something became of one of its runs.
    pub(crate) fn heard(
        &mut self,
        resource: &ResourceName,
        run: RunId,
        what: Heard,
        turn: &mut Turn<'_>,
    ) {
        let trial = match &mut self.stage {
            Stage::Trying(trial) | Stage::Concluding { trial, .. } => Some(&mut trial.execution),
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Waiting(_)
            | Stage::Ended => None,
        };
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
        match &mut self.stage {
            Stage::Waiting(Unable { again_at, .. }) if *again_at <= turn.now.monotonic => {
                self.unable = None;
                self.compare(turn);
            }
            Stage::Trying(trial) => {
                trial.execution.tick(turn);
                if let Some(shown) = trial.watch(turn.now) {
                    self.conclude(End::of(shown), turn);
                }
            }
            Stage::Concluding { trial, end } => {
                trial.execution.tick(turn);
                if let End::Passed { again_at } = end
                    && *again_at <= turn.now.monotonic
                {
                    *again_at = Duration::MAX;
                    let good = trial.to.clone();
                    self.keep_good(good, turn);
                }
            }
            Stage::Waiting(_)
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Ended => {}
        }
        self.note_outcome();
        self.note_good(turn);
    }

    /// Somebody asks again for what is wanted already: what could not be tried is tried now.
    pub(crate) fn try_now(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Waiting(_) = &self.stage {
            self.unable = None;
            self.compare(turn);
        }
    }

    /// The machine's disk no longer gives trouble: what waited for that goes on now.
    pub(crate) fn relieve(&mut self, turn: &mut Turn<'_>) {
        if let Some(serving) = &mut self.serving {
            serving.relieve(turn);
        }
        match &mut self.stage {
            Stage::Trying(trial) => trial.execution.relieve(turn),
            Stage::Concluding { end: End::Passed { again_at }, .. } => {
                *again_at = turn.now.monotonic;
            }
            Stage::Waiting(Unable { obstacle, .. })
                if matches!(obstacle.because, UnableBecause::Disk | UnableBecause::Book) =>
            {
                self.unable = None;
                self.compare(turn);
            }
            Stage::Waiting(_)
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Concluding { .. }
            | Stage::Ended => {}
        }
    }

    /// Its sibling failed with a build: it does not try that one any further.
    pub(crate) fn halt(&mut self, build: &BuildId, turn: &mut Turn<'_>) {
        if let Stage::Trying(trial) = &self.stage
            && trial.attempt.is_some()
            && trial.to.module.build == *build
        {
            self.conclude(End::Superseded, turn);
        }
    }

    /// The agent ends: whatever runs is stopped, and nothing follows.
    pub(crate) fn end(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Trying(_) = self.stage {
            self.conclude(End::Superseded, turn);
        } else if let Some(attempt) = self.attempt().cloned() {
            self.withdraw(&attempt, turn);
        }
        self.stop_serving(turn);
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Trying(mut trial) | Stage::Concluding { mut trial, .. } => {
                trial.execution.stop(turn);
                self.leaving.push(trial.execution);
            }
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Waiting(_)
            | Stage::Ended => {}
        }
        self.go_on(turn);
    }

    fn compare(&mut self, turn: &mut Turn<'_>) {
        let Some(wanted) = self.wanted.clone() else { return self.clear_then(None, turn) };
        if let Some(serving) = self.serving.as_mut().filter(|one| one.placement.is(&wanted)) {
            serving.complete(&self.place, turn);
            self.stage = Stage::Settled;
            return;
        }
        let way = self.way(&wanted, turn);
        if self.serving.is_none() && !self.leaving.is_empty() {
            self.stage = Stage::Clearing { then: None };
            return self.note_rule(way.err());
        }
        // Whatever becomes of a new build: an instance that is down is up again with its good one first.
        let is_trial = !matches!(way, Ok(Way::Return));
        if is_trial
            && self.serving.is_none()
            && let Some(good) = self.fall_back(turn)
        {
            self.note_rule(way.err());
            return self.set_out(Target { placement: good, way: Way::Return }, turn);
        }
        match way {
            Ok(way) => match self.unable.take_if(|unable| turn.now.monotonic < unable.again_at) {
                Some(unable) => self.stage = Stage::Waiting(unable),
                None => self.set_out(Target { placement: wanted, way }, turn),
            },
            Err(rule) => {
                self.note_rule(Some(rule));
                self.stage = Stage::Settled;
            }
        }
    }

    /// The way onto a build, or the rule that forbids it.
    fn way(&self, to: &Placement, turn: &Turn<'_>) -> Result<Way, Rule> {
        if served::has_served(turn.served, &self.place, &to.module.build) {
            return turn.book.against_return(&self.place, to).map_or(Ok(Way::Return), Err);
        }
        match turn.book.against_trying(&self.place, to) {
            Some(rule) => Err(rule),
            None => Ok(Way::Try(match to.module.manifest.swap {
                Swap::Overlap => Mode::OVERLAP,
                Swap::Hold => Mode::HOLD,
            })),
        }
    }

    /// What served last, if anything did and nothing forbids it.
    fn fall_back(&self, turn: &Turn<'_>) -> Option<Placement> {
        let good = served::good(turn.served, &self.place)?;
        turn.book.against_return(&self.place, &good).is_none().then_some(good)
    }

    /// What is refused is said, unless more is known already: that it failed here, now.
    fn note_rule(&mut self, rule: Option<Rule>) {
        let Some(rule) = rule else { return };
        if matches!(self.outcome, Some(ModuleOutcome::Failed { .. })) {
            return;
        }
        self.outcome = Some(match rule {
            // The agent that tried it ended before it was said.
            Rule::Record { why, is_this: true, .. } => trial::failed(&self.place, why),
            rule @ (Rule::Record { .. }
            | Rule::HeldDown { .. }
            | Rule::Marker { .. }
            | Rule::Unreadable { .. }) => {
                ModuleOutcome::Refused { rule: rule.words(&self.place.1) }
            }
        });
    }

    fn set_out(&mut self, to: Target, turn: &mut Turn<'_>) {
        if let Some(obstacle) = self.held_back(turn).cloned() {
            return self.be_unable(obstacle, turn);
        }
        let (module, build) = (self.place.0.clone(), to.placement.module.build.clone());
        turn.install(module, build, to.placement.module.artifacts.clone());
        self.stage = Stage::Installing { to };
    }

    /// What is wrong with the machine itself and keeps another build from being begun here.
    fn held_back<'a>(&self, turn: &'a Turn<'_>) -> Option<&'a Obstacle> {
        let is_down = match &self.serving {
            None => self.past == Past::Used,
            Some(serving) => serving.is_given_up(),
        };
        turn.troubles.obstacle().filter(|_| !is_down)
    }

    fn stop_serving(&mut self, turn: &mut Turn<'_>) {
        if let Some(mut serving) = self.serving.take() {
            serving.stop(turn);
            self.leaving.push(serving);
        }
    }

    fn clear_then(&mut self, then: Option<Next>, turn: &mut Turn<'_>) {
        // Nothing follows only when nothing is wanted, or when what was tried is over.
        if then.is_some() || self.wanted.is_none() {
            self.stop_serving(turn);
        }
        self.stage = Stage::Clearing { then };
        self.go_on(turn);
    }

    /// Goes on once what was to be stopped is gone.
    fn go_on(&mut self, turn: &mut Turn<'_>) {
        self.leaving.retain(|one| !one.is_over());
        if !self.leaving.is_empty() {
            return;
        }
        let Stage::Clearing { then } = &mut self.stage else { return };
        match (then.take(), &self.wanted) {
            (None, None) => self.stage = Stage::Settled,
            (None, Some(_)) => self.compare(turn),
            (Some(Next::Return { to, execution }), _) => {
                self.begin(Execution::begin(execution, to, &self.place, turn));
                self.compare(turn);
            }
            (Some(Next::Try { attempt, execution }), _) => self.try_out(attempt, execution, turn),
        }
    }

    fn begin(&mut self, execution: Execution) {
        self.serving = Some(execution);
        self.stage = Stage::Settled;
        self.past = Past::Used;
        // What kept it from being tried is over, and what comes of it is not known yet.
        if self.settled().is_some() {
            self.outcome = None;
            self.unable_in_row = 0;
        }
    }

    /// Writes how a trial ends. What follows from it follows once that is written.
    fn conclude(&mut self, end: End, turn: &mut Turn<'_>) {
        let Stage::Trying(_) = self.stage else { return };
        let Stage::Trying(trial) = std::mem::replace(&mut self.stage, Stage::Settled) else {
            return;
        };
        match &end {
            End::Passed { .. } => self.keep_good(trial.to.clone(), turn),
            End::Failed { why, .. } => {
                if let Some(failure) = trial.failure(&self.place, why.clone(), turn.now) {
                    let (place, failure) = (self.place.clone(), Box::new(failure));
                    turn.errands.push(Errand::Record { place, failure });
                }
            }
            End::Unable(_) | End::Superseded => {
                if trial.execution.may_have_run()
                    && let Some(ran) =
                        trial.attempt.as_ref().and_then(|one| one.marker(&self.place))
                    && let Some(host) = failures::host(&self.place.1)
                {
                    turn.errands.push(Errand::MarkHoldRan { host, ran });
                }
            }
        }
        let attempt = match &end {
            End::Passed { .. } => None,
            End::Failed { .. } | End::Unable(_) | End::Superseded => Some(trial.attempt.clone()),
        };
        self.stage = Stage::Concluding { trial, end };
        match attempt {
            Some(Some(attempt)) => self.withdraw(&attempt, turn),
            Some(None) => self.ended(turn),
            None => {}
        }
    }

    /// Takes an intent back: its outcome is written, or it came to nothing.
    fn withdraw(&self, attempt: &Attempt, turn: &mut Turn<'_>) {
        if let Some(host) = failures::host(&self.place.1) {
            let (place, id) = (self.place.clone(), attempt.id.clone());
            turn.errands.push(Errand::End { place, host, id });
        }
    }

    fn trial(&self) -> Option<&Trial> {
        match &self.stage {
            Stage::Trying(trial) | Stage::Concluding { trial, .. } => Some(trial),
            Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Waiting(_)
            | Stage::Ended => None,
        }
    }

    /// The attempt that is announced and not ended.
    fn attempt(&self) -> Option<&Attempt> {
        match &self.stage {
            Stage::Announcing { attempt, .. }
            | Stage::Clearing { then: Some(Next::Try { attempt, .. }) } => Some(attempt),
            Stage::Trying(trial) | Stage::Concluding { trial, .. } => trial.attempt.as_ref(),
            Stage::Clearing { .. }
            | Stage::Found
            | Stage::Settled
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Waiting(_)
            | Stage::Ended => None,
        }
    }

    fn keep_good(&self, good: Placement, turn: &mut Turn<'_>) {
        turn.errands.push(Errand::KeepGood { place: self.place.clone(), good });
    }

    /// What it was moved back to, or was found with, is its good build once it has been healthy.
    fn note_good(&mut self, turn: &mut Turn<'_>) {
        if !matches!(self.stage, Stage::Settled) || turn.now.monotonic < self.keep_at {
            return;
        }
        let Some(settled) = self.settled().filter(|settled| settled.was_healthy()) else { return };
        let good = served::good(turn.served, &self.place);
        if good.is_none_or(|good| !good.is(&settled.placement)) {
            self.keep_good(settled.placement.clone(), turn);
            self.keep_at = turn.now.after(UNABLE_PAUSE_MIN);
        }
    }

    fn be_unable(&mut self, obstacle: Obstacle, turn: &mut Turn<'_>) {
        self.unable_in_row = self.unable_in_row.saturating_add(1);
        let pause = doubling(UNABLE_PAUSE_MIN, UNABLE_PAUSE_MAX, self.unable_in_row);
        let again_at = turn.now.after(turn.draws.spread(pause));
        self.outcome = Some(obstacle.outcome());
        self.stage = Stage::Waiting(Unable { obstacle, again_at });
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

/// Whether two processes of its resources can be alive at a time: none of them listens where the other would have to.
fn can_stand_beside(to: &Placement) -> bool {
    to.resources().iter().all(|resource| resource.listen.is_none())
}

impl End {
    fn of(shown: Shown) -> Self {
        match shown {
            Shown::Passed => Self::Passed { again_at: Duration::MAX },
            Shown::Failed { why } => Self::Failed { why, made: None },
            Shown::Unable(obstacle) => Self::Unable(obstacle),
        }
    }
}
