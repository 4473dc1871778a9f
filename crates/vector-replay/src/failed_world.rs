//! Suite `failed`: the store, the send, the keeper and the teller, which answer as a case says and
//! write down what they are asked.

use crate::observed;
use conditions::{Key, Rollback};
use controller_core::failure::{
    Answer, FailedBuild, KeptVerdict, Likeness, Need, PreviousBuild, Recorded, RollbackEvent,
    RollbackRecord, Sent, VerdictRecord, Wrote,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What answers in one case.
pub(crate) struct Answers {
    /// By module.
    pub(crate) stores: BTreeMap<String, Store>,
    pub(crate) send: Send,
    pub(crate) keeper: Said,
    pub(crate) teller: Said,
}

/// What the store answers about one module.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    source_fingerprints: Likeness,
    fingerprints: Likeness,
    record: Record,
    /// The rollback word of the kept verdict, or `absent`.
    #[serde(default)]
    kept: String,
    failed_build: Failed,
    previous_build: Previous,
    restore: Done,
    save_plan: Done,
    set_rollback: Done,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Record {
    Ok,
    Kept,
    Error,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Failed {
    Ok,
    Missing,
    Error,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Previous {
    Found,
    NotFound,
    Error,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Ok,
    Error,
}

/// What every send answers.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Send {
    Ok,
    Refused,
}

/// What the keeper or the teller answers; `None` is that there is none.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    Ok,
    Error,
    None,
}

impl Answers {
    /// The action to write down, if it is one that is, and the answer; `None` where the case has no
    /// answer.
    pub(crate) fn answer(&self, need: &Need<'_>) -> Option<(Option<Value>, Answer)> {
        Some(match need {
            Need::SourceFingerprints { module, .. } => {
                (None, Answer::SourceFingerprints(self.store(module)?.source_fingerprints))
            }
            Need::ArtifactFingerprints { module, .. } => {
                (None, Answer::ArtifactFingerprints(self.store(module)?.fingerprints))
            }
            Need::FailedBuild { module, .. } => {
                (None, Answer::FailedBuild(self.store(module)?.failed_build.into()))
            }
            Need::PreviousBuild { module, previous, .. } => {
                (None, Answer::PreviousBuild(self.store(module)?.previous_build.named(previous)))
            }
            Need::RecordVerdict(record) => self.record_verdict(record)?,
            Need::KeptVerdict { module, .. } => {
                (None, Answer::KeptVerdict(self.store(module)?.kept_verdict()))
            }
            Need::RestoreModule { module, target } => {
                let done = self.store(module)?.restore;
                let fields = [("module", json!(module)), ("commit", json!(target.commit))];
                (
                    Some(action("restore_module", fields, done.word())),
                    Answer::ModuleRestored(done.into()),
                )
            }
            Need::SavePlan { module, rollback } => {
                let done = self.store(module)?.save_plan;
                let fields = [
                    ("module", json!(module)),
                    ("rollback", json!(rollback)),
                    ("plan_state", json!("failed")),
                ];
                (Some(action("save_plan", fields, done.word())), Answer::PlanSaved(done.into()))
            }
            Need::Send { machines, modules } => {
                let modules: Vec<&str> = modules.iter().map(|back| back.module).collect();
                let fields = [("machines", json!(machines)), ("modules", json!(modules))];
                let (word, sent) = match self.send {
                    Send::Ok => ("ok", Sent::Accepted(BTreeMap::new())),
                    Send::Refused => ("refused", Sent::Refused),
                };
                (Some(action("send", fields, word)), Answer::Sent(sent))
            }
            Need::SetRollback(record) => {
                let done = self.store(record.module)?.set_rollback;
                (Some(set_rollback(record, done)), Answer::RollbackSet(done.into()))
            }
            Need::RaiseCondition { observation, .. } => {
                (raise(observation, self.keeper), Answer::ConditionRaised)
            }
            Need::PublishEvent(event) => (publish(event, self.teller), Answer::EventPublished),
            Need::Reports { .. } | Need::Done => return None,
        })
    }

    fn store(&self, module: &str) -> Option<&Store> {
        self.stores.get(module)
    }

    fn record_verdict(&self, record: &VerdictRecord<'_>) -> Option<(Option<Value>, Answer)> {
        let (word, recorded) = match self.store(record.module)?.record {
            Record::Ok => ("ok", Recorded::Kept),
            Record::Kept => ("kept", Recorded::KeptAlready),
            Record::Error => ("error", Recorded::Failed),
        };
        let fields = [
            ("module", json!(record.module)),
            ("build", json!(record.build)),
            ("commit", json!(record.commit)),
            ("previous", json!(record.previous)),
            ("verdict", json!(record.end)),
            ("rollback", json!(record.rollback)),
            ("why", json!(record.why)),
            ("component", json!(record.component)),
            ("machines", json!(record.machines)),
        ];
        Some((Some(action("record_verdict", fields, word)), Answer::Verdict(recorded)))
    }
}

fn set_rollback(record: &RollbackRecord<'_>, done: Done) -> Value {
    let fields = [
        ("module", json!(record.module)),
        ("build", json!(record.build)),
        ("rollback", json!(record.rollback)),
        ("why", json!(record.why)),
        ("not_back", json!(record.not_back.map(|not_back| not_back.code()))),
    ];
    action("set_rollback", fields, done.word())
}

fn raise(observation: &conditions::Observation, keeper: Said) -> Option<Value> {
    Some(action("raise_condition", observed::as_json(observation), keeper.word()?))
}

fn publish(event: &RollbackEvent, teller: Said) -> Option<Value> {
    let fields = [
        ("event", json!(RollbackEvent::NAME)),
        ("module", json!(event.module)),
        ("component", json!(event.component)),
        ("machines", json!(event.machines)),
        ("from", json!(event.from)),
        ("to", json!(event.to)),
        ("why", json!(event.why)),
        ("rollback", json!(event.rollback)),
        ("not_back", json!(event.not_back)),
        ("key", json!(event.key.as_ref().map(Key::as_str))),
    ];
    Some(action("publish_event", fields, teller.word()?))
}

/// An action as the vectors write it: empty fields are left out.
fn action(
    what: &str,
    fields: impl IntoIterator<Item = (impl Into<String>, Value)>,
    result: &str,
) -> Value {
    let is_empty = |value: &Value| value.is_null() || *value == json!("") || *value == json!([]);
    let fields = fields.into_iter().map(|(name, value)| (name.into(), value));
    let mut action: Map<String, Value> = fields.filter(|(_, value)| !is_empty(value)).collect();
    action.insert("do".to_owned(), json!(what));
    action.insert("result".to_owned(), json!(result));
    Value::Object(action)
}

impl Store {
    fn kept_verdict(&self) -> Option<KeptVerdict> {
        (self.kept != "absent").then(|| KeptVerdict {
            rollback: Rollback::from(self.kept.clone()),
            rollback_id: None,
            target: None,
            not_back: None,
        })
    }
}

impl From<Failed> for FailedBuild {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Ok => Self::Found,
            Failed::Missing => Self::Missing,
            Failed::Error => Self::Unreadable,
        }
    }
}

impl Previous {
    fn named(self, commit: &str) -> PreviousBuild {
        match self {
            Self::Found => PreviousBuild::Found(format!("build of {commit}")),
            Self::NotFound => PreviousBuild::NotFound,
            Self::Error => PreviousBuild::Unreadable,
        }
    }
}

impl Done {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }
}

impl From<Done> for Wrote {
    fn from(done: Done) -> Self {
        match done {
            Done::Ok => Self::Landed,
            Done::Error => Self::Failed,
        }
    }
}

impl Said {
    fn word(self) -> Option<&'static str> {
        match self {
            Self::Ok => Some("ok"),
            Self::Error => Some("error"),
            Self::None => None,
        }
    }
}
