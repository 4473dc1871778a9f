//! A machine by script: takes declarations, reports, states, and does with each build what it was told.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use inventory::{Declaration, DeclaredModule};
use names::{BuildId, ExecutionId, InstanceName, MachineName, ModuleName};
use wire::{
    BootId, BuildsKept, DeclareReply, EngineNonce, Held, HeldBy, HeldInstance, Hello,
    ModuleOutcome, ModuleReport, RefusedDeclaration, Report, ReportReply, ResourceState,
    ResourceStatement, Statement, Trouble, TroubleKind, UnableBecause,
};

/// How many seconds lie between two hellos.
const HELLO_EVERY_S: u32 = 7;

/// What a build does on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It is healthy this many seconds after its start.
    HealthyAfter(i64),
    /// It is healthy at first, and is given up this many seconds after its start.
    FailsAfter(i64),
    /// It never passes a check, and is never given up.
    NeverHealthy,
    /// It reports that the artifact cannot be had.
    Unable,
    /// It never gets to a report.
    Installing,
    /// It reports that it runs, and runs this commit instead.
    RunsInstead(&'static str),
}

/// What a machine says in one second.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) hello: Option<Hello>,
    pub(crate) statement: Option<Statement>,
    pub(crate) report: Option<Report>,
}

#[derive(Debug)]
pub(crate) struct SimMachine {
    name: MachineName,
    held: Option<Declaration>,
    /// What runs of each module, and since when.
    runs: BTreeMap<ModuleName, Runs>,
    /// Builds on its disk.
    installed: BTreeSet<BuildId>,
    scripts: BTreeMap<String, Behaviour>,
    /// What its failure book holds, by the commit that is refused for it.
    book: BTreeMap<String, HeldInstance>,
    /// Whether it is on and reachable.
    pub(crate) on: bool,
    /// Whether its statements get through.
    pub(crate) states: bool,
    /// What is wrong with the machine itself: with its disk, and nothing new is begun.
    troubles: Vec<Trouble>,
    /// Whether a declaration can be written down there.
    pub(crate) keeps: bool,
    /// Whether builds that are not on its disk can be had.
    pub(crate) fetches: bool,
    /// How far its clock is off.
    pub(crate) clock_off: TimeDelta,
    hello_in: u32,
    engine: u32,
    sequence: u64,
    revision: u64,
    reported: Option<Report>,
    acknowledged: Option<ReportReply>,
    pub(crate) withdrawn: Vec<ModuleName>,
}

/// One build that runs.
#[derive(Debug, Clone)]
struct Runs {
    module: DeclaredModule,
    since: DateTime<Utc>,
}

impl SimMachine {
    pub(crate) fn new(name: MachineName) -> Self {
        Self {
            name,
            held: None,
            runs: BTreeMap::new(),
            installed: BTreeSet::new(),
            scripts: BTreeMap::new(),
            book: BTreeMap::new(),
            on: true,
            states: true,
            troubles: Vec::new(),
            keeps: true,
            fetches: true,
            clock_off: TimeDelta::zero(),
            hello_in: 0,
            engine: 1,
            sequence: 0,
            revision: 0,
            reported: None,
            acknowledged: None,
            withdrawn: Vec::new(),
        }
    }

    pub(crate) fn script(&mut self, commit: &str, behaviour: Behaviour) {
        self.scripts.insert(commit.to_owned(), behaviour);
    }

    /// Its failure book holds `blog-1` for what this build did, and builds of this commit are refused for that.
    pub(crate) fn holds(&mut self, commit: &str, by: &BuildId, rule: HeldBy) {
        let held = HeldInstance {
            instance: "blog-1".parse().unwrap(),
            account: Default::default(),
            module: "blog".parse().unwrap(),
            build: by.clone(),
            rule,
            since: None,
            mode: None,
            reason: None,
            generation: None,
            book: "65a6b958f8fc0329e3503992f3e40e10".parse().unwrap(),
        };
        self.book.insert(commit.to_owned(), held);
    }

    /// Somebody frees all that it holds.
    pub(crate) fn is_freed(&mut self) {
        self.book.clear();
    }

    /// From now on it states this of itself.
    pub(crate) fn has(&mut self, kinds: &[TroubleKind]) {
        let why = |kind: &TroubleKind| format!("it is {}", kind.as_str());
        let trouble = |kind: &TroubleKind| Trouble { kind: *kind, why: why(kind) };
        self.troubles = kinds.iter().map(trouble).collect();
    }

    /// Gives it a new disk.
    pub(crate) fn wipe(&mut self) {
        let (scripts, engine) = (core::mem::take(&mut self.scripts), self.engine + 1);
        *self = Self { scripts, engine, ..Self::new(self.name.clone()) };
    }

    /// Pulls the plug.
    pub(crate) fn unplug(&mut self) {
        self.on = false;
    }

    /// Puts the plug back: it says hello again.
    pub(crate) fn plug_in(&mut self) {
        self.on = true;
        self.hello_in = 0;
    }

    pub(crate) fn running(&self, module: &ModuleName) -> Option<String> {
        let declared = self.held.as_ref()?.modules.get(module)?;
        if let Behaviour::RunsInstead(commit) = self.behaviour(declared) {
            return Some(commit.to_owned());
        }
        Some(self.runs.get(module)?.module.commit.to_string())
    }

    /// A declaration arrives; `None` when the machine is off.
    pub(crate) fn take(&mut self, declaration: &Declaration) -> Option<DeclareReply> {
        if !self.on {
            return None;
        }
        if !self.keeps {
            let why = "no space left for the store".into();
            return Some(DeclareReply::Refused(RefusedDeclaration::NotKept { why }));
        }
        if let Some(held) = &self.held {
            if held.number > declaration.number {
                let (held, offered) = (held.number, declaration.number);
                return Some(DeclareReply::Refused(RefusedDeclaration::OlderNumber {
                    held,
                    offered,
                }));
            }
            if held.number == declaration.number && held != declaration {
                let number = held.number;
                return Some(DeclareReply::Refused(RefusedDeclaration::OtherContent { number }));
            }
        }
        if self.held.as_ref() != Some(declaration) {
            self.withdrawn = declaration.withdrawn.iter().cloned().collect();
            self.held = Some(declaration.clone());
            self.revision = 0;
        }
        Some(DeclareReply::Taken)
    }

    pub(crate) fn acknowledged(&mut self, reply: &ReportReply) {
        self.acknowledged = Some(reply.clone());
    }

    /// What it was answered to keep: everything else that it has no use for itself goes.
    pub(crate) fn keep(&mut self, word: &BuildsKept) {
        let Some(held) = self.held.as_ref().filter(|held| held.number == word.under) else {
            return;
        };
        let declared = held.modules.values().map(|module| &module.build);
        let runs = self.runs.values().map(|runs| &runs.module.build);
        let named = word.builds.values().flatten();
        let keep: BTreeSet<_> = declared.chain(runs).chain(named).cloned().collect();
        self.installed.retain(|build| keep.contains(build));
    }

    pub(crate) fn has_installed(&self, build: &BuildId) -> bool {
        self.installed.contains(build)
    }

    pub(crate) fn second(&mut self, now: DateTime<Utc>) -> Said {
        if !self.on {
            return Said::default();
        }
        let mut said = Said::default();
        match self.hello_in.checked_sub(1) {
            Some(less) => self.hello_in = less,
            None => {
                self.hello_in = HELLO_EVERY_S;
                said.hello = Some(self.hello(now));
            }
        }
        self.begin(now);
        if self.states {
            self.sequence += 1;
            said.statement = Some(self.statement(now));
        }
        said.report = self.report(now);
        said
    }

    /// Everything declared that can be begun runs from now on.
    fn begin(&mut self, now: DateTime<Utc>) {
        let Some(held) = self.held.clone() else { return };
        self.runs.retain(|module, _| held.modules.contains_key(module));
        for (name, module) in held.modules {
            if self.settled(&name, &module).is_some() || self.obstacle(&module).is_some() {
                continue;
            }
            if let Some(held) = self.book.get(module.commit.as_str()) {
                // What was held down was stopped before.
                if held.rule == HeldBy::HeldDown {
                    self.runs.remove(&name);
                }
                continue;
            }
            match self.behaviour(&module) {
                Behaviour::Unable | Behaviour::Installing => continue,
                Behaviour::HealthyAfter(_)
                | Behaviour::FailsAfter(_)
                | Behaviour::NeverHealthy
                | Behaviour::RunsInstead(_) => {}
            }
            self.installed.insert(module.build.clone());
            self.runs.insert(name, Runs { module, since: now });
        }
    }

    /// What runs of a module, when it is what is declared.
    fn settled(&self, name: &ModuleName, module: &DeclaredModule) -> Option<&Runs> {
        self.runs.get(name).filter(|runs| runs.module.build == module.build)
    }

    /// What keeps a build from being begun.
    fn obstacle(&self, module: &DeclaredModule) -> Option<(UnableBecause, String)> {
        let of_disk = |trouble: &&Trouble| match trouble.kind {
            TroubleKind::DiskFull | TroubleKind::DiskReadOnly | TroubleKind::DiskFails => true,
            TroubleKind::FileDamaged | TroubleKind::Other => false,
        };
        if let Some(trouble) = self.troubles.iter().find(of_disk) {
            return Some((UnableBecause::Disk, trouble.why.clone()));
        }
        let is_there = self.fetches || self.installed.contains(&module.build);
        let is_had = is_there && self.behaviour(module) != Behaviour::Unable;
        (!is_had).then(|| (UnableBecause::Artifact, "no such artifact".into()))
    }

    fn hello(&self, now: DateTime<Utc>) -> Hello {
        Hello {
            machine: self.name.clone(),
            agent: "test".into(),
            boot: BootId("boot".into()),
            engine: EngineNonce(format!("engine-{}", self.engine)),
            held: self.held.as_ref().map(|held| Held {
                number: held.number,
                epoch: held.epoch,
                digest: held.digest(),
            }),
            clock: now + self.clock_off,
        }
    }

    fn behaviour(&self, module: &DeclaredModule) -> Behaviour {
        self.scripts.get(module.commit.as_str()).cloned().unwrap_or(Behaviour::HealthyAfter(1))
    }

    fn state(&self, now: DateTime<Utc>, runs: &Runs) -> ResourceState {
        let up = (now - runs.since).num_seconds();
        match self.behaviour(&runs.module) {
            Behaviour::HealthyAfter(seconds) if up >= seconds => ResourceState::Healthy,
            Behaviour::FailsAfter(seconds) if up < seconds => ResourceState::Healthy,
            Behaviour::FailsAfter(_) => ResourceState::Failed,
            Behaviour::NeverHealthy => ResourceState::Unhealthy,
            Behaviour::HealthyAfter(_) | Behaviour::Unable | Behaviour::Installing => {
                ResourceState::Starting
            }
            Behaviour::RunsInstead(_) => ResourceState::Healthy,
        }
    }

    fn statement(&self, now: DateTime<Utc>) -> Statement {
        let resources = self.runs.iter().flat_map(|(name, runs)| {
            let state = self.state(now, runs);
            let build = match self.behaviour(&runs.module) {
                Behaviour::RunsInstead(_) => "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
                Behaviour::HealthyAfter(_)
                | Behaviour::FailsAfter(_)
                | Behaviour::NeverHealthy
                | Behaviour::Unable
                | Behaviour::Installing => runs.module.build.clone(),
            };
            let instances = runs.module.instances.keys().cloned();
            let resources = move |instance: InstanceName| {
                let (build, execution) = (build.clone(), execution(runs));
                runs.module.manifest.resources.iter().map(move |resource| ResourceStatement {
                    module: name.clone(),
                    instance: instance.clone(),
                    resource: resource.name.clone(),
                    build: build.clone(),
                    execution: Some(execution.clone()),
                    process: None,
                    state,
                    since: now + self.clock_off,
                    restarts: 0,
                    why: (state == ResourceState::Failed).then(|| "exited with status 3".into()),
                    address: None,
                })
            };
            instances.flat_map(resources).collect::<Vec<_>>()
        });
        Statement {
            machine: self.name.clone(),
            boot: BootId("boot".into()),
            engine: EngineNonce(format!("engine-{}", self.engine)),
            sequence: self.sequence,
            declaration: self.held.as_ref().map(|held| held.number),
            resources: resources.collect(),
            troubles: self.troubles.clone(),
        }
    }

    /// The report that is due: the newest one, until it is acknowledged.
    fn report(&mut self, now: DateTime<Utc>) -> Option<Report> {
        let held = self.held.as_ref()?;
        let is_installing = |module: &DeclaredModule| {
            self.behaviour(module) == Behaviour::Installing && self.obstacle(module).is_none()
        };
        if held.modules.values().any(is_installing) {
            return None;
        }
        let modules = held.modules.iter().map(|(name, module)| {
            let runs = self.settled(name, module);
            let held = self.book.get(module.commit.as_str());
            let outcome = match runs.map(|runs| self.state(now, runs)) {
                None if let Some(held) = held => {
                    ModuleOutcome::Refused { rule: format!("{} is held", held.instance) }
                }
                None => {
                    let (because, why) = self.obstacle(module).unwrap();
                    ModuleOutcome::Unable { because, why }
                }
                Some(ResourceState::Failed) => {
                    let instance = module.instances.keys().next().unwrap().clone();
                    ModuleOutcome::Failed { instance, why: "exited with status 3".into() }
                }
                Some(_) => ModuleOutcome::Applied,
            };
            let executions = runs.into_iter().flat_map(|runs| {
                module.instances.keys().map(move |it| (it.clone(), execution(runs)))
            });
            let build = Some(module.build.clone());
            let held = Some(self.book.values().cloned().collect());
            let report = ModuleReport { build, executions: executions.collect(), held, outcome };
            (name.clone(), report)
        });
        let modules = modules.collect();
        let changed = self
            .reported
            .as_ref()
            .is_none_or(|last| last.declaration != held.number || last.modules != modules);
        if changed {
            self.revision += 1;
            let (machine, declaration) = (self.name.clone(), held.number);
            self.reported = Some(Report { machine, declaration, revision: self.revision, modules });
        }
        let report = self.reported.clone()?;
        let kept = self.acknowledged.as_ref();
        let is_kept = kept.is_some_and(|it| {
            it.declaration == report.declaration && it.revision == report.revision
        });
        (!is_kept).then_some(report)
    }
}

fn execution(runs: &Runs) -> ExecutionId {
    ExecutionId::new(format!("a1-{}", runs.since.timestamp())).unwrap()
}
