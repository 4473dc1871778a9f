//! Suite `book`: traces of the failure book, step by step.

mod disk;
mod format;
mod normal;
mod steps;
mod world;

use crate::disagreement::compare;
use crate::{Case, Disagreement, Replayed};
use failure_book::Rules;
use format::{Step, Trace};
use normal::normal;
use serde::Deserialize;
use serde_json::{Value, json};
use world::World;

/// Replays one trace under the reference's rules, up to its first disagreement.
pub(crate) fn run(input: &Value) -> Result<Replayed, Disagreement> {
    run_by(input, Rules::reference())
}

/// Replays one trace of the failure book under other rules, to see where they make a difference.
///
/// # Errors
///
/// [`Disagreement`], as from [`replay`](crate::replay).
pub fn replay_book(case: &Case, rules: Rules) -> Result<Replayed, Disagreement> {
    run_by(&case.input, rules)
}

fn run_by(input: &Value, rules: Rules) -> Result<Replayed, Disagreement> {
    let trace = Trace::deserialize(input)?;
    if trace.steps.iter().any(Step::is_of_a_book_without_journal) {
        return Ok(Replayed::NotOurs);
    }
    let mut world = World::new(&trace.ids, trace.initial_file.as_ref(), rules)?;
    for (place, step) in trace.steps.iter().enumerate() {
        let got = world.step(step)?;
        let expected = step.expected();
        compare(&at_step(place, normal(expected)), at_step(place, normal(got)))?;
    }
    compare(&json!({"ids": 0}), json!({"ids": world.ids_left()}))?;
    Ok(Replayed::Agreed)
}

/// One step's outcome, under the name of the step.
fn at_step(place: usize, outcome: Value) -> Value {
    json!({ format!("steps[{place}]"): outcome })
}
