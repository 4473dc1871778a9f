//! What people see: the records, told in the words of the answers.

mod gate;
mod inventory;
mod machine;
mod plan;

use ::conditions::{Condition, Severity};
use wire::api::ConditionView;

pub(crate) use gate::gates;
pub(crate) use inventory::{builds, modules};
pub(crate) use machine::machines;
pub(crate) use plan::{plan, plan_note, plan_word, plans};

use crate::state::State;

/// All that is wrong now, the most severe first.
pub(crate) fn conditions(state: &State) -> Vec<ConditionView> {
    let mut open: Vec<&Condition> = state.records.conditions.open().collect();
    open.sort_by_key(|condition| std::cmp::Reverse(condition.severity));
    open.into_iter().map(condition).collect()
}

fn condition(open: &Condition) -> ConditionView {
    ConditionView {
        key: open.key.to_string(),
        severity: match open.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Urgent => "urgent",
        }
        .into(),
        summary: open.summary.text.clone(),
        raised: open.raised,
        last_seen: open.last_seen,
        times_seen: open.times_seen,
        show: open.show.clone(),
        resolve: open.resolve.clone(),
    }
}
