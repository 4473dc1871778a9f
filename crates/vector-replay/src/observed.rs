//! Suite `observations`: the conditions that failed gates and witnesses' verdicts are made into.

use chrono::{DateTime, Utc};
use conditions::{
    End, FailedGate, Key, Observation, Outcome, Resolver, Rollback, Rules, Scope, WitnessVerdict,
    first_of_each_key, observe_ends, observe_gate, observe_witness,
};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Gate {
    module: String,
    component: String,
    machines: Vec<String>,
    rollback: String,
    why: String,
    not_why: String,
    failed: String,
    previous: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Witness {
    node: String,
    rollback: Verdict,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Verdict {
    component: String,
    from: String,
    to: String,
    outcome: String,
    why: String,
    at: DateTime<Utc>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listed {
    scope: String,
    id: String,
    #[serde(rename = "kind")]
    _kind: String,
    token: String,
    #[serde(rename = "severity")]
    _severity: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Probe {
    latest: Option<Vec<Latest>>,
    witnessed: Option<BTreeMap<String, Vec<Verdict>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Latest {
    module: String,
    component: String,
    machines: Vec<String>,
    verdict: String,
    rollback: String,
    why: String,
    commit: String,
    previous: String,
}

pub(crate) fn gate(gate: Gate) -> Result<Value, serde_json::Error> {
    let gate = FailedGate {
        module: gate.module,
        component: given(gate.component),
        machines: gate.machines,
        end: End::Failed,
        rollback: Rollback::from(gate.rollback),
        why: gate.why,
        not_why: given(gate.not_why),
        failed: given(gate.failed),
        previous: given(gate.previous),
        resolve: Vec::new(),
    };
    observe_gate(&Rules::reference(), &gate)
        .map(|observation| Value::Object(as_json(&observation)))
        .ok_or_else(|| serde_json::Error::custom("the reference always says a gate"))
}

pub(crate) fn witness(witness: Witness) -> Value {
    let Witness { node, rollback } = witness;
    let verdict = rollback.into_verdict();
    Value::Object(as_json(&observe_witness(&Rules::reference(), &node, &verdict)))
}

pub(crate) fn dedupe(list: &[Listed]) -> Value {
    let key = |index: &usize| {
        let Listed { scope, id, token, .. } = &list[*index];
        Key::new(&Scope::new(scope.as_str()), id, token)
    };
    json!({"kept": first_of_each_key(0..list.len(), key)})
}

pub(crate) fn probe(probe: Probe) -> Value {
    let latest = probe.latest.unwrap_or_default();
    let failed: Vec<_> =
        latest.into_iter().filter(|end| end.verdict == "failed").map(Latest::into_gate).collect();
    let witnessed = probe.witnessed.unwrap_or_default();
    let witnessed = witnessed
        .into_iter()
        .map(|(node, verdicts)| {
            (node, verdicts.into_iter().map(Verdict::into_verdict).collect::<Vec<_>>())
        })
        .collect();
    let observations = observe_ends(&Rules::reference(), &failed, &witnessed);
    json!({"observations": observations.iter().map(as_json).collect::<Vec<_>>()})
}

impl Verdict {
    fn into_verdict(self) -> WitnessVerdict {
        WitnessVerdict {
            component: self.component,
            from: self.from,
            to: self.to,
            outcome: Outcome::from(self.outcome),
            why: self.why,
            at: self.at,
        }
    }
}

impl Latest {
    fn into_gate(self) -> FailedGate {
        FailedGate {
            module: self.module,
            component: given(self.component),
            machines: self.machines,
            end: End::Failed,
            rollback: Rollback::from(self.rollback),
            why: self.why,
            not_why: None,
            failed: given(self.commit),
            previous: given(self.previous),
            resolve: Vec::new(),
        }
    }
}

pub(crate) fn given(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// An observation as the vectors write it.
pub(crate) fn as_json(observation: &Observation) -> Map<String, Value> {
    let Observation { subject, kind, token, severity, source, resolver, summary, .. } = observation;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("scope", json!(subject.scope));
    put("id", json!(subject.id));
    put("kind", json!(kind));
    put("token", json!(token));
    put("key", json!(observation.key()));
    put("machine", json!(subject.machine.as_deref().unwrap_or_default()));
    put("severity", json!(severity.as_str()));
    put("source", json!(source.as_ref().map_or("", |source| source.as_str())));
    put("summary", json!(summary.code));
    if !subject.also.is_empty() {
        put("also", json!(subject.also));
    }
    if *resolver == Resolver::Operator {
        put("resolver", json!(resolver.as_str()));
    }
    fields
}
