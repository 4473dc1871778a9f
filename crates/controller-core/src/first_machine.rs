//! Which machine meets a build first, and why.
//!
//! A list of preferences, each weighing more than all after it. In a small fleet some cannot be had; the choice then
//! says which, so that nobody learns only afterwards that the build went to the busiest machine first.

use std::{cmp::Reverse, fmt};

use names::MachineName;
use serde::{Deserialize, Serialize};

/// What is known of a machine that could be first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Its name.
    pub machine: MachineName,
    /// The preferences that it meets.
    pub meets: Vec<Preference>,
    /// Instances that it runs.
    pub load: usize,
}

/// What is wanted of a first machine, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// It has the label `bellwether=true`: a person chose it.
    Labelled,
    /// It was heard of late, and all that it runs is healthy.
    Healthy,
    /// No condition about it is open.
    NoCondition,
    /// Every module that moves runs there, so one machine tells of all of them.
    RunsAll,
    /// It is not the lead machine, which has to put the others back.
    NotLead,
    /// It does not hold the bus, which has to carry the word.
    NotBus,
}

impl Preference {
    /// All of them, the weightiest first.
    pub const ALL: [Self; 6] = [
        Self::Labelled,
        Self::Healthy,
        Self::NoCondition,
        Self::RunsAll,
        Self::NotLead,
        Self::NotBus,
    ];

    fn unmet(self) -> &'static str {
        match self {
            Self::Labelled => "it has no label bellwether=true",
            Self::Healthy => "it is silent, or something it runs is not healthy",
            Self::NoCondition => "a condition about it is open",
            Self::RunsAll => "it does not run every module that moves",
            Self::NotLead => "it is the lead machine",
            Self::NotBus => "it holds the bus",
        }
    }
}

/// Why a machine is first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The machine.
    pub machine: MachineName,
    /// What set it apart from the next best.
    pub because: Because,
    /// What is wanted of a first machine and this one does not meet. That it has no label is not worth a word.
    pub despite: Vec<Preference>,
}

/// What set a first machine apart from the next best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "because", content = "preference")]
pub enum Because {
    /// There was no other.
    Only,
    /// It meets this preference, and the next best does not.
    Meets(Preference),
    /// It runs less.
    LeastLoaded,
    /// All else was equal, and its name comes first.
    Name,
}

/// Orders the candidates, the best first machine first.
pub(crate) fn rank(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// Says why the first of ranked candidates is first; `None` where there is none.
pub(crate) fn explain(ranked: &[Candidate]) -> Option<Choice> {
    let first = ranked.first()?;
    let because = match ranked.get(1) {
        None => Because::Only,
        Some(next) => {
            let sets_apart =
                |wanted: &&Preference| first.meets.contains(wanted) && !next.meets.contains(wanted);
            match Preference::ALL.iter().find(sets_apart) {
                Some(preference) => Because::Meets(*preference),
                None if first.load < next.load => Because::LeastLoaded,
                None => Because::Name,
            }
        }
    };
    let missed =
        |wanted: &Preference| *wanted != Preference::Labelled && !first.meets.contains(wanted);
    let despite = Preference::ALL.into_iter().filter(missed).collect();
    Some(Choice { machine: first.machine.clone(), because, despite })
}

fn key(candidate: &Candidate) -> ([Reverse<bool>; 6], usize, &MachineName) {
    let met = Preference::ALL.map(|wanted| Reverse(candidate.meets.contains(&wanted)));
    (met, candidate.load, &candidate.machine)
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = match self.because {
            Because::Only => "there is no other",
            Because::Meets(Preference::Labelled) => "it has the label bellwether=true",
            Because::Meets(Preference::Healthy) => "all that it runs is healthy",
            Because::Meets(Preference::NoCondition) => "no condition about it is open",
            Because::Meets(Preference::RunsAll) => "every module that moves runs there",
            Because::Meets(Preference::NotLead) => "it is not the lead machine",
            Because::Meets(Preference::NotBus) => "it does not hold the bus",
            Because::LeastLoaded => "it runs the least",
            Because::Name => "it is as good as any, and first by name",
        };
        write!(f, "{} first: {because}", self.machine)?;
        for (nth, preference) in self.despite.iter().enumerate() {
            let word = if nth == 0 { "; although" } else { " and" };
            write!(f, "{word} {}", preference.unmet())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Preference::{Healthy, Labelled, NoCondition, NotBus, NotLead, RunsAll};

    fn candidate(machine: &str, meets: &[Preference], load: usize) -> Candidate {
        Candidate { machine: machine.parse().unwrap(), meets: meets.to_vec(), load }
    }

    fn chosen(mut candidates: Vec<Candidate>) -> String {
        rank(&mut candidates);
        explain(&candidates).map(|choice| choice.to_string()).unwrap_or_default()
    }

    #[test]
    fn each_preference_weighs_more_than_all_after_it() {
        let all = [Healthy, NoCondition, RunsAll, NotLead, NotBus];
        let cases: [(&[Preference], &[Preference], &str); 5] = [
            (
                &[Labelled],
                &all,
                "b first: it has the label bellwether=true; although it is silent, or something it runs is not healthy and a condition about it is open and it does not run every module that moves and it is the lead machine and it holds the bus",
            ),
            (
                &[Healthy],
                &[NoCondition, RunsAll, NotLead, NotBus],
                "b first: all that it runs is healthy; although a condition about it is open and it does not run every module that moves and it is the lead machine and it holds the bus",
            ),
            (
                &[Healthy, NoCondition],
                &[Healthy, RunsAll, NotLead, NotBus],
                "b first: no condition about it is open; although it does not run every module that moves and it is the lead machine and it holds the bus",
            ),
            (
                &[Healthy, NoCondition, RunsAll, NotLead],
                &[Healthy, NoCondition, RunsAll, NotBus],
                "b first: it is not the lead machine; although it holds the bus",
            ),
            (&all, &[Healthy, NoCondition, RunsAll, NotLead], "b first: it does not hold the bus"),
        ];
        for (better, worse, why) in cases {
            assert_eq!(chosen(vec![candidate("a", worse, 0), candidate("b", better, 9)]), why);
        }
    }

    #[test]
    fn then_the_least_loaded_then_the_first_by_name() {
        let all = [Healthy, NoCondition, RunsAll, NotLead, NotBus];
        let pair = |a, b| vec![candidate("a", &all, a), candidate("b", &all, b)];
        assert_eq!(chosen(pair(2, 1)), "b first: it runs the least");
        assert_eq!(chosen(pair(1, 1)), "a first: it is as good as any, and first by name");
    }

    #[test]
    fn a_fleet_of_one_says_what_it_could_not_have() {
        let only = vec![candidate("a", &[Healthy, NoCondition, RunsAll, NotBus], 0)];
        assert_eq!(chosen(only), "a first: there is no other; although it is the lead machine");
        assert_eq!(chosen(Vec::new()), "");
    }
}
