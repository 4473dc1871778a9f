//! The handling itself: which step it is at, what that needs, and where each answer leads.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use conditions::Observation;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, NotAsked, Sent};
use super::case::{Case, FailedModule, Fate, Handled, Target};
use super::need::{Need, PutBack};
use super::not_back::NotBack;
use super::note::{Note, note};
use super::preparing::Ask;
use super::putting_back::PuttingBack;
use super::rules::{Form, Rules};

/// The handling of a wave that did not pass, as far as it got.
///
/// First each module is prepared, in order: compared, looked up, its verdict kept, its registered
/// build set back, the plan saved. What then goes back is sent at once, its machines report, and how
/// each rollback ended is kept and said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "State")]
pub struct Handling(pub(super) State);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) rules: Rules,
    pub(super) cases: Vec<Case>,
    /// The first case of the present send; all before it are done.
    lot: usize,
    pub(super) sending: Sending,
    pub(super) step: Step,
}

/// How far the present send is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sending {
    NotYet,
    Refused,
    Accepted(PuttingBack),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Preparing { case: usize, ask: Ask },
    Sending,
    Waiting,
    Settling { case: usize, closing: Closing },
    Done,
}

/// The end of a module's handling: kept, then said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Closing {
    SetRollback,
    RaiseCondition(Box<Observation>),
    PublishEvent,
}

/// The answer is not of the kind that was asked for.
#[derive(Debug)]
pub(super) struct WrongKind;

/// A stored handling is at a module that it does not have.
#[derive(Debug, thiserror::Error)]
#[error("at module {case} of {cases}")]
pub(super) struct Misplaced {
    case: usize,
    cases: usize,
}

impl Handling {
    /// Begins to handle the modules that were wanting when a wave stopped, in this order.
    ///
    /// `rollback_id` names the rollback for good; a module whose rollback was decided before a crash
    /// keeps the id that it had then.
    #[must_use]
    pub fn new(
        rules: Rules,
        rollback_id: &str,
        now: DateTime<Utc>,
        modules: Vec<FailedModule>,
    ) -> Self {
        let cases = modules
            .into_iter()
            .map(|failed| Case::new(failed, rollback_id.to_owned(), now))
            .collect();
        let mut state = State { rules, cases, lot: 0, sending: Sending::NotYet, step: Step::Done };
        state.step = state.prepare_from(0, now);
        Self(state)
    }

    /// The one thing that it waits for.
    #[must_use]
    pub fn need(&self) -> Need<'_> {
        let state = &self.0;
        match &state.step {
            Step::Preparing { case, ask } => state.need_to_prepare(&state.cases[*case], ask),
            Step::Sending => state.need_to_send(),
            Step::Waiting => Need::Reports {
                awaited: match &state.sending {
                    Sending::NotYet | Sending::Refused => Vec::new(),
                    Sending::Accepted(putting_back) => putting_back.awaited(state.lot()),
                },
            },
            Step::Settling { case, closing } => state.need_to_close(&state.cases[*case], closing),
            Step::Done => Need::Done,
        }
    }

    /// Takes the answer to what it needs.
    ///
    /// # Errors
    /// [`NotAsked`] when the answer is to something else; nothing has changed then.
    pub fn answer(&mut self, now: DateTime<Utc>, answer: Answer) -> Result<(), NotAsked> {
        let not_asked = NotAsked { needed: self.need().name(), answered: answer.name() };
        let state = &mut self.0;
        let next = match state.step.clone() {
            Step::Preparing { case, ask } => state.prepared(now, case, ask, answer),
            Step::Sending => state.sent(now, answer),
            Step::Waiting => state.reported(now, answer),
            Step::Settling { case, closing } => state.settled(now, case, &closing, &answer),
            Step::Done => Err(WrongKind),
        };
        state.step = next.map_err(|WrongKind| not_asked)?;
        Ok(())
    }

    /// What is wrong by now, as the condition of each module says it.
    #[must_use]
    pub fn observations(&self) -> Vec<(String, Observation)> {
        let state = &self.0;
        let cases = state.cases.iter();
        cases
            .filter_map(|case| Some((case.module.clone(), case.observation(&state.rules)?)))
            .collect()
    }

    /// What became of each module, in order.
    #[must_use]
    pub fn handled(&self) -> Vec<Handled> {
        self.0.cases.iter().map(Case::handled).collect()
    }

    /// The plan's notes: one for each module, or the last one's alone under the recorded behaviour.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let state = &self.0;
        let mut notes = state.cases.iter().map(|case| note(case, &state.rules));
        if state.rules.notes_name_each_module {
            return notes.collect();
        }
        let Some(mut last) = notes.next_back() else { return Vec::new() };
        if state.rules.form == Form::Batched {
            last.tail.extend(state.sending.code().map(str::to_owned));
        }
        vec![last]
    }
}

impl Sending {
    /// What the recorded behaviour notes at the end of a batch.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::NotYet => None,
            Self::Refused => Some("batch_send_refused"),
            Self::Accepted(_) => Some("put_back_in_one_send"),
        }
    }
}

impl TryFrom<State> for Handling {
    type Error = Misplaced;

    fn try_from(state: State) -> Result<Self, Misplaced> {
        let cases = state.cases.len();
        let at = match state.step {
            Step::Preparing { case, .. } | Step::Settling { case, .. } => Some(case),
            Step::Sending | Step::Waiting | Step::Done => None,
        };
        match at
            .into_iter()
            .find(|case| *case >= cases)
            .or((state.lot > cases).then_some(state.lot))
        {
            Some(case) => Err(Misplaced { case, cases }),
            None => Ok(Self(state)),
        }
    }
}

impl State {
    fn lot_end(&self) -> usize {
        match self.rules.form {
            Form::Batched => self.cases.len(),
            Form::Single => self.cases.len().min(self.lot + 1),
        }
    }

    /// The cases of the present send.
    fn lot(&self) -> &[Case] {
        &self.cases[self.lot..self.lot_end()]
    }

    /// Prepares the cases of the present send from this one on, and then sends.
    pub(super) fn prepare_from(&mut self, first: usize, now: DateTime<Utc>) -> Step {
        for case in first..self.lot_end() {
            if let Some(ask) = self.begin(case, now) {
                return Step::Preparing { case, ask };
            }
        }
        if self.lot().iter().any(|case| matches!(case.fate, Fate::RollingBack(_))) {
            return Step::Sending;
        }
        self.next_lot(now)
    }

    fn next_lot(&mut self, now: DateTime<Utc>) -> Step {
        let next = self.lot_end();
        if next == self.cases.len() {
            return Step::Done;
        }
        self.lot = next;
        self.sending = Sending::NotYet;
        self.prepare_from(next, now)
    }

    fn need_to_send(&self) -> Need<'_> {
        let waiting = self.lot().iter().filter_map(|case| match &case.fate {
            Fate::RollingBack(target) => Some((case, target)),
            Fate::Open
            | Fate::Unchanged
            | Fate::AlreadyMade(_)
            | Fate::PutBack
            | Fate::NotBack(_) => None,
        });
        let machines = waiting.clone().flat_map(|(case, _)| &case.gate.machines);
        let machines = machines.map(String::as_str);
        let modules: BTreeSet<PutBack<'_>> = waiting
            .map(|(case, target)| PutBack {
                module: &case.module,
                target,
                rollback_id: &case.rollback_id,
            })
            .collect();
        Need::Send {
            machines: match self.rules.form {
                Form::Batched => machines.collect::<BTreeSet<_>>().into_iter().collect(),
                Form::Single => machines.collect(),
            },
            modules: modules.into_iter().collect(),
        }
    }

    fn sent(&mut self, now: DateTime<Utc>, answer: Answer) -> Result<Step, WrongKind> {
        let Answer::Sent(sent) = answer else { return Err(WrongKind) };
        self.sending = match sent {
            Sent::Refused => Sending::Refused,
            Sent::Accepted(declarations) => Sending::Accepted(PuttingBack::new(declarations)),
        };
        Ok(self.wait_or_settle(now))
    }

    fn reported(&mut self, now: DateTime<Utc>, answer: Answer) -> Result<Step, WrongKind> {
        if answer == Answer::ReportsEnded {
            return Ok(self.settle_from(self.lot, now));
        }
        let Answer::Reports(reports) = answer else { return Err(WrongKind) };
        if let Sending::Accepted(putting_back) = &mut self.sending {
            putting_back.take(reports);
        }
        Ok(self.wait_or_settle(now))
    }

    fn wait_or_settle(&mut self, now: DateTime<Utc>) -> Step {
        match &self.sending {
            Sending::Accepted(putting_back)
                if self.rules.reported_is_put_back
                    && !putting_back.awaited(self.lot()).is_empty() =>
            {
                Step::Waiting
            }
            Sending::NotYet | Sending::Refused | Sending::Accepted(_) => {
                self.settle_from(self.lot, now)
            }
        }
    }

    /// Ends the first of the waiting cases from this one on.
    fn settle_from(&mut self, first: usize, now: DateTime<Utc>) -> Step {
        for case in first..self.lot_end() {
            if let Fate::RollingBack(target) = &self.cases[case].fate {
                let fate = self.ended(&self.cases[case], target);
                self.cases[case].settle(now, fate);
                return Step::Settling { case, closing: Closing::SetRollback };
            }
        }
        self.next_lot(now)
    }

    fn ended(&self, case: &Case, target: &Target) -> Fate {
        match &self.sending {
            Sending::NotYet | Sending::Refused => Fate::NotBack(NotBack::SendRefused),
            Sending::Accepted(putting_back) if self.rules.reported_is_put_back => {
                putting_back.fate(case, target)
            }
            Sending::Accepted(_) => Fate::PutBack,
        }
    }

    fn settled(
        &mut self,
        now: DateTime<Utc>,
        case: usize,
        closing: &Closing,
        answer: &Answer,
    ) -> Result<Step, WrongKind> {
        Ok(match self.closed(case, closing, answer)? {
            Some(closing) => Step::Settling { case, closing },
            None => self.settle_from(case + 1, now),
        })
    }

    pub(super) fn need_to_close<'a>(&'a self, case: &'a Case, closing: &'a Closing) -> Need<'a> {
        match closing {
            Closing::SetRollback => Need::SetRollback(case.rollback_record()),
            Closing::RaiseCondition(observation) => {
                Need::RaiseCondition { module: &case.module, observation }
            }
            Closing::PublishEvent => Need::PublishEvent(Box::new(case.event(&self.rules))),
        }
    }

    /// The closing step after this one; `None` after the last.
    pub(super) fn closed(
        &self,
        case: usize,
        closing: &Closing,
        answer: &Answer,
    ) -> Result<Option<Closing>, WrongKind> {
        let (next, answers) = match closing {
            // A failure changes nothing: what is said is true, and a restart finds it under way.
            Closing::SetRollback => {
                (Some(self.saying(case)), matches!(answer, Answer::RollbackSet(_)))
            }
            Closing::RaiseCondition(_) => {
                (Some(Closing::PublishEvent), *answer == Answer::ConditionRaised)
            }
            Closing::PublishEvent => (None, *answer == Answer::EventPublished),
        };
        if answers { Ok(next) } else { Err(WrongKind) }
    }

    /// Where saying begins: with the condition, where there is one.
    pub(super) fn saying(&self, case: usize) -> Closing {
        match self.cases[case].observation(&self.rules) {
            Some(observation) => Closing::RaiseCondition(Box::new(observation)),
            None => Closing::PublishEvent,
        }
    }
}
