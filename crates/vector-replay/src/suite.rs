//! The suites that can be replayed, and the one way to do it.

use crate::disagreement::compare;
use crate::{Case, Disagreement, about_machine, book, gate, health, observations};
use serde_json::Value;

/// One suite: its name in the files, and its runner.
#[derive(Debug)]
pub struct Suite {
    /// As the cases name it.
    pub name: &'static str,
    runner: Runner,
}

/// How a suite's cases are run.
#[derive(Debug)]
enum Runner {
    /// Decodes a case's input and answers the outcome, to be compared with the expected one.
    Outcome(fn(&Value) -> Result<Value, serde_json::Error>),
    /// Replays a trace, which carries its expected answers step by step.
    Trace(fn(&Value) -> Result<Replayed, Disagreement>),
}

/// What a replay without disagreement came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// The outcome is the recorded one.
    Agreed,
    /// The case is about something that only the reference has. Nothing was compared.
    NotOurs,
}

static SUITES: &[Suite] = &[
    Suite { name: "health", runner: Runner::Outcome(health::run) },
    Suite { name: "about_machine", runner: Runner::Outcome(about_machine::run) },
    Suite { name: "gate", runner: Runner::Outcome(gate::run) },
    #[cfg(feature = "failed")]
    Suite { name: "failed", runner: Runner::Outcome(crate::failed::run) },
    Suite { name: "observations", runner: Runner::Outcome(observations::run) },
    Suite { name: "book", runner: Runner::Trace(book::run) },
];

/// Every suite that can be replayed.
#[must_use]
pub fn suites() -> &'static [Suite] {
    SUITES
}

/// Runs one case in the suite that it names.
///
/// # Errors
///
/// [`Disagreement`] when the suite is not known, the input does not decode, or the outcome is
/// another than the expected one.
pub fn replay(case: &Case) -> Result<Replayed, Disagreement> {
    let Some(suite) = suites().iter().find(|suite| suite.name == case.suite) else {
        return Err(Disagreement::UnknownSuite { suite: case.suite.clone() });
    };
    match suite.runner {
        Runner::Outcome(run) => compare(&case.expect, run(&case.input)?).map(|()| Replayed::Agreed),
        Runner::Trace(run) => run(&case.input),
    }
}
