//! What a witness's verdict on a core component is made into.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::observation::{Observation, Resolver, Severity, Subject, Summary};
use crate::rules::Rules;
use crate::words::{Kind, Scope};

/// How a witness ended the trial of a core component.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Outcome {
    /// The previous build was put back.
    RolledBack,
    /// The build changed what the previous one cannot read, so it was left.
    NotReversible,
    /// There was no previous build.
    NothingToRestore,
    /// The previous build could not be put back.
    RestoreFailed,
    /// It could not judge: no verdict.
    Unwitnessed,
    /// The build before it fails too; the witness stopped trying.
    Halted,
    /// The verdict does not say; it is taken for put back.
    Unsaid,
    /// A word of another version.
    Other(String),
}

impl Outcome {
    /// The last part of the condition's key: the outcome's word, or the one it is taken for.
    fn token(&self) -> &str {
        match self {
            Self::RolledBack | Self::Unsaid => "rolled-back",
            Self::NotReversible => "not-reversible",
            Self::NothingToRestore => "nothing-to-restore",
            Self::RestoreFailed => "restore-failed",
            Self::Unwitnessed => "unwitnessed",
            Self::Halted => "halted",
            Self::Other(word) => word,
        }
    }

    fn severity(&self, rules: &Rules) -> Severity {
        match self {
            Self::RolledBack | Self::NotReversible | Self::RestoreFailed | Self::Halted => {
                Severity::Urgent
            }
            Self::Unsaid if rules.empty_outcome_is_severe => Severity::Urgent,
            Self::Unsaid | Self::NothingToRestore | Self::Unwitnessed | Self::Other(_) => {
                Severity::Warning
            }
        }
    }

    /// What is said of the component: a code, and its words.
    fn said(&self, rules: &Rules) -> (&'static str, Cow<'static, str>) {
        let (code, words) = match self {
            Self::RolledBack | Self::Unsaid => ("put_back", "the build before it was put back"),
            Self::NotReversible => ("not_reversible", "it cannot be taken back and was left"),
            Self::NothingToRestore => ("nothing_to_put_back", "there was no build to put back"),
            Self::RestoreFailed => {
                ("could_not_put_back", "the build before it could not be put back")
            }
            Self::Unwitnessed => ("could_not_judge", "its witness could not judge it"),
            Self::Halted => ("gave_up", "the build before it fails too, so its witness gave up"),
            Self::Other(word) if rules.unknown_outcome_is_said => {
                return ("outcome_said", Cow::Owned(format!("its witness says \"{word}\"")));
            }
            Self::Other(_) => ("unsaid", "its witness ended its trial"),
        };
        (code, Cow::Borrowed(words))
    }
}

impl From<String> for Outcome {
    fn from(word: String) -> Self {
        match word.as_str() {
            "rolled-back" => Self::RolledBack,
            "not-reversible" => Self::NotReversible,
            "nothing-to-restore" => Self::NothingToRestore,
            "restore-failed" => Self::RestoreFailed,
            "unwitnessed" => Self::Unwitnessed,
            "halted" => Self::Halted,
            "" => Self::Unsaid,
            _ => Self::Other(word),
        }
    }
}

impl From<Outcome> for String {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Unsaid => Self::new(),
            Outcome::Other(word) => word,
            Outcome::RolledBack
            | Outcome::NotReversible
            | Outcome::NothingToRestore
            | Outcome::RestoreFailed
            | Outcome::Unwitnessed
            | Outcome::Halted => outcome.token().to_string(),
        }
    }
}

/// A witness's verdict, as a machine's reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessVerdict {
    /// The core component that was tried.
    pub component: String,
    /// The build that was tried.
    pub from: String,
    /// The build before it.
    pub to: String,
    /// How the trial ended.
    pub outcome: Outcome,
    /// Why it ended so.
    pub why: String,
    /// When it ended, by the machine's clock.
    pub at: DateTime<Utc>,
}

/// The observation of a witness's verdict on a machine.
#[must_use]
pub fn observe_witness(rules: &Rules, machine: &str, verdict: &WitnessVerdict) -> Observation {
    let WitnessVerdict { component, from, outcome, why, .. } = verdict;
    let (code, words) = outcome.said(rules);
    Observation {
        subject: Subject {
            scope: Scope::CORE,
            id: format!("{component}.{machine}"),
            machine: Some(machine.to_string()),
            also: Vec::new(),
        },
        kind: Kind::ROLLED_BACK,
        token: outcome.token().to_string(),
        severity: outcome.severity(rules),
        source: None,
        resolver: Resolver::System,
        summary: Summary {
            code: Cow::Borrowed(code),
            text: format!("{component} {from} was tried on {machine} ({why}); {words}"),
        },
        show: "controller conditions".to_string(),
        resolve: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(outcome: &str) -> WitnessVerdict {
        WitnessVerdict {
            component: "node-engine".to_string(),
            from: "c2".to_string(),
            to: "c1".to_string(),
            outcome: Outcome::from(outcome.to_string()),
            why: "it did not connect".to_string(),
            at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn an_empty_outcome_is_as_severe_as_the_word_it_is_taken_for() {
        let better = observe_witness(&Rules::default(), "box-3", &verdict(""));
        assert_eq!(better.key().as_str(), "core.node-engine.box-3.rolled-back");
        assert_eq!(better.severity, Severity::Urgent);

        let recorded = observe_witness(&Rules::reference(), "box-3", &verdict(""));
        assert_eq!(recorded.severity, Severity::Warning);
    }

    #[test]
    fn an_unknown_outcome_is_said() {
        let better = observe_witness(&Rules::default(), "box-3", &verdict("puzzled"));
        assert_eq!(better.summary.code, "outcome_said");
        assert!(better.summary.text.ends_with("its witness says \"puzzled\""));

        let recorded = observe_witness(&Rules::reference(), "box-3", &verdict("puzzled"));
        assert_eq!(recorded.summary.code, "unsaid");
    }

    #[test]
    fn an_outcome_comes_back_as_it_was_reported() {
        for word in [
            "rolled-back",
            "not-reversible",
            "nothing-to-restore",
            "restore-failed",
            "unwitnessed",
            "halted",
            "",
            "puzzled",
        ] {
            assert_eq!(String::from(Outcome::from(word.to_string())), word);
        }
    }
}
