//! All of a book on one sheet, in plain text: what the model writes on.

use failure_book::{Kept, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// A book, as somebody would write it down who has no index and no rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sheet {
    pub(crate) id: String,
    pub(crate) seq: u64,
    pub(crate) records: Vec<RecordLine>,
    pub(crate) markers: BTreeMap<String, MarkerLine>,
    pub(crate) intents: BTreeMap<String, IntentLine>,
    pub(crate) generations: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordLine {
    pub(crate) build: String,
    pub(crate) host: String,
    pub(crate) cause: String,
    pub(crate) mode: String,
    pub(crate) reason: String,
    pub(crate) promoted_at: String,
    pub(crate) at: String,
    pub(crate) held_down: Vec<String>,
    pub(crate) retried: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarkerLine {
    pub(crate) build: String,
    pub(crate) exec: String,
    pub(crate) seq: u64,
    pub(crate) at: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IntentLine {
    pub(crate) build: String,
    pub(crate) mode: String,
    pub(crate) id: String,
    pub(crate) start: String,
}

/// The app of a build, both as joined text.
pub(crate) fn app_of(build: &str) -> String {
    build.rsplit_once('/').unwrap().0.to_owned()
}

/// A time as text that sorts like it; none is empty, and sorts first.
pub(crate) fn time(time: Option<Time>) -> String {
    time.map(|time| time.format("%FT%TZ").to_string()).unwrap_or_default()
}

impl Sheet {
    /// The sheet of what is kept.
    pub(crate) fn of(kept: &Kept) -> Self {
        let document = kept.to_document().unwrap();
        let document: Value = serde_json::from_str(&document).unwrap();
        let entries = |name: &str| {
            let object = document[name].as_object().cloned().unwrap_or_default();
            object.into_iter()
        };
        let records = document["records"].as_array().unwrap();
        Self {
            id: text(&document["book"]),
            seq: document["seq"].as_u64().unwrap_or(0),
            records: records.iter().map(record).collect(),
            markers: entries("hold_ran").map(|(host, line)| (host, marker(&line))).collect(),
            intents: entries("intents").map(|(host, line)| (host, intent(&line))).collect(),
            generations: entries("gens").map(|(app, line)| (app, line.as_u64().unwrap())).collect(),
        }
    }
}

fn text(value: &Value) -> String {
    match value.as_str().unwrap_or_default() {
        "0001-01-01T00:00:00Z" => String::new(),
        text => text.to_owned(),
    }
}

fn build(line: &Value) -> String {
    format!("{}/{}/{}", text(&line["account"]), text(&line["app"]), text(&line["build"]))
}

fn record(line: &Value) -> RecordLine {
    let hosts = |name: &str| line[name].as_array().into_iter().flatten().map(text).collect();
    RecordLine {
        build: build(line),
        host: text(&line["host"]),
        cause: text(&line["cause"]),
        mode: text(&line["mode"]),
        reason: text(&line["reason"]),
        promoted_at: text(&line["promoted_at"]),
        at: text(&line["at"]),
        held_down: hosts("held_down"),
        retried: hosts("retried"),
    }
}

fn marker(line: &Value) -> MarkerLine {
    MarkerLine {
        build: build(line),
        exec: text(&line["exec"]),
        seq: line["seq"].as_u64().unwrap_or(0),
        at: text(&line["at"]),
    }
}

fn intent(line: &Value) -> IntentLine {
    IntentLine {
        build: build(line),
        mode: text(&line["mode"]),
        id: text(&line["id"]),
        start: text(&line["start"]),
    }
}
