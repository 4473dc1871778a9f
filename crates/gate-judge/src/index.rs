//! The facts, indexed once, so that judging one module on one machine looks at nothing else.

mod conditions;
mod modules;

pub(crate) use conditions::{MachineConditions, OnMachine};
pub(crate) use modules::{ModuleFacts, ModuleId};

use crate::facts::{
    Baseline, Condition, Conditions, Facts, Holder, Report, Resource, Served, Statement,
    Unreadable, WitnessVerdict,
};
use crate::places::Places;
use alloc::vec::Vec;
use core::ops::Range;
use modules::ModuleIndex;

/// The facts of one judging, ready to be looked up by machine and module.
///
/// Making it costs time linear in the facts; looking up costs nothing that grows with what is
/// known about other machines or modules.
#[derive(Debug)]
pub struct FactsIndex<'f> {
    facts: &'f Facts,
    names: Places<'f>,
    machines: Vec<MachineFacts<'f>>,
    modules: ModuleIndex<'f>,
    /// A machine nobody heard of.
    unheard: MachineFacts<'f>,
}

/// What is known of one machine. The default is that nothing is.
#[derive(Debug, Default)]
pub(crate) struct MachineFacts<'f> {
    pub(crate) report: Option<&'f Report>,
    pub(crate) engine: Option<&'f str>,
    pub(crate) served: Option<&'f Served>,
    pub(crate) verdicts: &'f [WitnessVerdict],
    pub(crate) statement: Option<&'f Statement>,
    pub(crate) baseline: Option<&'f Baseline>,
    pub(crate) conditions: MachineConditions<'f>,
    /// Where the facts about its modules lie.
    modules: Range<usize>,
}

impl Facts {
    /// Indexes the facts, to be judged by.
    #[must_use]
    pub fn index(&self) -> FactsIndex<'_> {
        let mut index = FactsIndex {
            facts: self,
            names: Places::default(),
            machines: Vec::with_capacity(self.reports.len()),
            modules: ModuleIndex::default(),
            unheard: MachineFacts::default(),
        };
        for (machine, report) in &self.reports {
            index.known(machine).report = Some(report);
        }
        for (machine, engine) in &self.engines {
            index.known(machine).engine = Some(engine);
        }
        for (machine, served) in self.served.iter().flatten() {
            index.known(machine).served = Some(served);
        }
        for (machine, verdicts) in &self.rolled_back {
            index.known(machine).verdicts = verdicts;
        }
        for (machine, statement) in self.statements.iter().flatten() {
            index.known(machine).statement = Some(statement);
        }
        for (machine, baseline) in &self.baseline {
            index.known(machine).baseline = Some(baseline);
        }
        if let Conditions::Open(open) = &self.conditions {
            for (place, condition) in open.iter().enumerate() {
                index.add_condition(place, condition);
            }
        }
        for machine in &mut index.machines {
            machine.conditions.order();
            machine.modules = index.modules.add(machine.report, machine.served, machine.statement);
        }
        index
    }
}

impl<'f> FactsIndex<'f> {
    /// The place to put what is known of a machine.
    fn known(&mut self, name: &'f str) -> &mut MachineFacts<'f> {
        let place = self.names.put(name);
        if place == self.machines.len() {
            self.machines.push(MachineFacts::default());
        }
        &mut self.machines[place]
    }

    fn add_condition(&mut self, place: usize, condition: &'f Condition) {
        let parts: Vec<_> =
            condition.subject.id.split('.').map(|part| self.modules.id_of(part)).collect();
        for (machine, seen) in conditions::machines_of(condition) {
            let on = OnMachine { place, condition, seen };
            self.known(machine).conditions.add(on, &parts);
        }
    }

    /// What is known of a machine.
    pub(crate) fn machine(&self, name: &str) -> &MachineFacts<'f> {
        self.names.get(name).map_or(&self.unheard, |place| &self.machines[place])
    }

    /// How a module is looked up on any machine; `None` when nothing names it.
    pub(crate) fn module(&self, name: &str) -> Option<ModuleId> {
        self.modules.id(name)
    }

    /// What a machine says of a module.
    pub(crate) fn on(
        &self,
        machine: &MachineFacts<'f>,
        module: Option<ModuleId>,
    ) -> ModuleFacts<'f> {
        self.modules.get(machine.modules.clone(), module)
    }

    /// The resources of a module that a machine's statement names.
    pub(crate) fn resources(&self, known: &ModuleFacts<'f>) -> &[&'f Resource] {
        self.modules.resources(known)
    }

    /// Whether the open conditions were asked for and could not be read.
    pub(crate) fn conditions_unreadable(&self) -> bool {
        matches!(self.facts.conditions, Conditions::Unreadable(_))
    }

    /// Whether discovery could not be read.
    pub(crate) fn served_unreadable(&self) -> bool {
        self.facts.served.is_err()
    }

    /// Whether statements could not be read.
    pub(crate) fn statements_unreadable(&self) -> bool {
        self.facts.statements.is_err()
    }

    /// Who holds the lease.
    pub(crate) fn lease(&self) -> Result<Option<&'f Holder>, &'f Unreadable> {
        self.facts.lease.as_ref().map(Option::as_ref)
    }
}
