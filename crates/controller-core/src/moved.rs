//! The event that tells how far a plan has moved.

use chrono::{DateTime, Utc};
use serde_json::json;
use wire::Event;

use crate::{plan::Plan, state::State, view};

/// A plan moved: `plan-moved`, with the plan's id, its state and the sentence that `plans show` prints.
pub(crate) fn event(state: &State, now: DateTime<Utc>, plan: &Plan) -> Event {
    let word = view::plan_word(&plan.state);
    let note = view::plan_note(state, plan, now);
    let modules: Vec<_> = plan.moves().map(|it| it.module.as_str()).collect();
    let mut fields = serde_json::Map::new();
    fields.insert("plan".into(), json!(plan.id.as_str()));
    fields.insert("state".into(), json!(word));
    fields.insert("modules".into(), json!(modules));
    fields.insert("note".into(), json!(note));
    let summary = format!("plan {} of {} is {word}: {note}", plan.id, modules.join(", "));
    Event { at: now, kind: "plan-moved".into(), summary, fields }
}
