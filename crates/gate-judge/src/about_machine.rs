//! What is wrong with a machine is the machine's: its own conditions, sorted before the health of
//! any module is looked at.

use crate::component::{Component, core_component};
use crate::facts::Condition;
use crate::index::{FactsIndex, MachineConditions, OnMachine};
use crate::reason::NotYet;
use crate::rules::{BaselineUse, CoreBehind, Rules};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use chrono::{DateTime, Utc};

/// The source of the gate's own conditions, which are no evidence for it.
pub const GATE_SOURCE: &str = "DG";

const CORE_BEHIND_KIND: &str = "core-behind";
const CORE_BEHIND_KEY: &str = ".core-behind";

/// A machine's own conditions, raised since the send, laid against what was moved there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AboutMachine {
    /// What holds single modules back.
    pub on: BTreeMap<String, NotYet>,
    /// What holds back everything that was moved there.
    pub whole: Option<NotYet>,
    /// Which of the open conditions were sorted here, by their place among all; each other is left
    /// for the health of the modules.
    pub taken: BTreeSet<usize>,
}

/// Sorts the open conditions about a machine, raised since what was `moved` there was sent.
#[must_use]
pub fn about_machine(
    machine: &str,
    moved: &[&str],
    since: DateTime<Utc>,
    facts: &FactsIndex<'_>,
    rules: &Rules,
) -> AboutMachine {
    let known = facts.machine(machine);
    let baseline = known.baseline.map(|before| &before.conditions);
    sort(&known.conditions, moved, &Counting { since, baseline, rules })
}

/// Which conditions on a machine count as evidence there.
#[derive(Clone, Copy)]
pub(crate) struct Counting<'a> {
    pub(crate) since: DateTime<Utc>,
    /// The keys of the conditions that were open before the send.
    pub(crate) baseline: Option<&'a BTreeSet<String>>,
    pub(crate) rules: &'a Rules,
}

impl Counting<'_> {
    pub(crate) fn counts(&self, on: &OnMachine<'_>) -> bool {
        let condition = on.condition;
        on.is_seen(self.rules.machine_in_id)
            && condition.source != GATE_SOURCE
            && condition.raised >= self.since
            && !self.was_open_before(condition)
    }

    fn was_open_before(&self, condition: &Condition) -> bool {
        match self.rules.baseline {
            BaselineUse::Ignored => false,
            BaselineUse::Compared => {
                self.baseline.is_some_and(|before| before.contains(&condition.key))
            }
        }
    }
}

pub(crate) fn sort(
    conditions: &MachineConditions<'_>,
    moved: &[&str],
    counting: &Counting<'_>,
) -> AboutMachine {
    let mut about = AboutMachine::default();
    let moved_core: Vec<&str> =
        moved.iter().copied().filter(|module| can_be_behind(module)).collect();
    for on in conditions.about_machine().iter().filter(|on| counting.counts(on)) {
        about.taken.insert(on.place);
        let condition = on.condition;
        let key = || condition.key.clone();
        let names = |module: &str| condition.subject.id.split('.').any(|part| part == module);
        if moved.iter().any(|module| names(module)) {
            for module in moved.iter().filter(|module| names(module)) {
                lay(&mut about.on, module, || NotYet::ConditionRaised { key: key() });
            }
        } else if is_core_behind(condition) {
            // Of the components that it names none was moved, so it is nobody's.
            let is_anothers = counting.rules.core_behind == CoreBehind::TheNamed
                && Component::ALL.iter().any(|component| names(component.name()));
            for module in moved_core.iter().filter(|_| !is_anothers) {
                lay(&mut about.on, module, || NotYet::CoreBehindSettling { key: key() });
            }
        } else if about.whole.is_none() {
            about.whole = Some(NotYet::MachineAsAWhole { key: key() });
        }
    }
    about
}

/// First come, first kept.
fn lay(on: &mut BTreeMap<String, NotYet>, module: &str, reason: impl FnOnce() -> NotYet) {
    if !on.contains_key(module) {
        on.insert(module.to_owned(), reason());
    }
}

/// The controller is not among them: it is judged by the lease, not by what a machine runs.
fn can_be_behind(module: &str) -> bool {
    matches!(core_component(module), Some(Component::NodeEngine | Component::NodeTools))
}

fn is_core_behind(condition: &Condition) -> bool {
    condition.kind == CORE_BEHIND_KIND || condition.key.ends_with(CORE_BEHIND_KEY)
}
