//! Suite `gate`: a sequence of judgings of one gate.

use crate::reasons::of_pair;
use chrono::{DateTime, SecondsFormat, Utc};
use core::time::Duration;
use gate_judge::{
    Catalogue, End, Ended, Facts, FailedBy, Gate, Opening, Pair, Policy, Readiness, Rules, Sent,
    Unread, core_component, took_text, whole_seconds,
};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    policy: PolicyValues,
    #[serde(default)]
    module: String,
    gate: Option<GateValues>,
    opening: Option<OpeningValues>,
    #[serde(default)]
    catalogue: Catalogue,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyValues {
    settle_s: u64,
    bound_s: u64,
    passes: u32,
    every_s: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateValues {
    /// Plays no part: each pair is judged by its own module's.
    #[serde(default, rename = "component")]
    _component: String,
    #[serde(default)]
    machines: Vec<String>,
    since: DateTime<Utc>,
    #[serde(default)]
    carried: Vec<CarriedPair>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CarriedPair {
    #[serde(default)]
    module: String,
    #[serde(default)]
    node: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpeningValues {
    #[serde(default)]
    first: Vec<String>,
    first_at: Option<DateTime<Utc>>,
    #[serde(default)]
    running: Vec<String>,
    #[serde(default)]
    previous: String,
    #[serde(default)]
    commit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    now: DateTime<Utc>,
    facts: Option<Facts>,
    unreadable: Option<Unread>,
}

pub(crate) fn run(input: &Value) -> Result<Value, serde_json::Error> {
    let input = Input::deserialize(input)?;
    let rules = Rules::reference().with_policy(policy(&input.policy));
    let Some(first) = input.steps.first() else {
        return Err(serde_json::Error::custom("a gate needs a step"));
    };
    let is_opened_here = input.gate.is_none();
    let opening = opening(&input, first.now)?;
    let mut gate = Gate::open(opening, &rules).map_err(serde_json::Error::custom)?;
    let mut outcome = Map::new();
    if is_opened_here {
        outcome.insert("opened".to_owned(), opened(gate.opening()));
    }
    let mut steps = Vec::new();
    for step in &input.steps {
        let call = judge(&mut gate, step, &input.catalogue, &rules)?;
        steps.push(state(&gate, call)?);
    }
    outcome.insert("steps".to_owned(), Value::Array(steps));
    Ok(Value::Object(outcome))
}

fn policy(values: &PolicyValues) -> Policy {
    let [settle, bound, every] =
        [values.settle_s, values.bound_s, values.every_s].map(Duration::from_secs);
    Policy { passes: values.passes, every, settle, bound }
}

fn opening(input: &Input, now: DateTime<Utc>) -> Result<Opening, serde_json::Error> {
    let module = input.module.clone();
    let sent = Sent::default();
    match (&input.gate, &input.opening) {
        (Some(gate), None) => {
            let pair = |CarriedPair { module, node }: &CarriedPair| Pair {
                module: module.clone(),
                machine: node.clone(),
            };
            Ok(Opening {
                module,
                machines: gate.machines.clone(),
                carried: gate.carried.iter().map(pair).collect(),
                from: None,
                to: String::new(),
                since: gate.since,
                sent,
            })
        }
        (None, Some(values)) => {
            let is_running = |machine: &&String| values.running.contains(machine);
            Ok(Opening {
                module,
                machines: values.first.iter().filter(is_running).cloned().collect(),
                carried: Vec::new(),
                from: (!values.previous.is_empty()).then(|| values.previous.clone()),
                to: values.commit.clone(),
                since: values.first_at.unwrap_or(now),
                sent,
            })
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(serde_json::Error::custom("either a gate is there or it is opened"))
        }
    }
}

fn opened(opening: &Opening) -> Value {
    json!({
        "component": core_component(&opening.module).map_or("", |component| component.name()),
        "machines": opening.machines,
        "since": text(opening.since),
        "from": opening.from.as_deref().unwrap_or_default(),
        "to": opening.to,
    })
}

/// One step; answers what the call was. Catalogue and facts are looked at only when the gate says
/// that it would judge.
fn judge(
    gate: &mut Gate,
    step: &Step,
    catalogue: &Catalogue,
    rules: &Rules,
) -> Result<&'static str, serde_json::Error> {
    match gate.readiness(step.now, rules) {
        Readiness::Ended => return Ok("decided_before"),
        Readiness::TooEarly => return Ok("too_early"),
        Readiness::BeforeSend => return Ok("before_send"),
        Readiness::Judges => {}
    }
    match (&step.facts, step.unreadable) {
        (_, Some(what)) => {
            let _ = gate.cannot_read(what, step.now, rules);
            Ok("error")
        }
        (Some(facts), None) => {
            let _ = gate.judge(&facts.index(), catalogue, step.now, rules);
            Ok("judged")
        }
        (None, None) => Err(serde_json::Error::custom("a step needs facts")),
    }
}

fn state(gate: &Gate, call: &str) -> Result<Value, serde_json::Error> {
    let ended = gate.ended();
    let took_s = gate.took().map(whole_seconds);
    let last_reason = match gate.last_miss().and_then(|miss| miss.cause.pair()) {
        None => Value::Null,
        Some(wanting) => Value::Object(of_pair(wanting)?),
    };
    Ok(json!({
        "call": call,
        "verdict": ended.map(verdict),
        "why": ended.map(why).transpose()?,
        "judged_at": ended.map(|ended| text(ended.at)),
        "took": took_s.map(took_text).unwrap_or_default(),
        "took_s": took_s,
        "passes": gate.row().map_or(0, |row| row.passes.get()),
        "last_pass": gate.row().map(|row| text(row.last)),
        "last_reason": last_reason,
        "failing": gate.failing(),
    }))
}

fn verdict(ended: &Ended) -> &'static str {
    match ended.end {
        End::Passed { .. } => "passed",
        End::Failed(_) => "failed",
        End::CannotTell(_) => "cannot_tell",
    }
}

fn why(ended: &Ended) -> Result<Value, serde_json::Error> {
    let (by, wanting) = match &ended.end {
        End::Passed { .. } => ("passes", None),
        End::Failed(FailedBy::Broken(wanting)) => ("broken", Some(wanting)),
        End::Failed(FailedBy::Bound(cause)) | End::CannotTell(cause) => ("bound", cause.pair()),
    };
    let mut why = wanting.map(of_pair).transpose()?.unwrap_or_default();
    why.insert("by".to_owned(), json!(by));
    Ok(Value::Object(why))
}

fn text(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
