//! Suite `failed`: what is done with a failed gate.

use crate::failed_world::{Answers, Said, Send};
use crate::observed::given;
use chrono::{DateTime, Utc};
use conditions::{End, Rollback};
use controller_core::failure::{
    Ended, FailedModule, Form, Gate, Handled, Handling, JudgedGate, ModuleState, Need, NoteKind,
    Rules,
};
use gate_judge::core_component;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    mode: Mode,
    modules: Vec<Module>,
    send: Send,
    #[serde(default)]
    doctor: bool,
    keeper: Said,
    teller: Said,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Single,
    Batched,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    #[serde(default)]
    module: String,
    #[serde(default)]
    build: String,
    #[serde(default)]
    commit: String,
    #[serde(default)]
    previous: String,
    first_at: Option<DateTime<Utc>>,
    gate: Option<GateAsKept>,
    #[serde(default)]
    machines: Vec<String>,
    #[serde(default)]
    why: String,
    store: crate::failed_world::Store,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateAsKept {
    #[serde(default)]
    component: String,
    #[serde(default)]
    machines: Vec<String>,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    since: Option<DateTime<Utc>>,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    why: String,
}

/// The time of the run: no vector's, so that a gate that counts from now is told from the others.
const NOW: DateTime<Utc> = DateTime::<Utc>::MAX_UTC;

pub(crate) fn run(input: &Value) -> Result<Value, serde_json::Error> {
    let Input { mode, modules, send, doctor, keeper, teller } = Input::deserialize(input)?;
    let rules = Rules {
        form: match mode {
            Mode::Single => Form::Single,
            Mode::Batched => Form::Batched,
        },
        ..Rules::reference()
    };
    let silent = |said| if doctor { said } else { Said::None };
    let mut answers =
        Answers { stores: BTreeMap::new(), send, keeper: silent(keeper), teller: silent(teller) };
    let mut failed = Vec::new();
    for module in modules {
        answers.stores.insert(module.module.clone(), module.store.clone());
        failed.push(module.into_failed()?);
    }
    let mut handling = Handling::new(rules, "rollback", NOW, failed);
    let mut actions = Vec::new();
    loop {
        let need = handling.need();
        if need == Need::Done {
            break;
        }
        let answered = answers.answer(&need);
        let (action, answer) = answered.ok_or_else(|| unanswerable(&need))?;
        actions.extend(action);
        handling.answer(NOW, answer).map_err(serde_json::Error::custom)?;
    }
    outcome(&handling, actions)
}

fn unanswerable(need: &Need<'_>) -> serde_json::Error {
    serde_json::Error::custom(format!("the vector has no answer to {need:?}"))
}

fn outcome(handling: &Handling, actions: Vec<Value>) -> Result<Value, serde_json::Error> {
    let notes = handling.notes();
    let [note] = notes.as_slice() else {
        return Err(serde_json::Error::custom("the reference keeps one note"));
    };
    let kind = match note.kind {
        NoteKind::Failed => "failed",
        NoteKind::Unchanged => "unchanged",
    };
    Ok(json!({
        "actions": actions,
        "modules": handling.handled().iter().map(handled).collect::<Vec<_>>(),
        "plan_state": "failed",
        "note": {"about": note.about, "kind": kind, "tail": note.tail},
    }))
}

fn handled(handled: &Handled) -> Value {
    let JudgedGate { component, machines, from, to, since, ended } = &handled.gate;
    let since_now = *since == Some(NOW);
    json!({
        "module": handled.module,
        "rollback": handled.rollback.as_ref().map_or("", Rollback::as_str),
        "marked_failed": handled.verdict_stands,
        "state_why": match handled.state {
            ModuleState::FailedItsGate => "failed_its_gate",
            ModuleState::CouldNotBeJudged => "could_not_be_judged",
            ModuleState::StoppedWithItsSend => "stopped_with_its_send",
        },
        "gate": {
            "component": component.as_deref().unwrap_or_default(),
            "machines": machines,
            "from": from.as_deref().unwrap_or_default(),
            "to": to.as_deref().unwrap_or_default(),
            "since": since.filter(|_| !since_now),
            "verdict": match ended.end {
                End::Failed => "failed",
                End::CannotTell => "cannot_tell",
            },
            "why": ended.why,
        },
        "since_now": since_now,
    })
}

impl Module {
    fn into_failed(self) -> Result<FailedModule, serde_json::Error> {
        let component = core_component(&self.module).map(|component| component.name().to_owned());
        Ok(FailedModule {
            module: self.module,
            component,
            build: given(self.build),
            commit: given(self.commit),
            previous: given(self.previous),
            first_sent: self.first_at,
            gate: self.gate.map(GateAsKept::into_gate).transpose()?,
            machines: self.machines,
            ended: Ended { end: End::Failed, why: self.why },
        })
    }
}

impl GateAsKept {
    fn into_gate(self) -> Result<Gate, serde_json::Error> {
        let ended = match self.verdict.as_str() {
            "" => None,
            "failed" => Some(Ended { end: End::Failed, why: self.why }),
            other => return Err(serde_json::Error::custom(format!("no verdict: {other:?}"))),
        };
        Ok(Gate {
            component: given(self.component),
            machines: self.machines,
            from: given(self.from),
            to: given(self.to),
            since: self.since,
            ended,
        })
    }
}
