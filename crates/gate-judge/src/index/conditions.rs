//! The open conditions on one machine, by the parts of what they name.

use super::ModuleId;
use crate::facts::Condition;
use crate::rules::MachineInId;
use alloc::vec::Vec;

/// The scope of a condition about a machine itself.
const MACHINE_SCOPE: &str = "machine";

/// The conditions on one machine, each once.
#[derive(Debug, Default)]
pub(crate) struct MachineConditions<'f> {
    /// Those about the machine itself, in the facts' order.
    about_machine: Vec<OnMachine<'f>>,
    /// The others by the parts of their ids, then in the facts' order.
    about_others: Vec<(ModuleId, OnMachine<'f>)>,
}

/// One condition on one machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnMachine<'f> {
    /// Its place among all that are open.
    pub(crate) place: usize,
    pub(crate) condition: &'f Condition,
    pub(super) seen: Seen,
}

/// What says that a condition is on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    BySubject,
    ByPartOfId,
}

/// The machines that a condition is on, by what says so. One may come more than once.
pub(super) fn machines_of(condition: &Condition) -> impl Iterator<Item = (&str, Seen)> {
    let subject = &condition.subject;
    let named = core::iter::once(&subject.machine).chain(&subject.also);
    let itself = is_about_machine(condition).then_some(&subject.id);
    let parts = subject.machine.is_empty().then(|| subject.id.split('.')).into_iter().flatten();
    let by_subject = named.chain(itself).map(|machine| (machine.as_str(), Seen::BySubject));
    by_subject.chain(parts.map(|machine| (machine, Seen::ByPartOfId)))
}

impl<'f> MachineConditions<'f> {
    pub(super) fn add(&mut self, on: OnMachine<'f>, parts: &[ModuleId]) {
        if is_about_machine(on.condition) {
            self.about_machine.push(on);
        } else {
            self.about_others.extend(parts.iter().map(|part| (*part, on)));
        }
    }

    /// Puts them in order, once all were added: a condition comes once, by its subject rather than
    /// by its id.
    pub(super) fn order(&mut self) {
        self.about_machine.sort_by_key(|on| (on.place, on.seen));
        self.about_machine.dedup_by_key(|on| on.place);
        self.about_others.sort_by_key(|(part, on)| (*part, on.place, on.seen));
        self.about_others.dedup_by_key(|(part, on)| (*part, on.place));
    }

    /// Those about the machine itself, in the facts' order.
    pub(crate) fn about_machine(&self) -> &[OnMachine<'f>] {
        &self.about_machine
    }

    /// Those of any other scope that name a module, in the facts' order.
    pub(crate) fn naming(&self, module: Option<ModuleId>) -> impl Iterator<Item = &OnMachine<'f>> {
        let start = self.about_others.partition_point(|(part, _)| Some(*part) < module);
        let rest = &self.about_others[start..];
        rest.iter().take_while(move |(part, _)| Some(*part) == module).map(|(_, on)| on)
    }
}

impl OnMachine<'_> {
    /// Whether it is on the machine, as far as the rules see.
    pub(crate) fn is_seen(&self, rule: MachineInId) -> bool {
        match (self.seen, rule) {
            (Seen::BySubject, _) | (Seen::ByPartOfId, MachineInId::Seen) => true,
            (Seen::ByPartOfId, MachineInId::NotSeen) => false,
        }
    }
}

fn is_about_machine(condition: &Condition) -> bool {
    condition.subject.scope == MACHINE_SCOPE
}
