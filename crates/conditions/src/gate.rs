//! What a gate that did not pass is made into: put back, being put back, or not put back.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::observation::{Observation, Resolver, Severity, Subject, Summary};
use crate::rules::Rules;
use crate::words::{Kind, Scope, Source};

/// How a gate ended that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The build was found broken, or still wanting at the bound.
    Failed,
    /// Nothing but silence until the bound: no build is condemned for it.
    CannotTell,
}

/// How the rollback after a gate stands: the word that is kept with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Rollback {
    /// Decided, and perhaps sent; how it ends is not known yet.
    RollingBack,
    /// The previous build was put back.
    RolledBack,
    /// The previous build was not put back.
    NotRolledBack,
    /// The send had not changed the module, so there was nothing to put back.
    Unchanged,
    /// A word of another version; the empty one too.
    Other(String),
}

impl Rollback {
    /// The word that is kept.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::RollingBack => "rolling-back",
            Self::RolledBack => "rolled-back",
            Self::NotRolledBack => "not-rolled-back",
            Self::Unchanged => "unchanged",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for Rollback {
    fn from(word: String) -> Self {
        match word.as_str() {
            "rolling-back" => Self::RollingBack,
            "rolled-back" => Self::RolledBack,
            "not-rolled-back" => Self::NotRolledBack,
            "unchanged" => Self::Unchanged,
            _ => Self::Other(word),
        }
    }
}

impl From<Rollback> for String {
    fn from(rollback: Rollback) -> Self {
        match rollback {
            Rollback::Other(word) => word,
            Rollback::RollingBack
            | Rollback::RolledBack
            | Rollback::NotRolledBack
            | Rollback::Unchanged => rollback.as_str().to_string(),
        }
    }
}

/// A gate that did not pass, and how its rollback stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGate {
    /// The module that was judged.
    pub module: String,
    /// The core component that the module is; `None` for any other.
    pub component: Option<String>,
    /// The machines that it was judged on, in the gate's order.
    pub machines: Vec<String>,
    /// How the gate ended.
    pub end: End,
    /// How the rollback stands.
    pub rollback: Rollback,
    /// Why the gate ended so.
    pub why: String,
    /// Why it was not put back, where that is known.
    pub not_why: Option<String>,
    /// The commit that was judged.
    pub failed: Option<String>,
    /// The commit that ran there before.
    pub previous: Option<String>,
    /// The commands that put it right, where a person has to give one.
    pub resolve: Vec<String>,
}

/// The observation of a gate that did not pass; `None` where the rules say that there is none.
///
/// Urgent for a core component and for what was not put back; a warning for a module that runs what
/// it ran before.
#[must_use]
pub fn observe_gate(rules: &Rules, gate: &FailedGate) -> Option<Observation> {
    if gate.machines.is_empty() && rules.no_machines_says_nothing {
        return None;
    }
    let standing = standing(rules, &gate.rollback)?;
    let (scope, name, severity) = match &gate.component {
        Some(component) => (Scope::CORE, component, Severity::Urgent),
        None => (Scope::BUILD, &gate.module, Severity::Warning),
    };
    let (kind, severity, resolver) = match standing {
        Standing::Done => (Kind::ROLLED_BACK, severity, Resolver::System),
        Standing::UnderWay => (Kind::ROLLING_BACK, severity, Resolver::System),
        Standing::Failed => (Kind::ROLLBACK_FAILED, Severity::Urgent, Resolver::Operator),
    };
    Some(Observation {
        subject: Subject {
            scope,
            id: format!("{name}.{}", gate.machines.join(",")),
            machine: gate.machines.first().cloned(),
            also: gate.machines.iter().skip(1).cloned().collect(),
        },
        token: kind.as_str().to_string(),
        kind,
        severity,
        source: Some(Source::GATE),
        resolver,
        summary: summary(standing, gate),
        show: "controller gates".to_string(),
        resolve: gate.resolve.clone(),
    })
}

#[derive(Clone, Copy)]
enum Standing {
    Done,
    UnderWay,
    Failed,
}

fn standing(rules: &Rules, rollback: &Rollback) -> Option<Standing> {
    match rollback {
        Rollback::RolledBack => Some(Standing::Done),
        Rollback::RollingBack if rules.rolling_back_has_its_own_kind => Some(Standing::UnderWay),
        Rollback::RollingBack => Some(Standing::Done),
        Rollback::Unchanged if rules.unchanged_says_nothing => None,
        Rollback::NotRolledBack | Rollback::Unchanged | Rollback::Other(_) => {
            Some(Standing::Failed)
        }
    }
}

fn summary(standing: Standing, gate: &FailedGate) -> Summary {
    let FailedGate { module, why, .. } = gate;
    let machines = gate.machines.join(", ");
    let failed = gate.failed.as_deref().unwrap_or("an unknown build");
    let previous = gate.previous.as_deref().unwrap_or("the build before it");
    let ended = match gate.end {
        End::Failed => "failed its gate",
        End::CannotTell => "could not be judged",
    };
    let (code, what) = match (standing, &gate.not_why) {
        (Standing::Done, _) => ("put_back", format!("{previous} was put back")),
        (Standing::UnderWay, _) => ("being_put_back", format!("{previous} is being put back")),
        (Standing::Failed, Some(not_why)) => {
            ("not_put_back", format!("{previous} was not put back: {not_why}"))
        }
        (Standing::Failed, None) => {
            ("not_put_back_unexplained", format!("{previous} was not put back"))
        }
    };
    Summary {
        code: Cow::Borrowed(code),
        text: format!("{module} {failed} {ended} on {machines} ({why}); {what}"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec;

    use super::*;

    fn gate(rollback: Rollback) -> FailedGate {
        FailedGate {
            module: "blog".to_string(),
            component: None,
            machines: vec!["box-3".to_string()],
            end: End::Failed,
            rollback,
            why: "web is unhealthy".to_string(),
            not_why: None,
            failed: Some("c2".to_string()),
            previous: Some("c1".to_string()),
            resolve: Vec::new(),
        }
    }

    #[test]
    fn a_rollback_under_way_is_never_said_as_put_back() {
        let gate = gate(Rollback::RollingBack);
        let better = observe_gate(&Rules::default(), &gate).unwrap();
        assert_eq!(better.kind, Kind::ROLLING_BACK);
        assert_eq!(better.key().as_str(), "build.blog.box-3.rolling-back");
        assert_eq!(better.summary.code, "being_put_back");
        assert_eq!(
            better.summary.text,
            "blog c2 failed its gate on box-3 (web is unhealthy); c1 is being put back"
        );

        let recorded = observe_gate(&Rules::reference(), &gate).unwrap();
        assert_eq!(recorded.summary.code, "put_back");
    }

    #[test]
    fn a_gate_without_machines_says_nothing() {
        let gate = FailedGate { machines: Vec::new(), ..gate(Rollback::RolledBack) };
        assert_eq!(observe_gate(&Rules::default(), &gate), None);
        let recorded = observe_gate(&Rules::reference(), &gate).unwrap();
        assert_eq!(recorded.key().as_str(), "build.blog..rolled-back");
    }

    #[test]
    fn a_module_that_did_not_change_says_nothing() {
        let gate = gate(Rollback::Unchanged);
        assert_eq!(observe_gate(&Rules::default(), &gate), None);
        let recorded = observe_gate(&Rules::reference(), &gate).unwrap();
        assert_eq!(recorded.kind, Kind::ROLLBACK_FAILED);
    }

    #[test]
    fn what_was_not_put_back_is_urgent_and_waits_for_a_person() {
        let gate = FailedGate {
            not_why: Some("box-3 holds it".to_string()),
            resolve: vec!["controller rollback blog@B1".to_string()],
            ..gate(Rollback::NotRolledBack)
        };
        let observation = observe_gate(&Rules::default(), &gate).unwrap();
        assert_eq!(observation.severity, Severity::Urgent);
        assert_eq!(observation.resolver, Resolver::Operator);
        assert_eq!(observation.resolve, ["controller rollback blog@B1"]);
        assert!(observation.summary.text.ends_with("c1 was not put back: box-3 holds it"));
    }

    #[test]
    fn a_build_that_could_not_be_judged_is_not_said_to_have_failed() {
        let gate = FailedGate { end: End::CannotTell, ..gate(Rollback::RolledBack) };
        let text = observe_gate(&Rules::default(), &gate).unwrap().summary.text;
        assert!(text.starts_with("blog c2 could not be judged on box-3"), "{text}");
    }

    #[test]
    fn a_rollback_word_comes_back_as_it_was_kept() {
        for word in ["rolling-back", "rolled-back", "not-rolled-back", "unchanged", "", "puzzled"] {
            assert_eq!(String::from(Rollback::from(word.to_string())), word);
        }
    }
}
