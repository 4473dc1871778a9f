//! The open conditions, by the machines they are on and the parts of what they name.

use crate::facts::{Condition, Conditions};
use crate::rules::MachineInId;
use alloc::vec::Vec;
use hashbrown::HashMap;

/// The scope of a condition about a machine itself.
const MACHINE_SCOPE: &str = "machine";

/// The open conditions, indexed.
#[derive(Debug)]
pub(crate) enum ConditionIndex<'f> {
    NotJudged,
    Unreadable,
    Open(HashMap<&'f str, MachineConditions<'f>>),
}

/// The conditions on one machine, each list in the facts' order.
#[derive(Debug, Default)]
pub(crate) struct MachineConditions<'f> {
    about_machine: Vec<OnMachine<'f>>,
    about_others: HashMap<&'f str, Vec<OnMachine<'f>>>,
}

/// One condition on one machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnMachine<'f> {
    /// Its place among all that are open.
    pub(crate) place: usize,
    pub(crate) condition: &'f Condition,
    seen: Seen,
}

/// What says that a condition is on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    BySubject,
    ByPartOfId,
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

impl<'f> ConditionIndex<'f> {
    pub(crate) fn new(conditions: &'f Conditions) -> Self {
        let open = match conditions {
            Conditions::NotJudged => return Self::NotJudged,
            Conditions::Unreadable(_) => return Self::Unreadable,
            Conditions::Open(open) => open,
        };
        let mut machines: HashMap<&str, MachineConditions<'_>> = HashMap::new();
        for (place, condition) in open.iter().enumerate() {
            let subject = &condition.subject;
            let mut put = |machine: &'f str, seen| {
                let on = OnMachine { place, condition, seen };
                machines.entry(machine).or_default().put(on);
            };
            put(&subject.machine, Seen::BySubject);
            for machine in &subject.also {
                put(machine, Seen::BySubject);
            }
            if is_about_machine(condition) {
                put(&subject.id, Seen::BySubject);
            }
            if subject.machine.is_empty() {
                for part in subject.id.split('.') {
                    put(part, Seen::ByPartOfId);
                }
            }
        }
        Self::Open(machines)
    }

    /// The conditions on a machine; `None` when none is, or none is known.
    pub(crate) fn on(&self, machine: &str) -> Option<&MachineConditions<'f>> {
        match self {
            Self::NotJudged | Self::Unreadable => None,
            Self::Open(machines) => machines.get(machine),
        }
    }
}

impl<'f> MachineConditions<'f> {
    fn put(&mut self, on: OnMachine<'f>) {
        if is_about_machine(on.condition) {
            put_once(&mut self.about_machine, on);
            return;
        }
        for part in on.condition.subject.id.split('.') {
            put_once(self.about_others.entry(part).or_default(), on);
        }
    }

    /// Those about the machine itself.
    pub(crate) fn about_machine(&self) -> &[OnMachine<'f>] {
        &self.about_machine
    }

    /// Those of any other scope whose id has this part.
    pub(crate) fn naming(&self, part: &str) -> &[OnMachine<'f>] {
        self.about_others.get(part).map_or(&[], Vec::as_slice)
    }
}

/// A condition comes once, by what shows it first: its subject is looked at before its id.
fn put_once<'f>(into: &mut Vec<OnMachine<'f>>, on: OnMachine<'f>) {
    if into.last().is_none_or(|last| last.place != on.place) {
        into.push(on);
    }
}

fn is_about_machine(condition: &Condition) -> bool {
    condition.subject.scope == MACHINE_SCOPE
}
