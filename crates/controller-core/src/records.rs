//! All documents in memory: what landed, and nothing else.

use std::collections::BTreeMap;

use conditions::Keeper;
use inventory::{Build, Content, Kept, Machine, Module, Standing, Trial, Verdict, Verdicts};
use names::{BuildId, MachineName, ModuleName, PlanId};
use wire::Event;

use crate::{
    plan::{Plan, PlanState},
    record::{
        Declared, KeptPointer, KeptReport, NumberedEvent, PointerKey, Record, RecordKey, Told,
    },
    step::Write,
    timeline::Anchor,
};

/// How many of the newest events are kept, for people to look back at.
pub const EVENTS_KEPT: u64 = 1_000;

/// All documents, by what they are.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// Machines.
    pub machines: BTreeMap<MachineName, Machine>,
    /// Modules.
    pub modules: BTreeMap<ModuleName, Module>,
    /// Builds.
    pub builds: BTreeMap<BuildId, Build>,
    /// Verdicts.
    pub verdicts: Verdicts,
    /// Each machine's newest declaration.
    pub declared: BTreeMap<MachineName, Declared>,
    /// Each machine's newest report.
    pub reports: BTreeMap<MachineName, KeptReport>,
    /// Plans, the oldest first.
    pub plans: BTreeMap<PlanId, Plan>,
    /// The newest pointer of each channel.
    pub pointers: BTreeMap<PointerKey, KeptPointer>,
    /// Conditions.
    pub conditions: Keeper,
    /// The newest events, by number.
    pub events: BTreeMap<u64, Event>,
    /// Up to where events were told.
    pub told: Told,
    /// Where the timeline was.
    pub clock: Option<Anchor>,
    /// What each build is, so that nobody digests a manifest twice.
    contents: BTreeMap<BuildId, Content>,
}

impl Records {
    /// Takes what was read from a store.
    pub fn load(records: impl IntoIterator<Item = Record>) -> Self {
        let mut all = Self::default();
        let mut verdicts = Vec::new();
        for record in records {
            if let Record::Verdict(verdict) = record {
                verdicts.push(verdict);
            } else {
                all.put(record);
            }
        }
        // A verdict of the later stage is only kept after the pass that it takes back, and a store's order is not that.
        all.verdicts = verdicts.into_iter().collect();
        all
    }

    /// Takes a change that landed.
    pub fn apply(&mut self, write: &Write) {
        match write {
            Write::Put(record) => self.put(Record::clone(record)),
            Write::Delete(key) => self.delete(key),
        }
    }

    fn put(&mut self, record: Record) {
        match record {
            Record::Machine(it) => drop(self.machines.insert(it.name.clone(), it)),
            Record::Module(it) => drop(self.modules.insert(it.name.clone(), it)),
            Record::Build(it) => {
                self.contents.insert(it.id.clone(), it.content());
                self.builds.insert(it.id.clone(), it);
            }
            Record::Verdict(it) => self.put_verdict(it),
            Record::Declared(it) => drop(self.declared.insert(it.declaration.machine.clone(), it)),
            Record::Report(it) => drop(self.reports.insert(it.report.machine.clone(), it)),
            Record::Plan(it) => drop(self.plans.insert(it.id.clone(), it)),
            Record::Pointer(it) => drop(self.pointers.insert(it.key(), it)),
            Record::Conditions(it) => self.conditions = it,
            Record::Event(NumberedEvent { number, event }) => {
                drop(self.events.insert(number, event));
            }
            Record::Told(it) => self.told = it,
            Record::Clock(it) => self.clock = Some(it),
        }
    }

    /// A verdict that is there moves its rollback's word on and nothing else: it is never written over.
    fn put_verdict(&mut self, verdict: Verdict) {
        let (content, place) = (verdict.content.clone(), (verdict.trial, verdict.stage));
        let word = verdict.end.rollback().map(|rollback| rollback.word.clone());
        let kept_before = matches!(self.verdicts.keep(verdict), Ok(Kept::Before(_)));
        if let (true, Some(word)) = (kept_before, word) {
            // What may not follow is left as it was kept.
            let _ = self.verdicts.move_rollback(&content, place, word);
        }
    }

    fn delete(&mut self, key: &RecordKey) {
        match key {
            RecordKey::Machine(name) => drop(self.machines.remove(name)),
            RecordKey::Module(name) => drop(self.modules.remove(name)),
            RecordKey::Build(_, id) => {
                self.contents.remove(id);
                self.builds.remove(id);
            }
            RecordKey::Declared(machine) => drop(self.declared.remove(machine)),
            RecordKey::Report(machine) => drop(self.reports.remove(machine)),
            RecordKey::Plan(id) => drop(self.plans.remove(id)),
            RecordKey::Pointer(key) => drop(self.pointers.remove(key)),
            RecordKey::Event(number) => drop(self.events.remove(number)),
            // These are never deleted: a verdict is kept for good, and of the others there is one each.
            RecordKey::Verdict(..) | RecordKey::Conditions | RecordKey::Told | RecordKey::Clock => {
            }
        }
    }

    /// What a build is.
    pub fn content(&self, build: &BuildId) -> Option<&Content> {
        self.contents.get(build)
    }

    /// What a build is known to be; one that is not kept any more is unproven.
    pub fn standing(&self, build: &BuildId) -> Standing<'_> {
        self.content(build).map_or(Standing::Unproven, |content| self.verdicts.standing(content))
    }

    /// Whether a build is proven.
    pub fn is_proven(&self, build: &BuildId) -> bool {
        matches!(self.standing(build), Standing::Proven(_))
    }

    /// Whether a build is condemned.
    pub fn is_condemned(&self, build: &BuildId) -> bool {
        matches!(self.standing(build), Standing::Condemned(_))
    }

    /// The trial that a person's retry of this build would open, or that is open.
    pub fn trial(&self, build: &BuildId) -> Trial {
        self.content(build).map_or(Trial::FIRST, |content| self.verdicts.retry(content))
    }

    /// The builds of a module, the oldest first.
    pub fn builds_of(&self, module: &ModuleName) -> impl DoubleEndedIterator<Item = &Build> {
        let module = module.clone();
        self.builds.values().filter(move |build| *build.module() == module)
    }

    /// The build of a module that passed its gate last and was not condemned since.
    pub fn last_proven(&self, module: &ModuleName) -> Option<&Build> {
        self.last_proven_before(module, None)
    }

    /// The same, passing over one build: what runs once that one is given up.
    pub fn last_proven_before(
        &self,
        module: &ModuleName,
        over: Option<&BuildId>,
    ) -> Option<&Build> {
        let others = self.builds_of(module).filter(|build| Some(&build.id) != over);
        let proven = others.filter_map(|build| match self.standing(&build.id) {
            Standing::Proven(verdict) => Some((verdict.at, build)),
            Standing::Unproven | Standing::Condemned(_) => None,
        });
        // Of two builds with the same content the one that was asked for last counts: ids sort by time.
        proven.max_by_key(|(at, build)| (*at, build.id.clone())).map(|(_, build)| build)
    }

    /// The build of a module that a machine is declared.
    pub fn declared_build(&self, machine: &MachineName, module: &ModuleName) -> Option<&BuildId> {
        let declared = self.declared.get(machine)?;
        declared.declaration.modules.get(module).map(|declared| &declared.build)
    }

    /// The plan that sends or judges this module now.
    pub fn moving(&self, module: &ModuleName) -> Option<&Plan> {
        self.plans.values().find(|plan| plan.is_moving() && plan.move_of(module).is_some())
    }

    /// The registered build of a module, once a plan has brought it through every gate: then it is everybody's. While a plan
    /// moves the module, or where the registered build only got through some gates, the machines that were sent it have it.
    pub fn released<'a>(&self, module: &'a Module) -> Option<&'a BuildId> {
        let registered = module.registered.as_ref()?;
        let is_done = |plan: &Plan| {
            matches!(plan.state, PlanState::Done { .. })
                && plan.move_of(&module.name).is_some_and(|it| it.to == *registered)
        };
        let is_everybodys = self.moving(&module.name).is_none()
            && self.is_proven(registered)
            && self.plans.values().rev().any(is_done);
        is_everybodys.then_some(registered)
    }

    /// Whether nobody watches what a plan has moved on a machine: the last one that sent it anything of the module was ended
    /// before its gate was, and no other plan is there to take its place.
    pub fn is_left_unwatched(&self, machine: &MachineName, module: &ModuleName) -> bool {
        let plans = self.plans.values().rev().filter(|plan| plan.move_of(module).is_some());
        let mut last = None;
        for plan in plans {
            match plan.state {
                PlanState::Queued
                | PlanState::Sending { .. }
                | PlanState::Judging { .. }
                | PlanState::PuttingBack(_) => return false,
                PlanState::Done { .. }
                | PlanState::Failed(_)
                | PlanState::Stopped { .. }
                | PlanState::Superseded { .. } => {
                    last = last.or(Some(plan).filter(|plan| plan.sent.contains_key(machine)));
                }
            }
        }
        last.is_some_and(|last| {
            matches!(last.state, PlanState::Stopped { .. } | PlanState::Superseded { .. })
        })
    }

    /// The build of a module for a machine that comes late: what is known to be good and is not on trial. While a plan moves
    /// the module that is what the plan would put back, since nobody would put back a machine that the plan does not know.
    pub fn for_latecomers<'a>(&'a self, module: &'a Module) -> Option<&'a BuildId> {
        if let Some(it) = self.moving(&module.name).and_then(|plan| plan.move_of(&module.name)) {
            return it.from.as_ref().filter(|from| self.is_proven(from));
        }
        let registered = module.registered.as_ref().filter(|build| self.is_proven(build));
        registered.or_else(|| self.last_proven(&module.name).map(|build| &build.id))
    }

    /// The number of the newest event.
    pub fn last_event(&self) -> u64 {
        self.events.last_key_value().map_or(self.told.number, |(number, _)| *number)
    }
}
