//! All pairs of a gate in one judging, each machine and each module looked up once.

use crate::about_machine::{AboutMachine, sort};
use crate::ended::Wanting;
use crate::facts::Catalogue;
use crate::gate::{Opening, Sent};
use crate::health::{Examination, Finding, MachineScope, MachineView, ModuleView};
use crate::index::FactsIndex;
use crate::places::Places;
use crate::reason::NotYet;
use crate::rules::{IllMachine, Rules};
use crate::weight::Weight;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use chrono::{DateTime, TimeDelta, Utc};

/// The pairs of a gate, with what is known about them.
pub(crate) struct Wave<'a> {
    modules: Vec<ModuleView<'a>>,
    machines: Vec<MachineView<'a>>,
    /// In the order of the gate.
    pairs: Vec<PairView>,
    /// By machine, for those with conditions of their own.
    about: BTreeMap<usize, AboutMachine>,
    facts: &'a FactsIndex<'a>,
    rules: &'a Rules,
}

/// Places in a wave's modules and machines.
#[derive(Clone, Copy)]
struct PairView {
    module: usize,
    machine: usize,
}

impl<'a> Wave<'a> {
    pub(crate) fn new(
        opening: &'a Opening,
        facts: &'a FactsIndex<'a>,
        catalogue: &'a Catalogue,
        rules: &'a Rules,
    ) -> Self {
        let Opening { module, machines, carried, since, sent, .. } = opening;
        let Sent { machines: sent_to, builds } = sent;
        let mut known_modules = Places::default();
        let mut known_machines = Places::default();
        let own = machines.iter().map(|machine| (module, machine));
        let carried = carried.iter().map(|pair| (&pair.module, &pair.machine));
        let pairs = own
            .chain(carried)
            .map(|(module, machine)| PairView {
                module: known_modules.put(module),
                machine: known_machines.put(machine),
            })
            .collect();
        let modules = known_modules.names().iter().map(|&name| {
            let build = builds.get(name).map(|build| &**build);
            ModuleView::new(name, catalogue.get(name), build, facts)
        });
        let machines = known_machines.names().iter().map(|&name| {
            let sent = sent_to.get(name);
            let since = sent.map_or(*since, |sent| sent.at);
            MachineView::new(name, since, sent.map(|sent| sent.declaration), facts)
        });
        let (modules, machines) = (modules.collect(), machines.collect());
        let mut wave = Self { modules, machines, pairs, about: BTreeMap::new(), facts, rules };
        wave.sort_conditions();
        wave
    }

    /// Sorts the conditions about each machine, by what was moved there in the order of the pairs.
    fn sort_conditions(&mut self) {
        let mut moved: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (place, machine) in self.machines.iter().enumerate() {
            if !machine.facts.conditions.about_machine().is_empty() {
                moved.insert(place, Vec::new());
            }
        }
        if moved.is_empty() {
            return;
        }
        for pair in &self.pairs {
            if let Some(moved) = moved.get_mut(&pair.machine) {
                moved.push(self.modules[pair.module].name);
            }
        }
        for (place, moved) in moved {
            let machine = &self.machines[place];
            let counting = machine.counting(self.rules);
            self.about.insert(place, sort(&machine.facts.conditions, &moved, &counting));
        }
    }

    /// Whether there is nothing to judge.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Every pair that is not good, in the order of the pairs.
    pub(crate) fn wanting(&self) -> Vec<Wanting> {
        self.where_err(|pair| {
            let (module, machine) = (&self.modules[pair.module], &self.machines[pair.machine]);
            let examination = Examination::new(module, machine, self.facts, self.rules);
            let seen = examination.examine(MachineScope::SortedBefore);
            let Some(about) = self.about.get(&pair.machine) else { return seen };
            self.believed(seen, module, about.whole.as_ref())?;
            match about.on.get(module.name).or(about.whole.as_ref()) {
                Some(reason) => Err(module.not_yet(reason.clone())),
                None => Ok(()),
            }
        })
    }

    /// What is left of what was seen of a module, on a machine that may have something wrong as a
    /// whole.
    fn believed(
        &self,
        seen: Result<(), Finding>,
        module: &ModuleView<'_>,
        wrong: Option<&NotYet>,
    ) -> Result<(), Finding> {
        match (self.rules.ill_machine, module.component, wrong) {
            (IllMachine::Believed, _, _) | (_, Some(_), _) | (_, _, None) => seen,
            (IllMachine::NotBelieved, None, Some(wrong)) => seen.map_err(|finding| {
                let is_evidence = finding.weight == Weight::Evidence;
                if is_evidence { module.not_yet(wrong.clone()) } else { finding }
            }),
        }
    }

    /// Every pair whose machine has no statement that is fresh enough, in the order of the pairs.
    pub(crate) fn stale(&self, now: DateTime<Utc>, fresh: TimeDelta) -> Vec<Wanting> {
        let word = |machine: &MachineView<'_>| {
            if self.facts.statements_unreadable() {
                return Err(NotYet::HealthUnreadable);
            }
            machine.fresh_word(now, fresh, self.rules)
        };
        let words: Vec<_> = self.machines.iter().map(word).collect();
        if words.iter().all(Result::is_ok) {
            return Vec::new();
        }
        self.where_err(|pair| {
            let word = words[pair.machine].clone();
            word.map_err(|reason| self.modules[pair.module].not_yet(reason))
        })
    }

    /// The first machine that has stated nothing since a time.
    pub(crate) fn silent_since(&self, time: DateTime<Utc>) -> Option<&'a str> {
        let silent = |machine: &&MachineView<'_>| {
            machine.facts.statement.is_none_or(|statement| statement.heard <= time)
        };
        self.machines.iter().find(silent).map(|machine| machine.name)
    }

    fn where_err(&self, check: impl Fn(PairView) -> Result<(), Finding>) -> Vec<Wanting> {
        let wanting = self.pairs.iter().filter_map(|&pair| {
            let Finding { reason, weight } = check(pair).err()?;
            let module = self.modules[pair.module].name.to_owned();
            let machine = self.machines[pair.machine].name.to_owned();
            Some(Wanting { module, machine, reason, weight })
        });
        wanting.collect()
    }
}
