//! Where an instance goes next, and the way there up to the point where something is begun: nothing that runs is touched.

use inventory::Swap;

use failure_book::{Mode, RECONCILED_REASON};
use names::BuildId;
use wire::{ModuleOutcome, UnableBecause};

use super::Instance;
use super::stage::{Stage, Target, Unable, Way};
use crate::action::Action;
use crate::draws::VerificationId;
use crate::event::Obstacle;
use crate::failures::Rule;
use crate::instance::Past;
use crate::placement::Placement;
use crate::served;
use crate::trial;
use crate::turn::Turn;

impl Instance {
    /// Compares what runs with what is wanted, and sets out for what is to be done about it.
    pub(super) fn compare(&mut self, turn: &mut Turn<'_>) {
        let Some(wanted) = self.wanted.clone() else { return self.clear_then(None, turn) };
        // Whatever serves does so with all its resources, also while another build is on its way or refused.
        if let Some(serving) = &mut self.serving {
            serving.complete(&self.place, turn);
            if serving.placement.is(&wanted) {
                self.stage = Stage::Settled;
                return;
            }
        }
        self.leaving.retain(|one| !one.is_over());
        let now = turn.now.monotonic;
        let way = self.way(&wanted, turn);
        self.note_rule(way.as_ref().err());
        if self.serving.is_none() && !self.leaving.is_empty() {
            self.stage = Stage::Clearing { then: None };
            return;
        }
        let hindered = self.hindrance.at(now).cloned();
        // Whatever becomes of what is new: an instance that is down is up again with its good build first.
        let goes_back = way == Ok(Way::Return) && hindered.is_none();
        // A hold that is about to be tried may have run here before, and been freed: its data are for nobody older.
        let is_next = way == Ok(Way::Try(Mode::HOLD))
            && (hindered.is_none() || turn.book.is_retried(&self.place, &wanted));
        let fall_back = self.fall_back(&wanted, turn).filter(|_| !goes_back && !is_next);
        let no_fall_back = fall_back.as_ref().and(self.no_fall_back.at(now)).cloned();
        match (fall_back, way, hindered) {
            (Some(good), _, _) if no_fall_back.is_none() => {
                self.set_out(Target { placement: good, way: Way::Return }, turn);
            }
            (_, Ok(way), None) => self.set_out(Target { placement: wanted, way }, turn),
            (_, Ok(_), Some(unable)) => {
                let soonest = no_fall_back.map(|one| one.again_at.min(unable.again_at));
                let again_at = soonest.unwrap_or(unable.again_at);
                self.stage = Stage::Waiting(Unable { again_at, ..unable });
            }
            (_, Err(_), _) => self.stage = no_fall_back.map_or(Stage::Settled, Stage::Waiting),
        }
    }

    /// The way onto a build, or the rule that forbids it.
    pub(super) fn way(&self, to: &Placement, turn: &Turn<'_>) -> Result<Way, Rule> {
        if served::has_served(turn.served, &self.place, &to.module.build) {
            return turn
                .book
                .against_return(&self.place, to, turn.served, turn.floors)
                .map_or(Ok(Way::Return), Err);
        }
        match turn.book.against_trying(&self.place, to) {
            Some(rule) => Err(rule),
            None => Ok(Way::Try(match to.module.manifest.swap {
                Swap::Overlap => Mode::OVERLAP,
                Swap::Hold => Mode::HOLD,
            })),
        }
    }

    /// What an instance that is down is brought back onto, if it is not what is wanted and nothing forbids it.
    fn fall_back(&self, wanted: &Placement, turn: &Turn<'_>) -> Option<Placement> {
        let is_down = self.serving.is_none();
        let good =
            served::good(turn.served, &self.place).filter(|good| is_down && !good.is(wanted))?;
        turn.book
            .against_return(&self.place, &good, turn.served, turn.floors)
            .is_none()
            .then_some(good)
    }

    /// What is refused is said, unless more is known already: that it failed here, now.
    fn note_rule(&mut self, rule: Option<&Rule>) {
        let Some(rule) = rule else { return };
        if matches!(self.outcome, Some(ModuleOutcome::Failed { .. })) {
            return;
        }
        self.outcome = Some(match rule {
            // Nobody saw how it did, so nothing is known about the build: that is for a person to say, not for a gate.
            Rule::Record { why, .. } if why == RECONCILED_REASON => ModuleOutcome::Unable {
                because: UnableBecause::Book,
                why: rule.words(&self.place.1),
            },
            // The agent that tried it ended before it was said.
            Rule::Record { why, is_this: true, .. } => trial::failed(&self.place, why.clone()),
            // What cannot be read says nothing of any build either.
            Rule::Unreadable { .. } => ModuleOutcome::Unable {
                because: UnableBecause::Book,
                why: rule.words(&self.place.1),
            },
            Rule::Record { .. } | Rule::HeldDown { .. } | Rule::Marker { .. } => {
                ModuleOutcome::Refused { rule: rule.words(&self.place.1) }
            }
        });
    }

    fn set_out(&mut self, to: Target, turn: &mut Turn<'_>) {
        if let Some(obstacle) = self.held_back(turn).cloned() {
            return self.be_unable(&to.placement, obstacle, turn);
        }
        let (module, build) = (self.place.0.clone(), to.placement.module.build.clone());
        turn.install(module, build, to.placement.module.artifacts.clone());
        self.stage = Stage::Installing { to };
    }

    /// What is wrong with the machine itself and keeps another build from being begun here.
    pub(super) fn held_back<'a>(&self, turn: &'a Turn<'_>) -> Option<&'a Obstacle> {
        let is_down = match &self.serving {
            None => self.past == Past::Used,
            Some(serving) => serving.is_given_up(),
        };
        turn.troubles.obstacle().filter(|_| !is_down)
    }

    /// A build cannot be begun now. It says nothing of the build, and something else may be possible meanwhile.
    pub(super) fn be_unable(&mut self, to: &Placement, obstacle: Obstacle, turn: &mut Turn<'_>) {
        if self.wants(to) {
            self.outcome = Some(obstacle.outcome());
            self.hindrance.note(obstacle, turn);
        } else {
            self.no_fall_back.note(obstacle, turn);
        }
        self.compare(turn);
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
        let to = to.clone();
        if let Some(obstacle) = outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            return self.be_unable(&to.placement, obstacle, turn);
        }
        let verification = turn.draws.verification();
        let execution = turn.draws.execution();
        let start = |resource| to.placement.start(&self.place, &execution, resource);
        let starts = to.placement.resources().iter().map(start).collect();
        let ours = self.executions().flat_map(|one| one.runs()).collect();
        turn.actions.push(Action::Verify { verification, starts, ours });
        self.stage = Stage::Verifying { to, verification, execution };
    }

    pub(crate) fn verified(
        &mut self,
        of: VerificationId,
        outcome: &Result<(), Obstacle>,
        turn: &mut Turn<'_>,
    ) {
        let Stage::Verifying { to, verification, execution } = &self.stage else { return };
        if *verification != of {
            return;
        }
        let (to, execution) = (to.clone(), execution.clone());
        if let Some(obstacle) = outcome.as_ref().err().or(self.held_back(turn)).cloned() {
            return self.be_unable(&to.placement, obstacle, turn);
        }
        self.stage = Stage::Queued { to, execution };
        self.go_on(turn);
    }
}
