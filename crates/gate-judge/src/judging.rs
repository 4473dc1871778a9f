//! One judging of a gate: what it finds, what it counts, and whether it ends the gate.

use crate::ended::{Cause, End, Ended, FailedBy, Wanting};
use crate::facts::Catalogue;
use crate::gate::{Gate, Miss, Readiness, Row, delta};
use crate::index::FactsIndex;
use crate::rules::{EmptyGate, LatePass, OnSilence, Rules, SetBack, UnreadableFacts};
use crate::wave::Wave;
use crate::weight::Weight;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use chrono::{DateTime, Utc};
use core::num::NonZeroU32;
use hashbrown::{HashMap, HashSet};
use serde::{Deserialize, Serialize};

/// What one judging found: the answer to "why did nothing happen".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Judging {
    /// What became of it.
    pub found: Found,
    /// Every pair that was not good, in the gate's order; each other was.
    pub wanting: Vec<Wanting>,
}

/// What became of a judging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Nothing was judged: the gate had ended before.
    EndedBefore,
    /// Nothing was judged: the next counted pass was not due.
    TooEarly,
    /// Nothing was judged: what it judges was not sent yet.
    BeforeSend,
    /// Nothing was judged: the facts or the catalogue could not be read. Unless the rules have it
    /// otherwise, that ends the row of passes too.
    Unread(Unread),
    /// Something was wanting: the row of passes ended.
    Wanting,
    /// All was good, and it was counted.
    Counted,
    /// All was good, and it was not counted; the row of passes goes on.
    NotCounted(NotCounted),
    /// It ended the gate.
    Ended,
}

/// Why a judging that found all good was not counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotCounted {
    /// The last counted pass is too near.
    TooClose,
    /// A machine has said nothing since the last counted pass.
    NoNewStatement {
        /// The first such machine.
        machine: String,
    },
    /// Its time is before that of a judging made already.
    SetBack,
}

/// What could not be read, so that nothing could be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// The manifests of what is judged.
    Catalogue,
    /// The facts.
    Facts,
}

/// What all pairs together look like.
enum Seen {
    NothingToJudge,
    /// Never empty.
    Wanting(Vec<Wanting>),
    /// All is good, and it counts unless something is against it.
    Good(Option<NotCounted>),
}

impl Gate {
    /// Judges all its pairs by the facts, as one: the worst health decides.
    ///
    /// The facts must be those of `now`. Nothing happens once the gate has ended.
    pub fn judge(
        &mut self,
        facts: &FactsIndex<'_>,
        catalogue: &Catalogue,
        now: DateTime<Utc>,
        rules: &Rules,
    ) -> Judging {
        if let Some(found) = self.not_judged(now, rules) {
            return found.alone();
        }
        let seen = self.look(facts, catalogue, now, rules);
        self.newest = self.newest.max(Some(now));
        match seen {
            Seen::NothingToJudge => {
                self.failing.clear();
                self.miss(Miss::of_all(Cause::NothingToJudge), Vec::new(), now, rules)
            }
            Seen::Wanting(wanting) => self.wanting(wanting, now, rules),
            Seen::Good(Some(not_counted)) => Found::NotCounted(not_counted).alone(),
            Seen::Good(None) => self.good(now, rules),
        }
    }

    /// Looks at all pairs; changes nothing.
    fn look(
        &self,
        facts: &FactsIndex<'_>,
        catalogue: &Catalogue,
        now: DateTime<Utc>,
        rules: &Rules,
    ) -> Seen {
        let wave = Wave::new(&self.opening, facts, catalogue, rules);
        if wave.is_empty() && rules.empty_gate == EmptyGate::NeverPasses {
            return Seen::NothingToJudge;
        }
        let wanting = wave.wanting();
        if !wanting.is_empty() {
            return Seen::Wanting(wanting);
        }
        let is_set_back = self.newest.is_some_and(|newest| now < newest);
        if is_set_back && rules.set_back == SetBack::NoPass {
            return Seen::Good(Some(NotCounted::SetBack));
        }
        if !self.next_pass_is_due(now, rules) {
            return Seen::Good(Some(NotCounted::TooClose));
        }
        let Some(fresh) = rules.fresh else { return Seen::Good(None) };
        let stale = wave.stale(now, delta(fresh));
        if !stale.is_empty() {
            return Seen::Wanting(stale);
        }
        let silent = self.row.and_then(|row| wave.silent_since(row.last));
        Seen::Good(silent.map(|machine| NotCounted::NoNewStatement { machine: machine.to_owned() }))
    }

    /// Says that nothing can be judged now, since the facts or the catalogue cannot be read.
    pub fn cannot_read(&mut self, what: Unread, now: DateTime<Utc>, rules: &Rules) -> Judging {
        if let Some(found) = self.not_judged(now, rules) {
            return found.alone();
        }
        match rules.unreadable_facts {
            UnreadableFacts::ChangeNothing => return Found::Unread(what).alone(),
            UnreadableFacts::AreWanting => {}
        }
        let cause = match what {
            Unread::Catalogue => Cause::CatalogueUnreadable,
            Unread::Facts => Cause::FactsUnreadable,
        };
        self.failing = self.modules();
        let judging = self.miss(Miss::of_all(cause), Vec::new(), now, rules);
        if self.ended.is_some() { judging } else { Found::Unread(what).alone() }
    }

    fn not_judged(&self, now: DateTime<Utc>, rules: &Rules) -> Option<Found> {
        match self.readiness(now, rules) {
            Readiness::Ended => Some(Found::EndedBefore),
            Readiness::TooEarly => Some(Found::TooEarly),
            Readiness::BeforeSend => Some(Found::BeforeSend),
            Readiness::Judges => None,
        }
    }

    fn wanting(&mut self, wanting: Vec<Wanting>, now: DateTime<Utc>, rules: &Rules) -> Judging {
        let of_modules = weightiest(&wanting);
        self.failing = of_modules.iter().map(|wanting| wanting.module.clone()).collect();
        if let Some(broken) = wanting.iter().find(|wanting| wanting.is_broken()) {
            let end = End::Failed(FailedBy::Broken(broken.clone()));
            return self.end(end, wanting, now);
        }
        let miss = Miss {
            cause: wanting.first().cloned().map_or(Cause::NothingToJudge, Cause::Pair),
            weight: wanting.iter().map(|it| it.weight).max().unwrap_or(Weight::Silence),
            wanting: of_modules.into_iter().cloned().collect(),
        };
        self.miss(miss, wanting, now, rules)
    }

    fn miss(
        &mut self,
        miss: Miss,
        wanting: Vec<Wanting>,
        now: DateTime<Utc>,
        rules: &Rules,
    ) -> Judging {
        self.row = None;
        let end = at_bound(miss.cause.clone(), miss.weight, rules.on_silence);
        self.last_miss = Some(miss);
        if now > self.bound_ends(rules) {
            return self.end(end, wanting, now);
        }
        Judging { found: Found::Wanting, wanting }
    }

    /// Everything is good, and it counts.
    fn good(&mut self, now: DateTime<Utc>, rules: &Rules) -> Judging {
        if self.row.is_none()
            && rules.late_pass == LatePass::EndsTheGate
            && now > self.bound_ends(rules)
        {
            return self.end_late(now, rules);
        }
        let row = Row {
            passes: self.row.map_or(NonZeroU32::MIN, |row| row.passes.saturating_add(1)),
            first: self.row.map_or(now, |row| row.first),
            last: now,
        };
        let settled = now.signed_duration_since(self.settles_from(now, rules));
        self.row = Some(row);
        self.last_miss = None;
        self.failing.clear();
        let passes = row.passes.get();
        if passes >= rules.policy.passes && settled >= delta(rules.policy.settle) {
            return self.end(End::Passed { passes }, Vec::new(), now);
        }
        Found::Counted.alone()
    }

    /// Good at last, but the bound has fallen: what was wanting until then decides.
    fn end_late(&mut self, now: DateTime<Utc>, rules: &Rules) -> Judging {
        if self.last_miss.is_none() {
            self.failing = self.modules();
        }
        let late = || Miss::of_all(Cause::FirstGoodTooLate);
        let Miss { cause, weight, wanting } = self.last_miss.clone().unwrap_or_else(late);
        self.end(at_bound(cause, weight, rules.on_silence), wanting, now)
    }

    fn end(&mut self, end: End, wanting: Vec<Wanting>, now: DateTime<Utc>) -> Judging {
        self.ended = Some(Ended { at: now, end, wanting: wanting.clone() });
        Judging { found: Found::Ended, wanting }
    }

    /// Every module that it judges, in the order of the pairs.
    fn modules(&self) -> Vec<String> {
        let opening = &self.opening;
        let own = opening.machines.first().map(|_| &opening.module);
        let carried = opening.carried.iter().map(|pair| &pair.module);
        let mut seen = HashSet::new();
        own.into_iter().chain(carried).filter(|module| seen.insert(*module)).cloned().collect()
    }
}

impl Miss {
    /// All is wanting, since nobody could look.
    fn of_all(cause: Cause) -> Self {
        Self { cause, weight: Weight::Silence, wanting: Vec::new() }
    }
}

impl Found {
    fn alone(self) -> Judging {
        Judging { found: self, wanting: Vec::new() }
    }
}

/// What the bound means, by the most that anything wanting weighs.
fn at_bound(cause: Cause, weight: Weight, on_silence: OnSilence) -> End {
    match (weight, on_silence) {
        (Weight::Evidence, _) | (Weight::Silence, OnSilence::Failed) => {
            End::Failed(FailedBy::Bound(cause))
        }
        (Weight::Silence, OnSilence::CannotTell) | (Weight::WantingBefore, _) => {
            End::CannotTell(cause)
        }
    }
}

/// Of each module the first pair of those that weigh most, the modules in the order of their first.
fn weightiest(wanting: &[Wanting]) -> Vec<&Wanting> {
    let mut places = HashMap::new();
    let mut of_modules: Vec<&Wanting> = Vec::new();
    for one in wanting {
        let place = *places.entry(one.module.as_str()).or_insert(of_modules.len());
        match of_modules.get_mut(place) {
            None => of_modules.push(one),
            Some(weightiest) if one.weight > weightiest.weight => *weightiest = one,
            Some(_) => {}
        }
    }
    of_modules
}
