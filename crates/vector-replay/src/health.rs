//! Suite `health`: one module on one machine.

use crate::reasons::plain;
use chrono::{DateTime, Utc};
use gate_judge::{Facts, Health, Manifest, Moved, Rules, core_component, health};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    module: String,
    #[serde(default)]
    component: String,
    #[serde(default)]
    manifest: Manifest,
    #[serde(default)]
    machine: String,
    since: DateTime<Utc>,
    facts: Facts,
}

pub(crate) fn run(input: &Value) -> Result<Value, serde_json::Error> {
    let Input { module, component, manifest, machine, since, facts } = Input::deserialize(input)?;
    let own = core_component(&module).map_or("", |component| component.name());
    if component != own {
        return Err(serde_json::Error::custom(format!("{module:?} is no {component:?}")));
    }
    let moved = Moved {
        module: &module,
        manifest: Some(&manifest),
        build: None,
        machine: &machine,
        declaration: None,
        since,
    };
    let (word, reason) = match health(&moved, &facts.index(), &Rules::reference()) {
        Health::Good => return Ok(json!({"health": "good"})),
        Health::NotYet(reason) => ("not_yet", reason.into()),
        Health::Broken(reason) => ("broken", reason.into()),
    };
    let mut outcome = plain(&reason)?;
    outcome.insert("health".to_owned(), json!(word));
    Ok(Value::Object(outcome))
}
