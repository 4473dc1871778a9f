//! Turns what sources say into conditions that are raised, kept and cleared.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::condition::{Acknowledgement, Condition, Event, Silence};
use crate::history::{History, Steadiness};
use crate::observation::{Key, Observation, first_of_each_key};
use crate::words::Source;

/// All that is wrong now, who says so, and what was wrong before.
///
/// A condition belongs to the source that raised it. Another source may say the same key: the
/// condition then stays when the first no longer says it, and belongs to the other from there on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeper {
    open: BTreeMap<Key, Open>,
    /// What each source said on its last run, and how often in a row.
    sayings: BTreeMap<Source, BTreeMap<Key, Saying>>,
    histories: BTreeMap<Key, History>,
    failing: BTreeMap<Source, FailedRun>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    condition: Condition,
    owner: Source,
}

/// How a source last spoke of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Saying {
    /// It said it on this many runs in a row.
    Said(u32),
    /// It did not say it, but the condition flaps and is held open for now.
    Held,
}

/// A source that could not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Since when it has not been able to run.
    pub since: DateTime<Utc>,
    /// Why its last run failed.
    pub why: String,
}

/// No condition is open under this key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no open condition `{0}`")]
pub struct NotOpen(pub Key);

impl Keeper {
    /// Takes everything that a source says on one whole run, and answers what that changed.
    ///
    /// What the source said before and does not say now is cleared. To withdraw a source (a machine
    /// that was taken away), run it with nothing to say.
    pub fn run(
        &mut self,
        source: &Source,
        now: DateTime<Utc>,
        observations: impl IntoIterator<Item = Observation>,
    ) -> Vec<Event> {
        self.failing.remove(source);
        let mut before = self.sayings.remove(source).unwrap_or_default();
        let mut said = BTreeMap::new();
        let mut events = Vec::new();
        for observation in first_of_each_key(observations, Observation::key) {
            let key = observation.key();
            let saying = before.remove(&key);
            said.insert(key, Saying::Said(in_a_row(saying)));
            events.extend(self.see(source, now, observation, saying));
        }
        for key in before.into_keys() {
            match self.unsay(source, now, &key) {
                Unsaid::Open => {}
                Unsaid::Held => {
                    said.insert(key, Saying::Held);
                }
                Unsaid::Gone => events.extend(self.clear(now, key)),
            }
        }
        if !said.is_empty() {
            self.sayings.insert(source.clone(), said);
        }
        events
    }

    /// Takes one observation between two runs of its source, and leaves all others as they are.
    ///
    /// For what is known at once, before the probe that will go on saying it runs again.
    pub fn sight(
        &mut self,
        source: &Source,
        now: DateTime<Utc>,
        observation: Observation,
    ) -> Option<Event> {
        let said = self.sayings.entry(source.clone()).or_default();
        let key = observation.key();
        let saying = said.get(&key).copied();
        said.insert(key, Saying::Said(in_a_row(saying)));
        self.see(source, now, observation, saying)
    }

    /// A source could not run: nothing is known, so nothing is raised or cleared.
    pub fn run_failed(&mut self, source: &Source, now: DateTime<Utc>, why: impl Into<String>) {
        let since = self.failing.get(source).map_or(now, |failed| failed.since);
        self.failing.insert(source.clone(), FailedRun { since, why: why.into() });
    }

    /// Notes who took a condition upon themselves.
    ///
    /// # Errors
    /// [`NotOpen`] when there is no such condition.
    pub fn acknowledge(
        &mut self,
        key: &Key,
        acknowledgement: Acknowledgement,
    ) -> Result<Event, NotOpen> {
        let condition = self.open_condition(key)?;
        condition.acknowledged = Some(acknowledgement);
        Ok(Event::Changed { condition: condition.clone() })
    }

    /// Notes until when nobody is told of a condition.
    ///
    /// # Errors
    /// [`NotOpen`] when there is no such condition.
    pub fn silence(&mut self, key: &Key, silence: Silence) -> Result<Event, NotOpen> {
        let condition = self.open_condition(key)?;
        condition.silenced = Some(silence);
        Ok(Event::Changed { condition: condition.clone() })
    }

    /// The open conditions, by key.
    pub fn open(&self) -> impl Iterator<Item = &Condition> {
        self.open.values().map(|open| &open.condition)
    }

    /// The open condition under this key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Condition> {
        self.open.get(key).map(|open| &open.condition)
    }

    /// What is remembered of a key, open or not.
    #[must_use]
    pub fn history(&self, key: &Key) -> Option<&History> {
        self.histories.get(key)
    }

    /// The sources that could not run when they last tried.
    pub fn failing(&self) -> impl Iterator<Item = (&Source, &FailedRun)> {
        self.failing.iter()
    }

    /// Forgets the history of what cleared before this time and is not open.
    pub fn forget_history(&mut self, before: DateTime<Utc>) {
        let open = &self.open;
        self.histories.retain(|key, history| {
            open.contains_key(key) || history.last_cleared.is_none_or(|cleared| cleared >= before)
        });
    }

    fn open_condition(&mut self, key: &Key) -> Result<&mut Condition, NotOpen> {
        match self.open.get_mut(key) {
            Some(open) => Ok(&mut open.condition),
            None => Err(NotOpen(key.clone())),
        }
    }

    /// A source says this now; `before` is how it spoke of it last.
    fn see(
        &mut self,
        source: &Source,
        now: DateTime<Utc>,
        observation: Observation,
        before: Option<Saying>,
    ) -> Option<Event> {
        let key = observation.key();
        match self.open.get_mut(&key) {
            None => (in_a_row(before) >= observation.kind.sightings_needed())
                .then(|| self.raise(source, now, key, observation)),
            Some(open) if open.owner == *source => {
                let history = self.histories.entry(key.clone()).or_default();
                if before == Some(Saying::Held) {
                    history.appeared(now);
                }
                let steadiness = history.steadiness(now);
                refresh(&mut open.condition, observation, source, now, steadiness)
            }
            // Its owner tells about it; this source only keeps it open.
            Some(_) => None,
        }
    }

    fn raise(
        &mut self,
        source: &Source,
        now: DateTime<Utc>,
        key: Key,
        observation: Observation,
    ) -> Event {
        let history = self.histories.entry(key.clone()).or_default();
        history.times_raised = history.times_raised.saturating_add(1);
        history.appeared(now);
        let steadiness = history.steadiness(now);
        let condition = Condition::raise(key.clone(), observation, source, now, steadiness);
        self.open.insert(key, Open { condition: condition.clone(), owner: source.clone() });
        Event::Raised { condition }
    }

    /// A source said this before and does not say it now.
    fn unsay(&mut self, source: &Source, now: DateTime<Utc>, key: &Key) -> Unsaid {
        let Some(open) = self.open.get_mut(key).filter(|open| open.owner == *source) else {
            return Unsaid::Open;
        };
        let needed = open.condition.kind.sightings_needed();
        let other = self.sayings.iter().find(|(_, said)| {
            matches!(said.get(key), Some(Saying::Said(in_a_row)) if *in_a_row >= needed)
        });
        if let Some((other, _)) = other {
            open.owner = other.clone();
            return Unsaid::Open;
        }
        match self.histories.get(key).map(|history| history.steadiness(now)) {
            Some(Steadiness::Flapping) => Unsaid::Held,
            Some(Steadiness::Steady) | None => Unsaid::Gone,
        }
    }

    fn clear(&mut self, now: DateTime<Utc>, key: Key) -> Option<Event> {
        let Open { condition, .. } = self.open.remove(&key)?;
        self.histories.entry(key).or_default().cleared(condition.raised, now);
        Some(Event::Cleared { condition, at: now })
    }
}

/// What becomes of a key that one source no longer says.
enum Unsaid {
    /// It stays as it is: this source does not own it, or another says it too.
    Open,
    /// It flaps, and is held open for now.
    Held,
    /// Nobody says it any more.
    Gone,
}

/// How often in a row a source has said it, this time counted.
fn in_a_row(before: Option<Saying>) -> u32 {
    match before {
        Some(Saying::Said(in_a_row)) => in_a_row.saturating_add(1),
        Some(Saying::Held) | None => 1,
    }
}

/// Says an open condition again; an event only where something other than the count is new.
fn refresh(
    condition: &mut Condition,
    observation: Observation,
    source: &Source,
    now: DateTime<Utc>,
    steadiness: Steadiness,
) -> Option<Event> {
    let mut again = Condition {
        raised: condition.raised,
        last_seen: condition.last_seen,
        times_seen: condition.times_seen,
        acknowledged: condition.acknowledged.clone(),
        silenced: condition.silenced.clone(),
        ..Condition::raise(condition.key.clone(), observation, source, now, steadiness)
    };
    let is_new = again != *condition;
    again.last_seen = condition.last_seen.max(now);
    again.times_seen = condition.times_seen.saturating_add(1);
    *condition = again;
    is_new.then(|| Event::Changed { condition: condition.clone() })
}
