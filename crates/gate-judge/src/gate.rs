//! A gate: the judging of what one send moved, from the first look to the end.

use crate::ended::{Cause, End, Ended, Wanting};
use crate::rules::{BeforeSend, BetweenPasses, EmptyGate, Rules, SettleFrom};
use crate::took::took_text;
use crate::weight::Weight;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use chrono::{DateTime, TimeDelta, Utc};
use core::num::NonZeroU32;
use core::time::Duration;
use hashbrown::HashSet;
use serde::{Deserialize, Serialize};

/// What a gate is about; it does not change while the gate is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The module that the gate is kept on.
    pub module: String,
    /// The machines that it is judged on, in the order in which they are looked at.
    pub machines: Vec<String>,
    /// What the send carried besides, and what earlier sends of the same move touched.
    #[serde(default)]
    pub carried: Vec<Pair>,
    /// The build of the module that ran before, as people know it; `None` when none did.
    pub from: Option<String>,
    /// The build of the module that is judged, as people know it.
    pub to: String,
    /// When it was sent.
    pub since: DateTime<Utc>,
    /// What exactly was sent, to compare evidence with.
    #[serde(default)]
    pub sent: Sent,
}

/// One module on one machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pair {
    /// The module.
    pub module: String,
    /// The machine.
    pub machine: String,
}

/// What exactly was sent. Evidence about what is missing here cannot be compared, and is *not yet*
/// under rules that compare it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sent {
    /// What each machine was sent.
    pub machines: BTreeMap<String, SentTo>,
    /// The id of each module's build.
    pub builds: BTreeMap<String, String>,
}

/// What one machine was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentTo {
    /// The number of the declaration.
    pub declaration: u64,
    /// When: for a machine that an earlier wave touched, before the gate's own send. Evidence
    /// about the machine counts from here.
    pub at: DateTime<Utc>,
}

/// A gate is not opened, since it would have nothing to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a gate needs a machine to judge")]
pub struct NothingToJudge;

/// The judging of what one send moved, kept from the first look to the end.
///
/// It is a plain value: written down after each change, it goes on where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub(crate) opening: Opening,
    /// Time in which nobody could observe.
    #[serde(default)]
    pub(crate) unobserved: Duration,
    /// The newest time that it was judged at.
    pub(crate) newest: Option<DateTime<Utc>>,
    pub(crate) row: Option<Row>,
    pub(crate) last_miss: Option<Miss>,
    pub(crate) failing: Vec<String>,
    pub(crate) ended: Option<Ended>,
}

/// Counted passes in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// How many.
    pub passes: NonZeroU32,
    /// When the first was counted.
    pub first: DateTime<Utc>,
    /// When the last was counted.
    pub last: DateTime<Utc>,
}

/// The last judging that found something wanting, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Miss {
    /// What was wanting, of the first of the worst.
    pub cause: Cause,
    /// The most that anything wanting then weighs.
    pub weight: Weight,
    /// Of each module that was wanting then, the first pair of those that weigh most.
    pub wanting: Vec<Wanting>,
}

/// Whether a gate would judge at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// It ended, and nothing changes any more.
    Ended,
    /// The next counted pass is not due, and nothing is judged before.
    TooEarly,
    /// What it judges was not sent yet.
    BeforeSend,
    /// It would.
    Judges,
}

impl Gate {
    /// Opens a gate. Carried pairs that would be judged anyway are dropped.
    ///
    /// # Errors
    ///
    /// [`NothingToJudge`] when there is neither a machine nor a carried pair, unless the rules let
    /// an empty gate be.
    pub fn open(mut opening: Opening, rules: &Rules) -> Result<Self, NothingToJudge> {
        if opening.machines.is_empty() && opening.carried.is_empty() {
            match rules.empty_gate {
                EmptyGate::NeverPasses => return Err(NothingToJudge),
                EmptyGate::Passes => {}
            }
        }
        let own = |machine| Pair { module: opening.module.clone(), machine };
        let mut judged: HashSet<Pair> = opening.machines.iter().cloned().map(own).collect();
        opening.carried.retain(|pair| judged.insert(pair.clone()));
        Ok(Self {
            opening,
            unobserved: Duration::ZERO,
            newest: None,
            row: None,
            last_miss: None,
            failing: Vec::new(),
            ended: None,
        })
    }

    /// What it is about.
    #[must_use]
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Counted passes in a row; `None` when the last judging found something wanting.
    #[must_use]
    pub fn row(&self) -> Option<&Row> {
        self.row.as_ref()
    }

    /// What the last judging found wanting; `None` when it found nothing. What is broken ends the
    /// gate and is told there.
    #[must_use]
    pub fn last_miss(&self) -> Option<&Miss> {
        self.last_miss.as_ref()
    }

    /// The modules that were wanting in the last judging, in the order of the pairs.
    #[must_use]
    pub fn failing(&self) -> &[String] {
        &self.failing
    }

    /// Its end, if it has one; it never changes.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref()
    }

    /// How long it took from the send to the end.
    #[must_use]
    pub fn took(&self) -> Option<TimeDelta> {
        Some(self.ended.as_ref()?.at.signed_duration_since(self.opening.since))
    }

    /// Says that nobody could observe for a time: the controller was down, or the bus away. It
    /// moves the bound, never the settle time.
    pub fn unobserved(&mut self, gap: Duration) {
        self.unobserved = self.unobserved.saturating_add(gap);
    }

    /// Whether it would judge now, so that nobody reads facts that it would not look at.
    #[must_use]
    pub fn readiness(&self, now: DateTime<Utc>, rules: &Rules) -> Readiness {
        if self.ended.is_some() {
            return Readiness::Ended;
        }
        match rules.before_send {
            BeforeSend::NotJudged if now < self.opening.since => return Readiness::BeforeSend,
            BeforeSend::NotJudged | BeforeSend::Judged => {}
        }
        match rules.between_passes {
            BetweenPasses::Wait if !self.next_pass_is_due(now, rules) => Readiness::TooEarly,
            BetweenPasses::Wait | BetweenPasses::Judge => Readiness::Judges,
        }
    }

    /// Whether the distance to the last counted pass is over.
    pub(crate) fn next_pass_is_due(&self, now: DateTime<Utc>, rules: &Rules) -> bool {
        self.row.is_none_or(|row| now.signed_duration_since(row.last) >= delta(rules.policy.every))
    }

    /// When the bound falls.
    #[must_use]
    pub fn bound_ends(&self, rules: &Rules) -> DateTime<Utc> {
        later(self.opening.since, rules.policy.bound.saturating_add(self.unobserved))
    }

    /// The earliest time at which it could pass, if everything is good from now on.
    #[must_use]
    pub fn earliest_pass(&self, now: DateTime<Utc>, rules: &Rules) -> DateTime<Utc> {
        let policy = &rules.policy;
        let counted = self.row.map_or(0, |row| row.passes.get());
        let next = self.row.map_or(now, |row| now.max(later(row.last, policy.every)));
        let missing = policy.passes.saturating_sub(counted).saturating_sub(1);
        let passed = later(next, policy.every.saturating_mul(missing));
        passed.max(later(self.settles_from(next, rules), policy.settle))
    }

    /// From when the settle time counts, for a row whose next pass is counted at a time.
    pub(crate) fn settles_from(&self, next: DateTime<Utc>, rules: &Rules) -> DateTime<Utc> {
        match rules.settle_from {
            SettleFrom::Send => self.opening.since,
            SettleFrom::FirstPass => self.row.map_or(next, |row| row.first),
        }
    }

    /// The gate in one line.
    #[must_use]
    pub fn summary(&self, rules: &Rules, rollback: Option<&str>) -> String {
        use crate::line::{LineState, LineWords, gate_line};
        let ended = self.ended.as_ref();
        let took = self.took().map(|took| took_text(crate::took::whole_seconds(took)));
        let why = ended.map(|ended| ended.end.to_string());
        let last = self.last_miss.as_ref().map(|miss| miss.cause.to_string());
        let words = LineWords {
            component: crate::core_component(&self.opening.module).map(crate::Component::name),
            machines: &self.opening.machines,
            from: self.opening.from.as_deref(),
            to: Some(&self.opening.to),
            state: match ended.map(|ended| &ended.end) {
                None => LineState::Judging,
                Some(End::Passed { .. }) => LineState::Passed,
                Some(End::Failed(_)) => LineState::Failed,
                Some(End::CannotTell(_)) => LineState::CannotTell,
            },
            took: took.as_deref(),
            why: why.as_deref(),
            last: last.as_deref(),
            passes: self.row.map_or(0, |row| row.passes.get()),
            of: rules.policy.passes,
            rollback,
        };
        gate_line(&words).to_string()
    }
}

/// A length of time as a difference; one that is too long is the longest.
pub(crate) fn delta(length: Duration) -> TimeDelta {
    TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX)
}

/// A time that much later; the end of time when there is none.
fn later(time: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    time.checked_add_signed(delta(by)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}
