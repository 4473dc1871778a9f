//! Suite `observations`: conditions, the line that sums a gate up, and which modules are core
//! components.

use crate::observed;
use gate_judge::{Builds, GateLine, LineState, LineTail, LineWords, core_component};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value, json};

/// How many passes the recorded lines want.
const PASSES_WANTED: u32 = 3;

#[derive(Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
enum Input {
    Gate {
        #[serde(default)]
        gate: observed::Gate,
    },
    Witness {
        #[serde(default)]
        witness: observed::Witness,
    },
    Dedupe {
        #[serde(default)]
        list: Vec<observed::Listed>,
    },
    Probe {
        #[serde(default)]
        probe: observed::Probe,
    },
    GateLine {
        line: Option<Line>,
    },
    CoreComponent {
        #[serde(default)]
        module: String,
    },
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Line {
    component: String,
    machines: Vec<String>,
    from: String,
    to: String,
    verdict: String,
    why: String,
    took: String,
    passes: u32,
    last: String,
    rollback: String,
}

pub(crate) fn run(input: &Value) -> Result<Value, serde_json::Error> {
    match Input::deserialize(input)? {
        Input::Gate { gate } => observed::gate(gate),
        Input::Witness { witness } => Ok(observed::witness(witness)),
        Input::Dedupe { list } => Ok(observed::dedupe(&list)),
        Input::Probe { probe } => Ok(observed::probe(probe)),
        Input::GateLine { line: None } => Ok(json!({"said": false})),
        Input::GateLine { line: Some(line) } => gate_line(&line),
        Input::CoreComponent { module } => {
            let name = core_component(&module).map_or("", |component| component.name());
            Ok(json!({"component": name}))
        }
    }
}

fn gate_line(line: &Line) -> Result<Value, serde_json::Error> {
    let state = match line.verdict.as_str() {
        "" => LineState::Judging,
        "passed" => LineState::Passed,
        "failed" => LineState::Failed,
        other => return Err(serde_json::Error::custom(format!("no verdict: {other:?}"))),
    };
    let parts = gate_judge::gate_line(&LineWords {
        component: given(&line.component),
        machines: &line.machines,
        from: given(&line.from),
        to: given(&line.to),
        state,
        took: given(&line.took),
        why: given(&line.why),
        last: given(&line.last),
        passes: line.passes,
        of: PASSES_WANTED,
        rollback: given(&line.rollback),
    });
    Ok(as_json(&parts))
}

fn given(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn as_json(line: &GateLine<'_>) -> Value {
    let mut parts = Map::new();
    let mut put = |name: &str, value: Value| parts.insert(name.to_owned(), value);
    put("said", json!(true));
    put("on", json!(line.on));
    put("state", json!(line.state.word()));
    if let Some(core) = line.core {
        put("core", json!(core));
    }
    if let Some(Builds { from, to }) = line.builds {
        put("from", json!(from));
        put("to", json!(to));
    }
    if let Some(after) = line.after {
        put("after", json!(after));
    }
    match line.tail {
        LineTail::Why(text) => {
            put("tail", json!("why"));
            put("text", json!(text));
        }
        LineTail::Wanting { text, passes, of } => {
            put("tail", json!("wanting"));
            put("text", json!(text));
            put("passes", json!(passes));
            put("of", json!(of));
        }
        LineTail::Passes { passes, of } => {
            put("tail", json!("passes"));
            put("passes", json!(passes));
            put("of", json!(of));
        }
        LineTail::Nothing => {}
    }
    if let Some(rollback) = line.rollback {
        put("rollback", json!(rollback));
    }
    Value::Object(parts)
}
