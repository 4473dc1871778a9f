//! Builds that are tried: announced to the failure book, run, and their outcome written before anything follows from it.

use failure_book::{ExecutionId as BookExecutionId, Intent, Mode, NotBegun, Recorded};
use names::ExecutionId;
use wire::{ModuleOutcome, UnableBecause};

use super::stage::{End, Next, PAUSE_MIN, Stage, Way};
use super::{Instance, News, Past};
use crate::errands::{Errand, Serves, Told};
use crate::event::Obstacle;
use crate::execution::Execution;
use crate::failures::{self, FoundBook};
use crate::placement::Placement;
use crate::served;
use crate::trial::{self, Attempt, Trial};
use crate::turn::Turn;

impl Instance {
    /// It is its turn to try the build that it waits for.
    pub(crate) fn announce(&mut self, turn: &mut Turn<'_>) {
        let Stage::Queued { to, execution } = &self.stage else { return };
        let (to, execution) = (to.placement.clone(), execution.clone());
        // The book may have learned of the build since it was looked at.
        let Ok(Way::Try(mode)) = self.way(&to, turn) else { return self.compare(turn) };
        let unreachable = turn.routing.obstacle(&self.place.0, &to);
        if let Some(obstacle) = self.held_back(turn).cloned().or(unreachable) {
            return self.be_unable(&to, obstacle, turn);
        }
        match self.intent(&to, mode, &execution, turn) {
            Err(why) => {
                let why = format!("the failure book allows no attempt: {why}");
                self.be_unable(&to, Obstacle { because: UnableBecause::Book, why }, turn);
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
        let book = match &*turn.book {
            FoundBook::Open(book) => book,
            FoundBook::Unreadable { why } => return Err(format!("it cannot be read: {why}")),
        };
        let Some(snapshot) = book.snapshot() else {
            let why = "it has no numbers left, so no outcome could be written; give it a new start with \
                       `node-agent book export` and `import`";
            return Err(why.to_owned());
        };
        let named = || {
            let host = failures::host(&self.place.1)?;
            let build = failures::build(&to.module, &self.place.0)?;
            Some((host, build, BookExecutionId::new(execution.as_str()).ok()?))
        };
        let Some((host, build, id)) = named() else {
            return Err("it cannot carry the names of this instance and build".to_owned());
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
            Told::Reopened(reopened) => self.reopened(reopened, turn),
            Told::Recorded(made) => return self.recorded(made),
            Told::GoodKept(kept) => self.good_kept(kept, turn),
            Told::Ended => self.ended(turn),
        }
        News::None
    }

    fn begun(&mut self, begun: Result<(), NotBegun>, turn: &mut Turn<'_>) {
        let Stage::Announcing { attempt, .. } = &self.stage else { return };
        let to = attempt.to.clone();
        match begun {
            Err(why) => {
                let why = format!("the failure book does not let it begin: {why}");
                self.be_unable(&to, Obstacle { because: UnableBecause::Book, why }, turn);
            }
            // What it did to the data before counts for nothing once it has run again.
            Ok(()) if served::has_outlived(turn.served, &self.place, &to.module.build) => {
                let serves = Serves::Reopened { build: to.module.build.clone() };
                turn.errands.push(Errand::Keep { place: self.place.clone(), serves });
            }
            Ok(()) => self.set_forth(turn),
        }
    }

    fn reopened(&mut self, reopened: Result<(), String>, turn: &mut Turn<'_>) {
        let Stage::Announcing { attempt, .. } = &self.stage else { return };
        match reopened {
            Ok(()) => self.set_forth(turn),
            Err(why) => {
                let attempt = attempt.clone();
                self.withdraw(&attempt, turn);
                self.be_unable(&attempt.to, Obstacle { because: UnableBecause::Disk, why }, turn);
            }
        }
    }

    /// It is announced: it runs beside what serves, where both can stand, else as soon as that is gone.
    fn set_forth(&mut self, turn: &mut Turn<'_>) {
        let Stage::Announcing { attempt, execution } = &self.stage else { return };
        let (attempt, execution) = (attempt.clone(), execution.clone());
        if !self.wants(&attempt.to) {
            self.withdraw(&attempt, turn);
            return self.compare(turn);
        }
        if self.serving.is_some() && !attempt.mode.is_hold() && attempt.to.can_stand_beside() {
            self.try_out(attempt, execution, turn);
        } else {
            self.clear_then(Some(Next::Try { attempt, execution }), turn);
        }
    }

    pub(super) fn try_out(
        &mut self,
        attempt: Attempt,
        execution: ExecutionId,
        turn: &mut Turn<'_>,
    ) {
        let to = attempt.to.clone();
        let execution = Execution::begin(execution, to.clone(), &self.place, turn);
        self.past = Past::Used;
        self.stage = Stage::Trying(Box::new(Trial::new(to, Some(attempt), execution)));
    }

    /// Writes how a trial ends. What follows from it follows once that is written.
    pub(super) fn conclude(&mut self, end: End, turn: &mut Turn<'_>) {
        let Stage::Trying(_) = self.stage else { return };
        let Stage::Trying(trial) = std::mem::replace(&mut self.stage, Stage::Settled) else {
            return;
        };
        match &end {
            End::Passed { .. } => self.keep_passed(&trial, turn),
            End::Failed { why, .. } => {
                if let Some(failure) = trial.failure(&self.place, why.clone(), turn.now) {
                    let (place, failure) = (self.place.clone(), Box::new(failure));
                    turn.errands.push(Errand::Record { place, failure });
                }
            }
            End::Unable(_) | End::Superseded => self.leave_marker(&trial, turn),
        }
        let attempt = trial.attempt.clone();
        let is_passed = matches!(end, End::Passed { .. });
        self.stage = Stage::Concluding { trial, end };
        match attempt {
            _ if is_passed => {}
            Some(attempt) => self.withdraw(&attempt, turn),
            None => self.ended(turn),
        }
    }

    /// A hold that ran and is not brought to its end is remembered.
    pub(super) fn leave_marker(&self, trial: &Trial, turn: &mut Turn<'_>) {
        if trial.execution.may_have_run()
            && let Some(ran) = trial.attempt.as_ref().and_then(|one| one.marker(&self.place))
            && let Some(host) = failures::host(&self.place.1)
        {
            turn.errands.push(Errand::MarkHoldRan { host, ran });
        }
    }

    /// Takes an intent back: its outcome is written, or it came to nothing.
    pub(super) fn withdraw(&self, attempt: &Attempt, turn: &mut Turn<'_>) {
        if let Some(host) = failures::host(&self.place.1) {
            let (place, id) = (self.place.clone(), attempt.id.clone());
            turn.errands.push(Errand::End { place, host, id });
        }
    }

    /// What passed is kept as what serves here. What held the instance down before is outlived by it.
    fn keep_passed(&self, trial: &Trial, turn: &mut Turn<'_>) {
        let outlived = match trial.attempt {
            Some(_) => turn.book.holding(&self.place, &trial.to),
            None => Default::default(),
        };
        let serves = Serves::Good { good: trial.to.clone(), outlived };
        turn.errands.push(Errand::Keep { place: self.place.clone(), serves });
    }

    /// What passed and could not be kept is kept now, if it is time.
    pub(super) fn keep_again(&mut self, turn: &mut Turn<'_>) {
        if let Stage::Concluding { end: End::Passed { again_at }, .. } = &mut self.stage
            && *again_at <= turn.now.monotonic
        {
            *again_at = core::time::Duration::MAX;
            if let Stage::Concluding { trial, .. } = &self.stage {
                self.keep_passed(trial, turn);
            }
        }
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
            self.keep_at = turn.now.after(PAUSE_MIN);
        }
        let Stage::Concluding { trial, end: End::Passed { again_at } } = &mut self.stage else {
            return;
        };
        match (kept, trial.attempt.clone()) {
            (Ok(()), Some(attempt)) => {
                // A marker of another module that had the name before is still true of that one's data.
                if turn.book.is_marked(&self.place, &attempt.to)
                    && let Some(host) = failures::host(&self.place.1)
                {
                    let snapshot = Some(attempt.snapshot);
                    turn.errands.push(Errand::Disprove { host, snapshot });
                }
                self.withdraw(&attempt, turn);
            }
            (Ok(()), None) => self.ended(turn),
            (Err(why), _) => {
                *again_at = turn.now.after(PAUSE_MIN);
                let to = trial.to.clone();
                if self.wants(&to) {
                    let why = format!(
                        "it does well, and that could not be kept: {why}; it is tried again"
                    );
                    self.outcome = Some(Obstacle { because: UnableBecause::Disk, why }.outcome());
                }
            }
        }
    }

    /// Everything about the trial is written.
    fn ended(&mut self, turn: &mut Turn<'_>) {
        let Stage::Concluding { .. } = self.stage else { return };
        let Stage::Concluding { mut trial, end } =
            std::mem::replace(&mut self.stage, Stage::Settled)
        else {
            return;
        };
        let is_wanted = self.wants(&trial.to);
        if let End::Passed { .. } = end {
            self.stop_serving(turn);
            self.serving = Some(trial.execution);
            if is_wanted {
                self.outcome = Some(ModuleOutcome::Applied);
                self.hindrance = Default::default();
            }
            return self.compare(turn);
        }
        trial.execution.stop(turn);
        self.leaving.push(trial.execution);
        match end {
            End::Failed { why, made } if is_wanted && made != Some(Recorded::PreRetry) => {
                // What has served here is tried again by itself, for nothing keeps it away.
                if trial.attempt.is_none() {
                    let obstacle = Obstacle { because: UnableBecause::Start, why: why.clone() };
                    self.hindrance.note(obstacle, turn);
                }
                self.outcome = Some(trial::failed(&self.place, why));
                self.compare(turn);
            }
            End::Unable(obstacle) if is_wanted => self.be_unable(&trial.to, obstacle, turn),
            End::Failed { .. } | End::Unable(_) | End::Superseded | End::Passed { .. } => {
                self.compare(turn);
            }
        }
    }
}
