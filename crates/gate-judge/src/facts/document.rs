//! The flat JSON form of the facts, where each source stands beside its error.

use super::{
    Baseline, Condition, Conditions, Facts, Holder, Report, Served, Statement, Unreadable,
    WitnessVerdict,
};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What is written and read. Only `judged` must be there: without it nobody could tell whether
/// the absence of open conditions means anything.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FactsDocument {
    #[serde(default)]
    reports: BTreeMap<String, Report>,
    #[serde(default)]
    engines: BTreeMap<String, String>,
    #[serde(default)]
    served: BTreeMap<String, Served>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    served_err: String,
    judged: bool,
    #[serde(default)]
    open: Vec<Condition>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    open_err: String,
    #[serde(default)]
    rolled_back: BTreeMap<String, Vec<WitnessVerdict>>,
    #[serde(default)]
    holder: Option<Holder>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    holder_err: String,
    #[serde(default)]
    health: BTreeMap<String, Statement>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    health_err: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    baseline: BTreeMap<String, Baseline>,
}

impl From<FactsDocument> for Facts {
    fn from(document: FactsDocument) -> Self {
        let conditions = match (document.judged, read(document.open, &document.open_err)) {
            (false, _) => Conditions::NotJudged,
            (true, Ok(open)) => Conditions::Open(open),
            (true, Err(unreadable)) => Conditions::Unreadable(unreadable),
        };
        Self {
            reports: document.reports,
            engines: document.engines,
            served: read(document.served, &document.served_err),
            conditions,
            rolled_back: document.rolled_back,
            lease: read(document.holder, &document.holder_err),
            statements: read(document.health, &document.health_err),
            baseline: document.baseline,
        }
    }
}

impl From<Facts> for FactsDocument {
    fn from(facts: Facts) -> Self {
        let (judged, open, open_err) = match facts.conditions {
            Conditions::NotJudged => (false, Vec::new(), String::new()),
            Conditions::Open(open) => (true, open, String::new()),
            Conditions::Unreadable(Unreadable { why }) => (true, Vec::new(), why),
        };
        let (served, served_err) = written(facts.served);
        let (holder, holder_err) = written(facts.lease);
        let (health, health_err) = written(facts.statements);
        Self {
            reports: facts.reports,
            engines: facts.engines,
            served,
            served_err,
            judged,
            open,
            open_err,
            rolled_back: facts.rolled_back,
            holder,
            holder_err,
            health,
            health_err,
            baseline: facts.baseline,
        }
    }
}

fn read<T>(data: T, error: &str) -> Result<T, Unreadable> {
    if error.is_empty() { Ok(data) } else { Err(Unreadable::new(error)) }
}

fn written<T: Default>(source: Result<T, Unreadable>) -> (T, String) {
    match source {
        Ok(data) => (data, String::new()),
        Err(Unreadable { why }) => (T::default(), why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Facts, Outcome, ResourceState, ToolNames};
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::string::String;
    use alloc::vec;
    use serde_json::json;

    #[test]
    fn data_beside_an_error_is_ignored() {
        let facts: Facts = serde_json::from_value(json!({
            "judged": true, "open_err": "gone", "served_err": "gone", "health_err": "gone",
            "open": [{"key": "k", "raised": "2026-10-06T12:00:00Z"}],
            "served": {"anvil": {"runtime": true}},
            "health": {"anvil": {"heard": "2026-10-06T12:00:00Z"}},
            "holder_err": "gone", "holder": {"taken": "2026-10-06T12:00:00Z"},
        }))
        .unwrap();
        let written = serde_json::to_value(&facts).unwrap();
        assert_eq!(written["open"], json!([]));
        assert_eq!(written["served"], json!({}));
        assert_eq!(written["health"], json!({}));
        assert_eq!(written["holder"], json!(null));
        assert_eq!(serde_json::from_value::<Facts>(written).unwrap(), facts);
    }

    #[test]
    fn whether_conditions_are_judged_must_be_said() {
        assert!(serde_json::from_value::<Facts>(json!({})).is_err());
        assert!(serde_json::from_value::<Facts>(json!({"judged": true})).is_ok());
    }

    #[test]
    fn a_misspelt_source_is_refused() {
        assert!(serde_json::from_value::<Facts>(json!({"judged": true, "helth": {}})).is_err());
    }

    #[test]
    fn words_are_read_and_written_as_they_are() {
        let outcomes = [
            ("applied", Outcome::Applied),
            ("failed", Outcome::Failed),
            ("refused", Outcome::Refused),
            ("unable", Outcome::Unable),
            ("Applied", Outcome::Other("Applied".into())),
            ("", Outcome::default()),
        ];
        for (word, outcome) in outcomes {
            assert_eq!(Outcome::from(String::from(word)), outcome);
            assert_eq!(String::from(outcome), word);
        }
        let states = [
            ("healthy", ResourceState::Healthy),
            ("starting", ResourceState::Starting),
            ("failed", ResourceState::Failed),
            ("unhealthy", ResourceState::Other("unhealthy".into())),
            ("", ResourceState::default()),
        ];
        for (word, state) in states {
            assert_eq!(ResourceState::from(String::from(word)), state);
            assert_eq!(String::from(state), word);
        }
    }

    #[test]
    fn tools_are_named_by_module_or_one_by_one() {
        let modules: ToolNames = serde_json::from_value(json!(["relay"])).unwrap();
        assert_eq!(modules, ToolNames::OfModules(BTreeSet::from(["relay".into()])));
        let each: ToolNames = serde_json::from_value(json!({"relay": ["peek"]})).unwrap();
        let tools = BTreeMap::from([("relay".into(), vec!["peek".into()])]);
        assert_eq!(each, ToolNames::Each(tools));
    }
}
