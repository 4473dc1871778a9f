//! Where an outcome differs from the recorded one.

use chrono::{DateTime, Utc};
use core::fmt;
use serde_json::Value;

/// Why a case does not agree.
#[derive(Debug, thiserror::Error)]
pub enum Disagreement {
    /// No suite of this name is known.
    #[error("no suite named {suite:?}")]
    UnknownSuite {
        /// The name in the case.
        suite: String,
    },
    /// The input holds something that the suite's format does not know, or lacks what it needs.
    #[error("the input does not decode: {0}")]
    Input(#[from] serde_json::Error),
    /// The outcome is another one.
    #[error("{}", lines(.differences))]
    Differs {
        /// What came out of the reference.
        expected: Value,
        /// What came out here.
        got: Value,
        /// Each place where the two differ; never none.
        differences: Vec<Difference>,
    },
}

/// One place where two JSON values differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The way to it, as in `steps[2].passes`; empty for the whole.
    pub place: String,
    /// The recorded value; `None` where there is none.
    pub expected: Option<Value>,
    /// The value here; `None` where there is none.
    pub got: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { "the whole" } else { &self.place };
        write!(
            f,
            "{place}: expected {}, got {}",
            said(self.expected.as_ref()),
            said(self.got.as_ref())
        )
    }
}

fn said(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn lines(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("\n")
}

/// Compares an outcome with the recorded one: objects without regard to the order of their
/// fields, lists in order, times as instants to the millisecond.
///
/// # Errors
///
/// [`Disagreement::Differs`] with every place that differs.
pub(crate) fn compare(expected: &Value, got: Value) -> Result<(), Disagreement> {
    let mut differences = Vec::new();
    walk("", Some(expected), Some(&got), &mut differences);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Disagreement::Differs { expected: expected.clone(), got, differences })
}

fn walk(place: &str, expected: Option<&Value>, got: Option<&Value>, into: &mut Vec<Difference>) {
    match (expected, got) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let only_right = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(only_right) {
                let dot = if place.is_empty() { "" } else { "." };
                walk(&format!("{place}{dot}{key}"), left.get(key), right.get(key), into);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                walk(&format!("{place}[{index}]"), left.get(index), right.get(index), into);
            }
        }
        (left, right) if left == right || same_instant(left, right) => {}
        (left, right) => into.push(Difference {
            place: place.to_owned(),
            expected: left.cloned(),
            got: right.cloned(),
        }),
    }
}

fn same_instant(left: Option<&Value>, right: Option<&Value>) -> bool {
    matches!((instant(left), instant(right)), (Some(left), Some(right)) if left == right)
}

fn instant(value: Option<&Value>) -> Option<i64> {
    let text = value?.as_str()?;
    let time: DateTime<Utc> = text.parse().ok()?;
    Some(time.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_fields_and_the_spelling_of_times_do_not_matter() {
        let expected = json!({"at": "2026-10-06T12:00:00Z", "list": [1, 2]});
        let got = json!({"list": [1, 2], "at": "2026-10-06T12:00:00.000Z"});
        assert!(compare(&expected, got).is_ok());
    }

    #[test]
    fn every_place_is_named() {
        let expected = json!({"a": [1, {"b": "x"}], "gone": null, "at": "2026-10-06T12:00:00Z"});
        let got = json!({"a": [1, {"b": "y"}, 3], "at": "2026-10-06T12:00:00.001Z"});
        let said = compare(&expected, got).unwrap_err().to_string();
        assert_eq!(
            said,
            "a[1].b: expected \"x\", got \"y\"\n\
             a[2]: expected nothing, got 3\n\
             at: expected \"2026-10-06T12:00:00Z\", got \"2026-10-06T12:00:00.001Z\"\n\
             gone: expected null, got nothing"
        );
    }
}
