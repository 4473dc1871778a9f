//! Conditions: what is wrong, since when, and what to do.

use wire::api::ConditionView;

use super::instant;
use crate::paint::{Paint, Tone, harmless};

pub(crate) fn conditions(conditions: &[ConditionView], paint: Paint) -> String {
    if conditions.is_empty() {
        return "nothing is wrong".to_owned();
    }
    conditions.iter().map(|one| condition(one, paint)).collect::<Vec<_>>().join("\n\n")
}

fn condition(view: &ConditionView, paint: Paint) -> String {
    let tone = match view.severity.as_str() {
        "urgent" => Tone::Bad,
        "warning" => Tone::Busy,
        _ => Tone::Plain,
    };
    let severity = paint.tone(tone, &view.severity);
    let (key, since) = (&view.key, instant(view.raised));
    let seen = super::count(view.times_seen as usize, "time");
    let mut text = format!("{severity}  {key}  since {since}, seen {seen}");
    text.push_str(&format!("\n  {}", harmless(&view.summary)));
    text.push_str(&format!("\n  more: {}", harmless(&view.show)));
    for step in &view.resolve {
        text.push_str(&format!("\n  do:   {}", harmless(step)));
    }
    text
}
