//! All that the controller knows: what landed, what it heard since it started, and the rules that it goes by.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use inventory::{
    Composing, Declaration, Epoch, Machine, Module, NextDeclaration, Reversal, compose,
    instances_on,
};
use names::{BuildId, MachineName, ModuleName};
use wire::Event;

use crate::{
    failure,
    record::{Declared, NumberedEvent, RecordKey},
    records::{EVENTS_KEPT, Records},
    sighting::Sighting,
    step::{Effect, Step, Write},
};

/// What the controller goes by.
#[derive(Debug, Clone)]
pub struct Rules {
    /// How gates judge. A module's manifest may ask for another policy.
    pub gate: gate_judge::Rules,
    /// How a failed gate is handled.
    pub failure: failure::Rules,
}

impl Default for Rules {
    /// Bellwether's, on machines that serve no tools yet: that none answers for them says nothing about a build.
    fn default() -> Self {
        let gate = gate_judge::Rules {
            silent_runtime: gate_judge::Lack::IsNothing,
            ..gate_judge::Rules::default()
        };
        Self { gate, failure: failure::Rules::default() }
    }
}

/// All that the controller knows.
#[derive(Debug, Clone)]
pub struct State {
    /// What it goes by.
    pub rules: Rules,
    /// The epoch of its lease.
    pub epoch: Epoch,
    /// What landed.
    pub records: Records,
    /// What it heard from machines since it started.
    pub sightings: BTreeMap<MachineName, Sighting>,
    /// Why nothing is written for now; `None` when the last write landed.
    pub held_off: Option<HeldOff>,
}

/// Why nothing is written for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldOff {
    /// Until when.
    pub until: DateTime<Utc>,
    /// Since when nothing landed.
    pub since: DateTime<Utc>,
    /// What the store said last.
    pub why: String,
}

impl State {
    /// Whether a machine was heard of late.
    pub fn is_heard(&self, machine: &MachineName, now: DateTime<Utc>) -> bool {
        self.sightings.get(machine).is_some_and(|sighting| sighting.is_heard(now))
    }

    /// The machines on which a module is assigned, by name.
    pub fn assigned<'a>(&'a self, module: &'a Module) -> impl Iterator<Item = &'a Machine> {
        let machines = self.records.machines.values();
        machines.filter(|machine| instances_on(&module.assignments, machine).is_some())
    }

    /// Whether a module is assigned to a machine.
    pub fn is_assigned(&self, module: &ModuleName, machine: &MachineName) -> bool {
        let found = self.records.modules.get(module).zip(self.records.machines.get(machine));
        found.is_some_and(|(module, machine)| instances_on(&module.assignments, machine).is_some())
    }

    /// Whether an older build can follow this one; a build can declare that none can.
    pub fn may_be_followed(&self, build: &BuildId) -> bool {
        let build = self.records.builds.get(build);
        build.is_none_or(|build| build.manifest.reversal == Reversal::Possible)
    }

    /// The next declaration of a machine, in which these modules run these builds and all others what they were declared;
    /// `None` when that is what it was declared already, or when the machine is not known.
    pub fn compose(
        &self,
        machine: &MachineName,
        moved: &BTreeMap<ModuleName, BuildId>,
        now: DateTime<Utc>,
    ) -> Option<Declaration> {
        let machine = self.records.machines.get(machine)?;
        let previous =
            self.records.declared.get(&machine.name).map(|declared| &declared.declaration);
        let declared = previous.into_iter().flat_map(|previous| &previous.modules);
        let mut wanted: BTreeMap<_, _> =
            declared.map(|(module, declared)| (module.clone(), declared.build.clone())).collect();
        wanted.extend(moved.iter().map(|(module, build)| (module.clone(), build.clone())));
        let sighting = self.sightings.get(&machine.name);
        let hello = sighting.and_then(|sighting| sighting.hello.as_ref());
        let composed = compose(&Composing {
            machine,
            previous,
            heard: hello.and_then(|hello| hello.held.as_ref()).map(|held| held.number),
            now,
            epoch: self.epoch,
            wanted: &wanted,
            modules: &self.records.modules,
            builds: &self.records.builds,
        });
        match composed.declaration {
            NextDeclaration::Unchanged => None,
            NextDeclaration::Next(declaration) => Some(*declaration),
        }
    }

    /// Adds a machine's new declaration to a step: kept first, then sent.
    pub fn declare(&self, step: &mut Step, now: DateTime<Utc>, declaration: Declaration) {
        step.put(Declared { declaration: declaration.clone(), at: now });
        step.then.push(Effect::Send(Box::new(declaration)));
    }

    /// Adds an event to a step: kept first, then told. The oldest one kept makes room for it.
    pub fn tell(&self, step: &mut Step, event: Event) {
        let earlier = step.then.iter().filter(|effect| matches!(effect, Effect::Tell(_))).count();
        let number = self.records.last_event() + u64::try_from(earlier).unwrap_or(u64::MAX) + 1;
        step.put(NumberedEvent { number, event: event.clone() });
        if let Some(oldest) = number.checked_sub(EVENTS_KEPT)
            && self.records.events.contains_key(&oldest)
        {
            step.land.push(Write::Delete(RecordKey::Event(oldest)));
        }
        step.then.push(Effect::Tell(Box::new(event)));
    }
}
