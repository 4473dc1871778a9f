//! What was sent to put builds back, and what the machines report of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answer::{Refusal, Report, Reported};
use super::case::{Case, Fate, Target};
use super::need::Awaited;
use super::not_back::{NotBack, Stuck, StuckWhy};

/// An accepted send, and the reports on it so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PuttingBack {
    /// Each machine that takes it, with the number of the declaration that carries it.
    declarations: BTreeMap<String, u64>,
    /// By module and machine.
    reports: BTreeMap<String, BTreeMap<String, Report>>,
}

impl PuttingBack {
    pub(super) fn new(declarations: BTreeMap<String, u64>) -> Self {
        Self { declarations, reports: BTreeMap::new() }
    }

    /// The number of the declaration that carries it to a machine; none where the machine was not sent it.
    pub(super) fn declaration(&self, machine: &str) -> Option<u64> {
        self.declarations.get(machine).copied()
    }

    /// Keeps the reports that are about this send or a later one; the latest declaration's counts,
    /// and of two on the same the one that came last.
    pub(super) fn take(&mut self, reports: Vec<Report>) {
        for report in reports {
            let sent = self.declarations.get(&report.machine);
            if sent.is_none_or(|sent| report.declaration < *sent) {
                continue;
            }
            let of_module = self.reports.entry(report.module.clone()).or_default();
            let kept = of_module.get(&report.machine);
            if kept.is_none_or(|kept| kept.declaration <= report.declaration) {
                of_module.insert(report.machine.clone(), report);
            }
        }
    }

    /// The reports that are still missing.
    pub(super) fn awaited<'a>(&'a self, cases: &'a [Case]) -> Vec<Awaited<'a>> {
        let waiting = cases.iter().filter(|case| matches!(case.fate, Fate::RollingBack(_)));
        waiting.flat_map(|case| self.awaited_of(case)).collect()
    }

    fn awaited_of<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = Awaited<'a>> {
        let missing =
            case.gate.machines.iter().filter(|machine| self.report(case, machine).is_none());
        missing.filter_map(|machine| {
            let declaration = *self.declarations.get(machine)?;
            Some(Awaited { module: &case.module, machine, declaration })
        })
    }

    fn report(&self, case: &Case, machine: &str) -> Option<&Report> {
        self.reports.get(&case.module)?.get(machine)
    }

    /// Put back only where every machine reported that it applied.
    pub(super) fn fate(&self, case: &Case, target: &Target) -> Fate {
        let mut back = Vec::new();
        let mut stuck = Vec::new();
        for machine in &case.gate.machines {
            match self.stuck(case, machine) {
                None => back.push(machine.clone()),
                Some(why) => stuck.push(Stuck { machine: machine.clone(), why }),
            }
        }
        if stuck.is_empty() {
            return Fate::PutBack;
        }
        Fate::NotBack(NotBack::Machines { target: target.clone(), back, stuck })
    }

    /// Why a machine does not run the previous build again; `None` when it does.
    fn stuck(&self, case: &Case, machine: &str) -> Option<StuckWhy> {
        let Some(report) = self.report(case, machine) else {
            let was_sent = self.declarations.contains_key(machine);
            return Some(if was_sent { StuckWhy::Silent } else { StuckWhy::NotSent });
        };
        match &report.outcome {
            Reported::Applied => None,
            Reported::Failed { why } => Some(StuckWhy::Failed { why: why.clone() }),
            Reported::Refused(Refusal::Held { instances }) => {
                Some(StuckWhy::Held { instances: instances.clone() })
            }
            Reported::Refused(Refusal::Rule { rule }) => {
                Some(StuckWhy::Refused { rule: rule.clone() })
            }
            Reported::Other { said } => Some(StuckWhy::Other { said: said.clone() }),
        }
    }
}
