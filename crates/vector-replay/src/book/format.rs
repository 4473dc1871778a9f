//! The format of a trace.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trace {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "seed")]
    _seed: u64,
    pub(super) ids: Vec<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) initial_file: Option<Value>,
    pub(super) steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) op: String,
    pub(super) args: Value,
    pub(super) now: DateTime<Utc>,
    pub(super) save: Save,
    #[serde(default)]
    pub(super) save_attempts: Vec<Save>,
    result: Value,
    saved: bool,
    after: Value,
    #[serde(default)]
    earlier_files: Vec<Value>,
    file: Option<Value>,
    pub(super) queries: Vec<Query>,
}

/// How an attempted write ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Save {
    Ok,
    Fail,
}

impl Save {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fail => "fail",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    pub(super) q: String,
    pub(super) args: Value,
    result: Value,
}

impl Step {
    /// The reference also has a book that is kept nowhere. Ours has a journal, always.
    pub(super) fn is_of_a_book_without_journal(&self) -> bool {
        self.args.get("memory_only").is_some()
    }

    /// What the step is to come to.
    pub(super) fn expected(&self) -> Value {
        let attempts: Vec<_> = self.save_attempts.iter().map(|save| save.word()).collect();
        let queries: Vec<_> = self.queries.iter().map(|query| &query.result).collect();
        let mut expected = Map::new();
        let mut put = |name: &str, value: Value| expected.insert(name.to_owned(), value);
        put("result", self.result.clone());
        put("saved", json!(self.saved));
        put("save_attempts", json!(attempts));
        put("file", json!(self.file));
        put("earlier_files", json!(self.earlier_files));
        put("after", self.after.clone());
        put("queries", json!(queries));
        Value::Object(expected)
    }
}
