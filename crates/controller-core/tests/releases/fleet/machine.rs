//! A machine by script: takes declarations, reports, states, and does with each build what it was told.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use inventory::{Declaration, DeclaredModule};
use names::{ExecutionId, InstanceName, MachineName, ModuleName};
use wire::{
    BootId, DeclareReply, EngineNonce, Held, Hello, ModuleOutcome, ModuleReport,
    RefusedDeclaration, Report, ReportReply, ResourceState, ResourceStatement, Statement,
    UnableBecause,
};

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
    /// When each module's present build was started.
    started: BTreeMap<ModuleName, DateTime<Utc>>,
    scripts: BTreeMap<String, Behaviour>,
    /// Whether it is on and reachable.
    pub(crate) on: bool,
    /// Whether its statements get through.
    pub(crate) states: bool,
    greeted: bool,
    engine: u32,
    sequence: u64,
    revision: u64,
    reported: Option<Report>,
    acknowledged: Option<ReportReply>,
    pub(crate) withdrawn: Vec<ModuleName>,
}

impl SimMachine {
    pub(crate) fn new(name: MachineName) -> Self {
        Self {
            name,
            held: None,
            started: BTreeMap::new(),
            scripts: BTreeMap::new(),
            on: true,
            states: true,
            greeted: false,
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
        self.greeted = false;
    }

    pub(crate) fn running(&self, module: &ModuleName) -> Option<String> {
        let declared = self.held.as_ref()?.modules.get(module)?;
        match self.behaviour(declared) {
            Behaviour::RunsInstead(commit) => Some(commit.to_owned()),
            Behaviour::Unable | Behaviour::Installing => None,
            Behaviour::HealthyAfter(_) | Behaviour::FailsAfter(_) | Behaviour::NeverHealthy => {
                Some(declared.commit.to_string())
            }
        }
    }

    /// A declaration arrives; `None` when the machine is off.
    pub(crate) fn take(&mut self, declaration: &Declaration) -> Option<DeclareReply> {
        if !self.on {
            return None;
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
            let before = self.held.take();
            for (name, module) in &declaration.modules {
                let same = before
                    .as_ref()
                    .and_then(|before| before.modules.get(name))
                    .map(|before| &before.build);
                if same != Some(&module.build) {
                    self.started.remove(name);
                }
            }
            self.withdrawn = declaration.withdrawn.iter().cloned().collect();
            self.held = Some(declaration.clone());
            self.revision = 0;
        }
        Some(DeclareReply::Taken)
    }

    pub(crate) fn acknowledged(&mut self, reply: &ReportReply) {
        self.acknowledged = Some(reply.clone());
    }

    pub(crate) fn second(&mut self, now: DateTime<Utc>) -> Said {
        if !self.on {
            return Said::default();
        }
        let mut said = Said::default();
        if !self.greeted {
            self.greeted = true;
            said.hello = Some(self.hello(now));
        }
        if let Some(held) = &self.held {
            for name in held.modules.keys() {
                self.started.entry(name.clone()).or_insert(now);
            }
        }
        if self.states {
            self.sequence += 1;
            said.statement = Some(self.statement(now));
        }
        said.report = self.report(now);
        said
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
            clock: now,
        }
    }

    fn behaviour(&self, module: &DeclaredModule) -> Behaviour {
        self.scripts.get(module.commit.as_str()).cloned().unwrap_or(Behaviour::HealthyAfter(1))
    }

    fn execution(&self, module: &ModuleName) -> ExecutionId {
        let started = self.started.get(module).map_or(0, DateTime::timestamp);
        ExecutionId::new(format!("a1-{started}")).unwrap()
    }

    fn state(
        &self,
        now: DateTime<Utc>,
        name: &ModuleName,
        module: &DeclaredModule,
    ) -> ResourceState {
        let started = self.started.get(name).copied().unwrap_or(now);
        let up = (now - started).num_seconds();
        match self.behaviour(module) {
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
        let modules = self.held.iter().flat_map(|held| &held.modules);
        let resources = modules.flat_map(|(name, module)| {
            let execution = self.execution(name);
            let state = self.state(now, name, module);
            let build = match self.behaviour(module) {
                Behaviour::RunsInstead(_) => "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap(),
                Behaviour::HealthyAfter(_)
                | Behaviour::FailsAfter(_)
                | Behaviour::NeverHealthy
                | Behaviour::Unable
                | Behaviour::Installing => module.build.clone(),
            };
            let instances = module.instances.keys().cloned();
            let resources = move |instance: InstanceName| {
                let (build, execution) = (build.clone(), execution.clone());
                module.manifest.resources.iter().map(move |resource| ResourceStatement {
                    module: name.clone(),
                    instance: instance.clone(),
                    resource: resource.name.clone(),
                    build: build.clone(),
                    execution: Some(execution.clone()),
                    process: None,
                    state,
                    since: now,
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
            troubles: Vec::new(),
        }
    }

    /// The report that is due: the newest one, until it is acknowledged.
    fn report(&mut self, now: DateTime<Utc>) -> Option<Report> {
        let held = self.held.as_ref()?;
        if held.modules.values().any(|module| self.behaviour(module) == Behaviour::Installing) {
            return None;
        }
        let modules = held.modules.iter().map(|(name, module)| {
            let outcome = if self.behaviour(module) == Behaviour::Unable {
                let why = "no such artifact".into();
                ModuleOutcome::Unable { because: UnableBecause::Artifact, why }
            } else if self.state(now, name, module) == ResourceState::Failed {
                let instance = module.instances.keys().next().unwrap().clone();
                ModuleOutcome::Failed { instance, why: "exited with status 3".into() }
            } else {
                ModuleOutcome::Applied
            };
            let executions = module.instances.keys().map(|it| (it.clone(), self.execution(name)));
            (
                name.clone(),
                ModuleReport {
                    build: Some(module.build.clone()),
                    executions: executions.collect(),
                    outcome,
                },
            )
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
