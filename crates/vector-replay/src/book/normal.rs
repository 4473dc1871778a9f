//! One spelling for what the format calls one value.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

/// What the reference writes for a time that is not known.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// Takes what is empty out of every object, and gives each time one spelling. What stands in a
/// list stays, since its place counts.
pub(super) fn normal(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(without_empties(object)),
        Value::Array(list) => Value::Array(list.into_iter().map(normal).collect()),
        Value::String(text) => Value::String(time(&text).unwrap_or(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn without_empties(object: Map<String, Value>) -> Map<String, Value> {
    let normal = object.into_iter().map(|(key, value)| (key, normal(value)));
    normal.filter(|(_, value)| !is_empty(value)).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == NO_TIME,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn time(text: &str) -> Option<String> {
    let time: DateTime<Utc> = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    Some(time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
}
