//! The facts, indexed once, so that judging one module on one machine looks at nothing else.

mod conditions;

pub(crate) use conditions::{ConditionIndex, MachineConditions, OnMachine};

use crate::facts::{
    Baseline, Facts, Holder, Report, Resource, Served, Statement, Unreadable, WitnessVerdict,
};
use alloc::vec::Vec;
use core::ops::Range;
use hashbrown::HashMap;

/// The facts of one judging, ready to be looked up by machine and module.
///
/// Making it costs time linear in the facts; looking up costs nothing that grows with what is
/// known about other machines or modules.
#[derive(Debug)]
pub struct FactsIndex<'f> {
    facts: &'f Facts,
    machines: HashMap<&'f str, MachineFacts<'f>>,
    /// Every stated resource: a machine's lie together, ordered by module.
    resources: Vec<&'f Resource>,
    conditions: ConditionIndex<'f>,
}

/// What is known of one machine. The default is a machine nobody heard of.
#[derive(Debug, Clone, Default)]
pub(crate) struct MachineFacts<'f> {
    pub(crate) report: Option<&'f Report>,
    pub(crate) engine: Option<&'f str>,
    pub(crate) served: Option<&'f Served>,
    pub(crate) verdicts: &'f [WitnessVerdict],
    pub(crate) statement: Option<StatementFacts<'f>>,
    pub(crate) baseline: Option<&'f Baseline>,
}

/// A machine's statement, and where its resources lie in the index.
#[derive(Debug, Clone)]
pub(crate) struct StatementFacts<'f> {
    pub(crate) statement: &'f Statement,
    resources: Range<usize>,
}

impl Facts {
    /// Indexes the facts, to be judged by.
    #[must_use]
    pub fn index(&self) -> FactsIndex<'_> {
        let mut machines: HashMap<&str, MachineFacts<'_>> =
            HashMap::with_capacity(self.reports.len());
        for (machine, report) in &self.reports {
            machines.entry(machine).or_default().report = Some(report);
        }
        for (machine, engine) in &self.engines {
            machines.entry(machine).or_default().engine = Some(engine);
        }
        for (machine, served) in self.served.iter().flatten() {
            machines.entry(machine).or_default().served = Some(served);
        }
        for (machine, verdicts) in &self.rolled_back {
            machines.entry(machine).or_default().verdicts = verdicts;
        }
        for (machine, baseline) in &self.baseline {
            machines.entry(machine).or_default().baseline = Some(baseline);
        }
        let mut resources = Vec::new();
        for (machine, statement) in self.statements.iter().flatten() {
            let start = resources.len();
            resources.extend(&statement.resources);
            let own = start..resources.len();
            resources[own.clone()].sort_by(|one, other| one.module.cmp(&other.module));
            machines.entry(machine).or_default().statement =
                Some(StatementFacts { statement, resources: own });
        }
        let conditions = ConditionIndex::new(&self.conditions);
        FactsIndex { facts: self, machines, resources, conditions }
    }
}

impl<'f> FactsIndex<'f> {
    /// What is known of a machine.
    pub(crate) fn machine(&self, name: &str) -> MachineFacts<'f> {
        self.machines.get(name).cloned().unwrap_or_default()
    }

    /// The stated resources of one module, by a machine's statement.
    pub(crate) fn resources(&self, stated: &StatementFacts<'f>, module: &str) -> &[&'f Resource] {
        let own = &self.resources[stated.resources.clone()];
        let start = own.partition_point(|resource| resource.module.as_str() < module);
        let length = own[start..].partition_point(|resource| resource.module == module);
        &own[start..start + length]
    }

    /// The open conditions.
    pub(crate) fn conditions(&self) -> &ConditionIndex<'f> {
        &self.conditions
    }

    /// Whether discovery could be read.
    pub(crate) fn served_unreadable(&self) -> bool {
        self.facts.served.is_err()
    }

    /// Whether statements could be read.
    pub(crate) fn statements_unreadable(&self) -> bool {
        self.facts.statements.is_err()
    }

    /// Who holds the lease.
    pub(crate) fn lease(&self) -> Result<Option<&'f Holder>, &'f Unreadable> {
        self.facts.lease.as_ref().map(Option::as_ref)
    }
}
