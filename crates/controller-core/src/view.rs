//! What people see: the records, told in the words of the answers.

mod gate;
mod held;
mod inventory;
mod machine;
mod plan;

use ::conditions::{Condition, Severity};
use wire::api::ConditionView;

pub(crate) use gate::gates;
pub(crate) use held::{instances, pointer, pointers};
pub(crate) use inventory::{builds, modules};
pub(crate) use machine::machines;
pub(crate) use plan::{plan, plan_note, plan_word, plans};

use crate::state::{HeldOff, State};

/// All that is wrong now, the most severe first.
pub(crate) fn conditions(state: &State) -> Vec<ConditionView> {
    let mut open: Vec<&Condition> = state.records.conditions.open().collect();
    open.sort_by_key(|condition| std::cmp::Reverse(condition.severity));
    let store = state.held_off.as_ref().map(not_writable);
    store.into_iter().chain(open.into_iter().map(condition)).collect()
}

/// The one condition that cannot be kept, since it says that nothing can.
fn not_writable(held_off: &HeldOff) -> ConditionView {
    ConditionView {
        key: "core.controller.store-not-writable".into(),
        severity: "urgent".into(),
        summary: format!(
            "the store does not take writes ({}); nothing is sent or judged further until it does, and then everything goes \
             on by itself",
            held_off.why
        ),
        raised: held_off.since,
        last_seen: held_off.until,
        times_seen: 1,
        show: "controller conditions".into(),
        resolve: vec!["make room on the disk that holds the store, or make it writable".into()],
    }
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
