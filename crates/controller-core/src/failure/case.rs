//! One module whose wave did not pass, and what has become of it so far.

use chrono::{DateTime, Utc};
use conditions::{End, FailedGate, Observation, Rollback, observe_gate};
use serde::{Deserialize, Serialize};

use super::event::RollbackEvent;
use super::need::{RollbackRecord, VerdictRecord};
use super::not_back::NotBack;
use super::rules::Rules;

/// A module that was wanting when its wave stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedModule {
    /// The module.
    pub module: String,
    /// The core component that it is; `None` for any other.
    pub component: Option<String>,
    /// The build that was sent, where the plan knows it.
    pub build: Option<String>,
    /// The commit that was sent.
    pub commit: Option<String>,
    /// The commit that ran there before.
    pub previous: Option<String>,
    /// When it was first sent.
    pub first_sent: Option<DateTime<Utc>>,
    /// Its gate; `None` when none was opened.
    pub gate: Option<Gate>,
    /// The machines that it was sent to, for a gate that names none.
    pub machines: Vec<String>,
    /// How it ended, for a gate that has no end.
    pub ended: Ended,
}

/// A gate as it was when its wave stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The core component that was judged.
    pub component: Option<String>,
    /// The machines that it was judged on.
    pub machines: Vec<String>,
    /// The commit that ran before.
    pub from: Option<String>,
    /// The commit that was judged.
    pub to: Option<String>,
    /// When it was sent.
    pub since: Option<DateTime<Utc>>,
    /// How it ended, once it did.
    pub ended: Option<Ended>,
}

/// How a gate ended that did not pass, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub end: End,
    /// Why.
    pub why: String,
}

/// A gate that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedGate {
    /// The core component that was judged.
    pub component: Option<String>,
    /// The machines that it was judged on.
    pub machines: Vec<String>,
    /// The commit that ran before.
    pub from: Option<String>,
    /// The commit that was judged.
    pub to: Option<String>,
    /// When it was sent; `None` where nobody kept it.
    pub since: Option<DateTime<Utc>>,
    /// How it ended.
    pub ended: Ended,
}

/// The build to put back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// Its id.
    pub build: String,
    /// Its commit.
    pub commit: String,
}

/// What became of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handled {
    /// The module.
    pub module: String,
    /// The gate, ended.
    pub gate: JudgedGate,
    /// How the rollback stands; `None` while that is open, and where a kept verdict was not found.
    pub rollback: Option<Rollback>,
    /// Why it was not put back.
    pub not_back: Option<NotBack>,
    /// Whether a verdict stands on the build: kept now, or earlier.
    pub verdict_stands: bool,
    /// What the module's state says.
    pub state: ModuleState,
}

/// What a module's state says after its wave did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModuleState {
    /// It failed its gate.
    FailedItsGate,
    /// It could not be judged.
    CouldNotBeJudged,
    /// It was not changed by its send, and stopped with it.
    StoppedWithItsSend,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Case {
    pub(super) module: String,
    build: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) gate: JudgedGate,
    pub(super) rollback_id: String,
    pub(super) verdict_stands: bool,
    pub(super) fate: Fate,
    /// When the fate was known.
    at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fate {
    /// Not known yet.
    Open,
    /// The send had not changed it.
    Unchanged,
    /// A verdict was kept earlier, and its rollback stood so; there is nothing to do.
    AlreadyMade(Option<Rollback>),
    /// Decided, restored and saved; it goes with the next send, or went and is waited for.
    RollingBack(Target),
    PutBack,
    NotBack(NotBack),
}

impl Case {
    pub(super) fn new(failed: FailedModule, rollback_id: String, now: DateTime<Utc>) -> Self {
        let gate = failed.gate.unwrap_or_else(|| Gate {
            component: failed.component,
            machines: Vec::new(),
            from: failed.previous.clone(),
            to: failed.commit.clone(),
            since: failed.first_sent,
            ended: None,
        });
        let machines = if gate.machines.is_empty() { failed.machines } else { gate.machines };
        let (since, ended) = match gate.ended {
            Some(ended) => (gate.since, ended),
            None => (gate.since.or(Some(now)), failed.ended),
        };
        Self {
            module: failed.module,
            build: failed.build,
            commit: failed.commit,
            previous: failed.previous,
            gate: JudgedGate {
                component: gate.component,
                machines,
                from: gate.from,
                to: gate.to,
                since,
                ended,
            },
            rollback_id,
            verdict_stands: false,
            fate: Fate::Open,
            at: now,
        }
    }

    pub(super) fn settle(&mut self, at: DateTime<Utc>, fate: Fate) {
        self.at = at;
        self.fate = fate;
    }

    pub(super) fn knows_its_build(&self) -> bool {
        self.build.is_some()
    }

    /// The build; the steps that ask for it come after [`Self::knows_its_build`] only.
    pub(super) fn build(&self) -> &str {
        self.build.as_deref().unwrap_or_default()
    }

    /// The commit before it; the steps that ask for it come after it was found to be known only.
    pub(super) fn previous(&self) -> &str {
        self.previous.as_deref().unwrap_or_default()
    }

    pub(super) fn rollback(&self) -> Option<Rollback> {
        match &self.fate {
            Fate::Open => None,
            Fate::Unchanged => Some(Rollback::Unchanged),
            Fate::AlreadyMade(rollback) => rollback.clone(),
            Fate::RollingBack(_) => Some(Rollback::RollingBack),
            Fate::PutBack => Some(Rollback::RolledBack),
            Fate::NotBack(_) => Some(Rollback::NotRolledBack),
        }
    }

    /// What is said of the rollback: as long as no end of it is known, it is under way.
    fn said_rollback(&self) -> Rollback {
        self.rollback().unwrap_or(Rollback::RollingBack)
    }

    fn not_back(&self) -> Option<&NotBack> {
        match &self.fate {
            Fate::NotBack(not_back) => Some(not_back),
            Fate::Open
            | Fate::Unchanged
            | Fate::AlreadyMade(_)
            | Fate::RollingBack(_)
            | Fate::PutBack => None,
        }
    }

    /// Why it was not put back, as far as the rules say it.
    fn said_not_back(&self, rules: &Rules) -> Option<&NotBack> {
        let unsaid = |not_back: &&NotBack| {
            matches!(not_back, NotBack::BuildUnknown | NotBack::VerdictNotKept)
        };
        self.not_back().filter(|not_back| rules.always_says_why || !unsaid(not_back))
    }

    pub(super) fn observation(&self, rules: &Rules) -> Option<Observation> {
        let not_back = self.said_not_back(rules);
        observe_gate(
            &rules.conditions,
            &FailedGate {
                module: self.module.clone(),
                component: self.gate.component.clone(),
                machines: self.gate.machines.clone(),
                end: self.gate.ended.end,
                rollback: self.said_rollback(),
                why: self.gate.ended.why.clone(),
                not_why: not_back.map(NotBack::words),
                failed: self.gate.to.clone(),
                previous: self.gate.from.clone(),
                resolve: not_back
                    .map(|not_back| not_back.resolve(&self.module))
                    .unwrap_or_default(),
            },
        )
    }

    pub(super) fn event(&self, rules: &Rules) -> RollbackEvent {
        let not_back = self.said_not_back(rules);
        RollbackEvent {
            at: self.at,
            rollback_id: self.rollback_id.clone(),
            module: self.module.clone(),
            component: self.gate.component.clone(),
            machines: self.gate.machines.clone(),
            from: self.gate.to.clone(),
            to: self.gate.from.clone(),
            end: self.gate.ended.end,
            why: self.gate.ended.why.clone(),
            rollback: self.said_rollback(),
            not_back: not_back.map(|not_back| not_back.code().to_owned()),
            not_why: not_back.map(NotBack::words),
            key: self.observation(rules).map(|observation| observation.key()),
            show: "controller gates".to_owned(),
        }
    }

    pub(super) fn verdict_record<'a>(
        &'a self,
        aim: Result<&'a Target, &'a NotBack>,
    ) -> VerdictRecord<'a> {
        VerdictRecord {
            module: &self.module,
            build: self.build(),
            commit: self.commit.as_deref(),
            previous: self.previous.as_deref(),
            end: self.gate.ended.end,
            rollback: Rollback::RollingBack,
            rollback_id: &self.rollback_id,
            target: aim.ok(),
            not_back: aim.err(),
            why: &self.gate.ended.why,
            component: self.gate.component.as_deref(),
            machines: &self.gate.machines,
        }
    }

    pub(super) fn rollback_record(&self) -> RollbackRecord<'_> {
        RollbackRecord {
            module: &self.module,
            build: self.build(),
            rollback_id: &self.rollback_id,
            rollback: self.said_rollback(),
            why: &self.gate.ended.why,
            not_back: self.not_back(),
        }
    }

    pub(super) fn handled(&self) -> Handled {
        let state = match (&self.fate, self.gate.ended.end) {
            (Fate::Unchanged, _) => ModuleState::StoppedWithItsSend,
            (_, End::Failed) => ModuleState::FailedItsGate,
            (_, End::CannotTell) => ModuleState::CouldNotBeJudged,
        };
        Handled {
            module: self.module.clone(),
            gate: self.gate.clone(),
            rollback: self.rollback(),
            not_back: self.not_back().cloned(),
            verdict_stands: self.verdict_stands,
            state,
        }
    }
}
