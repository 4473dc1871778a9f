//! A world to handle failures in: a store that keeps what it is told, machines that report.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use conditions::{End, Observation, Rollback};
use controller_core::failure::{
    Answer, Awaited, Ended, FailedBuild, FailedModule, Gate, Handling, KeptVerdict, Likeness, Need,
    NotAsked, PreviousBuild, Recorded, Report, Reported, RollbackEvent, RollbackRecord, Rules,
    Sent, Target, VerdictRecord, Wrote,
};

pub(crate) const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;
/// More answers than any handling here needs.
pub(crate) const MANY: usize = 100;
pub(crate) const ROLLBACK_ID: &str = "rollback-1";

/// How the world behaves towards one module, every time that it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) source: Likeness,
    pub(crate) artifacts: Likeness,
    pub(crate) failed_build: FailedBuild,
    pub(crate) previous_build: PreviousBuild,
    pub(crate) record: Wrote,
    pub(crate) restore: Wrote,
    pub(crate) save: Wrote,
    pub(crate) set_rollback: Wrote,
    /// What each machine reports; one that is not here stays silent.
    pub(crate) reports: BTreeMap<String, Reported>,
}

/// All that was written, sent and said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Recorded { module: String, target: Option<Target>, landed: Wrote },
    Restored { module: String, target: Target, landed: Wrote },
    Saved { module: String, landed: Wrote },
    Sent { machines: Vec<String>, modules: Vec<(String, Target, String)> },
    Set { module: String, rollback: Rollback, not_back: Option<String> },
    Raised { module: String, observation: Box<Observation> },
    Published(Box<RollbackEvent>),
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) scripts: BTreeMap<String, Script>,
    /// The machines that take no declaration; all of them when the send is refused as a whole.
    pub(crate) unreachable: BTreeSet<String>,
    pub(crate) send_refused: bool,
    /// By build.
    pub(crate) verdicts: BTreeMap<String, KeptVerdict>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) last_declaration: u64,
}

/// A module whose world works, on these machines, all of which take the previous build again.
pub(crate) fn works(machines: &[&str]) -> Script {
    Script {
        source: Likeness::Different,
        artifacts: Likeness::Different,
        failed_build: FailedBuild::Found,
        previous_build: PreviousBuild::Found("B1".to_owned()),
        record: Wrote::Landed,
        restore: Wrote::Landed,
        save: Wrote::Landed,
        set_rollback: Wrote::Landed,
        reports: machines.iter().map(|name| ((*name).to_owned(), Reported::Applied)).collect(),
    }
}

/// A module that failed its gate on these machines.
pub(crate) fn failed(module: &str, machines: &[&str]) -> FailedModule {
    let ended = Ended { end: End::Failed, why: "web is unhealthy".to_owned() };
    FailedModule {
        module: module.to_owned(),
        component: None,
        build: Some(format!("{module}-B2")),
        commit: Some("c2".to_owned()),
        previous: Some("c1".to_owned()),
        first_sent: Some(NOW),
        gate: Some(Gate {
            component: None,
            machines: machines.iter().map(|name| (*name).to_owned()).collect(),
            from: Some("c1".to_owned()),
            to: Some("c2".to_owned()),
            since: Some(NOW),
            ended: Some(ended.clone()),
        }),
        machines: Vec::new(),
        ended,
    }
}

pub(crate) fn target() -> Target {
    Target { build: "B1".to_owned(), commit: "c1".to_owned() }
}

pub(crate) fn kept(rollback: Rollback, rollback_id: &str) -> KeptVerdict {
    KeptVerdict {
        rollback,
        rollback_id: Some(rollback_id.to_owned()),
        target: Some(target()),
        not_back: None,
    }
}

impl World {
    pub(crate) fn new<'a>(scripts: impl IntoIterator<Item = (&'a str, Script)>) -> Self {
        Self {
            scripts: scripts
                .into_iter()
                .map(|(module, script)| (module.to_owned(), script))
                .collect(),
            unreachable: BTreeSet::new(),
            send_refused: false,
            verdicts: BTreeMap::new(),
            effects: Vec::new(),
            last_declaration: 0,
        }
    }

    /// Answers what a handling needs until it needs nothing more.
    pub(crate) fn finish(&mut self, handling: &mut Handling) -> Result<(), NotAsked> {
        for _ in 0..MANY {
            let Some(answer) = self.answer(&handling.need()) else { return Ok(()) };
            handling.answer(NOW, answer)?;
        }
        assert_eq!(handling.need(), Need::Done, "it does not end");
        Ok(())
    }

    /// Handles these failures by Bellwether's rules, to the end.
    pub(crate) fn handle(&mut self, failures: Vec<FailedModule>) -> Result<Handling, NotAsked> {
        let mut handling = Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures);
        self.finish(&mut handling)?;
        Ok(handling)
    }

    /// Does what is needed, and answers; `None` when nothing is.
    pub(crate) fn answer(&mut self, need: &Need<'_>) -> Option<Answer> {
        Some(match need {
            Need::SourceFingerprints { module, .. } => {
                Answer::SourceFingerprints(self.scripts[*module].source)
            }
            Need::ArtifactFingerprints { module, .. } => {
                Answer::ArtifactFingerprints(self.scripts[*module].artifacts)
            }
            Need::FailedBuild { module, .. } => {
                Answer::FailedBuild(self.scripts[*module].failed_build)
            }
            Need::PreviousBuild { module, .. } => {
                Answer::PreviousBuild(self.scripts[*module].previous_build.clone())
            }
            Need::RecordVerdict(record) => Answer::Verdict(self.record(record)),
            Need::KeptVerdict { build, .. } => {
                Answer::KeptVerdict(self.verdicts.get(*build).cloned())
            }
            Need::RestoreModule { module, target } => {
                let landed = self.scripts[*module].restore;
                let (module, target) = ((*module).to_owned(), (*target).clone());
                self.effects.push(Effect::Restored { module, target, landed });
                Answer::ModuleRestored(landed)
            }
            Need::SavePlan { module, .. } => {
                let landed = self.scripts[*module].save;
                self.effects.push(Effect::Saved { module: (*module).to_owned(), landed });
                Answer::PlanSaved(landed)
            }
            Need::Send { machines, modules } => {
                let modules = modules.iter().map(|back| {
                    (back.module.to_owned(), back.target.clone(), back.rollback_id.to_owned())
                });
                let effect = Effect::Sent {
                    machines: machines.iter().map(|machine| (*machine).to_owned()).collect(),
                    modules: modules.collect(),
                };
                self.effects.push(effect);
                Answer::Sent(self.send(machines))
            }
            Need::Reports { awaited } => self.reports(awaited),
            Need::SetRollback(record) => Answer::RollbackSet(self.set_rollback(record)),
            Need::RaiseCondition { module, observation } => {
                let observation = Box::new((*observation).clone());
                self.effects.push(Effect::Raised { module: (*module).to_owned(), observation });
                Answer::ConditionRaised
            }
            Need::PublishEvent(event) => {
                self.effects.push(Effect::Published(event.clone()));
                Answer::EventPublished
            }
            Need::Done => return None,
        })
    }

    fn record(&mut self, record: &VerdictRecord<'_>) -> Recorded {
        let landed = self.scripts[record.module].record;
        let target = record.target.cloned();
        let effect =
            Effect::Recorded { module: record.module.to_owned(), target: target.clone(), landed };
        self.effects.push(effect);
        match landed {
            Wrote::Failed => Recorded::Failed,
            Wrote::Landed if self.verdicts.contains_key(record.build) => Recorded::KeptAlready,
            Wrote::Landed => {
                let kept = KeptVerdict {
                    rollback: record.rollback.clone(),
                    rollback_id: Some(record.rollback_id.to_owned()),
                    target,
                    not_back: None,
                };
                self.verdicts.insert(record.build.to_owned(), kept);
                Recorded::Kept
            }
        }
    }

    fn set_rollback(&mut self, record: &RollbackRecord<'_>) -> Wrote {
        self.effects.push(Effect::Set {
            module: record.module.to_owned(),
            rollback: record.rollback.clone(),
            not_back: record.not_back.map(|not_back| not_back.code().to_owned()),
        });
        let landed = self.scripts[record.module].set_rollback;
        if let (Wrote::Landed, Some(kept)) = (landed, self.verdicts.get_mut(record.build)) {
            kept.rollback = record.rollback.clone();
            kept.not_back = record.not_back.cloned();
        }
        landed
    }

    fn send(&mut self, machines: &[&str]) -> Sent {
        if self.send_refused {
            return Sent::Refused;
        }
        self.last_declaration += 1;
        let takes = machines.iter().filter(|machine| !self.unreachable.contains(**machine));
        Sent::Accepted(takes.map(|name| ((*name).to_owned(), self.last_declaration)).collect())
    }

    fn reports(&self, awaited: &[Awaited<'_>]) -> Answer {
        let reports: Vec<Report> = awaited
            .iter()
            .filter_map(|awaited| {
                let outcome = self.scripts[awaited.module].reports.get(awaited.machine)?.clone();
                Some(report(awaited.module, awaited.machine, awaited.declaration, outcome))
            })
            .collect();
        if reports.is_empty() { Answer::ReportsEnded } else { Answer::Reports(reports) }
    }

    pub(crate) fn sends(&self) -> usize {
        self.effects.iter().filter(|effect| matches!(effect, Effect::Sent { .. })).count()
    }

    pub(crate) fn events(&self) -> Vec<&RollbackEvent> {
        self.effects
            .iter()
            .filter_map(|effect| {
                let Effect::Published(event) = effect else { return None };
                Some(event.as_ref())
            })
            .collect()
    }

    pub(crate) fn conditions(&self) -> Vec<&Observation> {
        self.effects
            .iter()
            .filter_map(|effect| {
                let Effect::Raised { observation, .. } = effect else { return None };
                Some(observation.as_ref())
            })
            .collect()
    }

    /// The codes of why it was not put back, as the events say them.
    pub(crate) fn not_back(&self) -> Vec<&str> {
        self.events().into_iter().filter_map(|event| event.not_back.as_deref()).collect()
    }
}

pub(crate) fn report(module: &str, machine: &str, number: u64, outcome: Reported) -> Report {
    Report { machine: machine.to_owned(), module: module.to_owned(), declaration: number, outcome }
}
