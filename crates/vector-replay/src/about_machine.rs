//! Suite `about_machine`: the conditions about a machine itself, sorted.

use crate::reasons::plain;
use chrono::{DateTime, Utc};
use gate_judge::{Conditions, Facts, Rules, about_machine};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    machine: String,
    #[serde(default)]
    moved: Vec<String>,
    since: DateTime<Utc>,
    facts: Facts,
}

pub(crate) fn run(input: &Value) -> Result<Value, serde_json::Error> {
    let Input { machine, moved, since, facts } = Input::deserialize(input)?;
    let moved: Vec<&str> = moved.iter().map(String::as_str).collect();
    let about = about_machine(&machine, &moved, since, &facts.index(), &Rules::reference());
    let mut on = Map::new();
    for (module, reason) in about.on {
        on.insert(module, Value::Object(plain(&reason.into())?));
    }
    let whole = match about.whole {
        None => Value::Null,
        Some(reason) => Value::Object(plain(&reason.into())?),
    };
    // Conditions that are no part of the judging, or that stand beside an error, are all kept;
    // what the decoder dropped with them is only there in the input.
    let kept: Vec<Value> = match &facts.conditions {
        Conditions::Open(open) => open
            .iter()
            .enumerate()
            .filter(|(place, _)| !about.taken.contains(place))
            .map(|(_, condition)| json!(condition.key))
            .collect(),
        Conditions::NotJudged | Conditions::Unreadable(_) => {
            let open = input["facts"]["open"].as_array().into_iter().flatten();
            open.map(|condition| condition.get("key").cloned().unwrap_or(json!(""))).collect()
        }
    };
    Ok(json!({"on": on, "whole": whole, "kept": kept}))
}
