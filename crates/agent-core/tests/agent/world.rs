//! A world around an agent: it does what is decided, in any order and with any outcome, and watches the laws.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agent_core::{Action, CheckId, Event, Kept, RunId, Start};
use inventory::{DeclarationNumber, DeclaredModule, Environment};
use names::{BuildId, ExecutionId, InstanceName, ModuleName};
use wire::{BuildsKept, HelloReply, ResourceState, Statement, TroubleKind, UnableBecause};

use crate::bench::{Bench, obstacle};

/// What was asked for and is not over.
#[derive(Debug, Clone)]
enum Pending {
    Install(ModuleName, BuildId),
    Verify(agent_core::VerificationId),
    Start(RunId),
    Check { run: RunId, check: CheckId, until: Duration },
    Stop(RunId),
    Collect(Builds),
}

type Builds = BTreeSet<(ModuleName, BuildId)>;

/// How something that was asked for ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Well,
    Badly,
}

/// What becomes of a process while no agent looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on.
    Lives,
    /// It ends, and whoever finds it hears that.
    Ended,
    /// A start never got through, or a stop did; any other process has ended.
    Gone,
}

pub(crate) struct World {
    pub(crate) bench: Bench,
    pending: Vec<Pending>,
    installed: Builds,
    /// What the controller named last.
    named: Builds,
    /// Every process that may be alive: from the moment it is asked for until it is heard to be gone.
    alive: BTreeMap<RunId, Start>,
    /// The executions that a declaration on the disk named when they began.
    begun: BTreeSet<ExecutionId>,
    /// The process whose start has just ended.
    just_started: Option<RunId>,
    /// Those that some declaration since their start did not want.
    unwanted_once: BTreeSet<RunId>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            bench: Bench::new(),
            pending: Vec::new(),
            installed: BTreeSet::new(),
            named: BTreeSet::new(),
            alive: BTreeMap::new(),
            begun: BTreeSet::new(),
            just_started: None,
            unwanted_once: BTreeSet::new(),
        };
        world.look();
        world
    }

    /// The agent dies, and another takes its place, which finds what runs. What the dead one had asked for breaks off; but
    /// a start may have got through, and a stop does. `fates` says of each process whether it is still there, and of each
    /// that is whether it ends as soon as somebody looks.
    pub(crate) fn restart(&mut self, fates: &[Fate]) {
        let mut fates = fates.iter().copied().cycle();
        let pending = std::mem::take(&mut self.pending);
        let (mut found, mut ending) = (Vec::new(), Vec::new());
        let before = std::mem::take(&mut self.alive);
        let unwanted = std::mem::take(&mut self.unwanted_once);
        for (run, start) in before {
            let is = |one: &Pending, stop| match one {
                Pending::Stop(of) => *of == run && stop,
                Pending::Start(of) => *of == run && !stop,
                Pending::Install(..)
                | Pending::Verify(_)
                | Pending::Check { .. }
                | Pending::Collect(_) => false,
            };
            let is_launching = pending.iter().any(|one| is(one, false));
            let is_stopping = pending.iter().any(|one| is(one, true));
            let fate = fates.next().unwrap_or(Fate::Lives);
            if fate == Fate::Gone && (is_launching || is_stopping) {
                continue;
            }
            let nth = u32::try_from(found.len()).unwrap();
            let adopted = RunId::adopted(nth);
            found.push(self.bench.found(nth, &start));
            if unwanted.contains(&run) {
                self.unwanted_once.insert(adopted);
            }
            self.alive.insert(adopted, start);
            match (fate, is_stopping) {
                (Fate::Ended, _) | (Fate::Gone, _) => ending.push(adopted),
                // Its shim goes on with the stop.
                (Fate::Lives, true) => self.pending.push(Pending::Stop(adopted)),
                (Fate::Lives, false) => {}
            }
        }
        self.bench.restart_with(found);
        self.look();
        for run in ending {
            self.crash(run);
            self.look();
        }
    }

    /// The machine loses its power: nothing runs, and nothing is found.
    pub(crate) fn power_cut(&mut self) {
        self.pending.clear();
        self.alive.clear();
        self.unwanted_once.clear();
        self.bench.restart();
        self.look();
    }

    /// The controller answers a hello: of `blog` these builds are to be kept, as things stood so many declarations ago.
    pub(crate) fn answer_hello(&mut self, builds: &[&str], ago: u64) {
        let Some(kept) = &self.bench.kept else { return };
        let module: ModuleName = "blog".parse().unwrap();
        let builds: BTreeSet<BuildId> = builds.iter().map(|one| one.parse().unwrap()).collect();
        self.named = builds.iter().map(|build| (module.clone(), build.clone())).collect();
        let under = DeclarationNumber(kept.declaration.number.0.saturating_sub(ago));
        let keep = Some(BuildsKept { under, builds: BTreeMap::from([(module, builds)]) });
        self.bench.event(Event::HelloAnswered(Box::new(HelloReply { declaration: None, keep })));
        self.look();
    }

    pub(crate) fn machine_has(&mut self, kinds: &[TroubleKind]) {
        self.bench.machine_has(kinds);
        self.look();
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.bench.now.monotonic + Duration::from_millis(ms);
        while self.bench.agent.wake() < end {
            self.bench.pass_to(self.bench.agent.wake().max(self.bench.now.monotonic));
            self.look();
        }
        self.bench.pass_to(end);
        self.look();
    }

    /// Lets one of the things asked for end.
    pub(crate) fn end(&mut self, which: usize, how: Ending) {
        let Some(index) = which.checked_rem(self.pending.len()) else { return };
        let pending = self.pending.remove(index);
        let outcome = match how {
            Ending::Well => Ok(()),
            Ending::Badly => Err(UnableBecause::Disk),
        };
        match pending {
            Pending::Install(module, build) => {
                if how == Ending::Well {
                    self.installed.insert((module.clone(), build.clone()));
                }
                let outcome = outcome.map_err(obstacle);
                self.bench.event(Event::Installed { module, build, outcome });
            }
            Pending::Verify(verification) => {
                let outcome = outcome.map_err(obstacle);
                self.bench.event(Event::Verified { verification, outcome });
            }
            Pending::Start(run) if how == Ending::Well => {
                self.just_started = Some(run);
                self.bench.started(run);
            }
            Pending::Start(run) => {
                self.alive.remove(&run);
                self.bench.not_started(run);
            }
            Pending::Check { run, check, .. } => {
                let outcome = outcome.map_err(|_| "the script says no");
                self.bench.check_answered(run, check, outcome);
            }
            Pending::Collect(keep) => {
                // What cannot be removed now stays.
                let stays = |one: &(_, _)| keep.contains(one) || how == Ending::Badly;
                self.installed.retain(stays);
                self.bench.event(Event::Collected);
            }
            Pending::Stop(run) => self.crash(run),
        }
        self.look();
        self.just_started = None;
    }

    /// Lets one of the processes that are up end by itself.
    pub(crate) fn crash_one(&mut self, which: usize) {
        let launching = |run: &RunId| {
            self.pending.iter().any(|one| matches!(one, Pending::Start(other) if other == run))
        };
        let up: Vec<RunId> = self.alive.keys().filter(|run| !launching(run)).copied().collect();
        let Some(index) = which.checked_rem(up.len()) else { return };
        self.crash(up[index]);
        self.look();
    }

    fn crash(&mut self, run: RunId) {
        self.alive.remove(&run);
        let over = |one: &Pending| matches!(one, Pending::Stop(of) | Pending::Check { run: of, .. } if *of == run);
        self.pending.retain(|one| !over(one));
        self.bench.exited(run, "exit status 1");
    }

    /// Everything that is asked for ends well, for longer than what was given up waits for one more try.
    pub(crate) fn settle(&mut self) {
        self.bench.disk = Ok(());
        self.machine_has(&[]);
        for _ in 0..400 {
            while !self.pending.is_empty() {
                self.end(0, Ending::Well);
            }
            self.pass(3_000);
        }
    }

    /// Takes over what was decided, and watches the laws.
    pub(crate) fn look(&mut self) {
        let kept = self.bench.kept.clone();
        for (run, start) in &self.alive {
            if !wants(kept.as_ref(), start) {
                self.unwanted_once.insert(*run);
            }
        }
        for action in std::mem::take(&mut self.bench.actions) {
            match action {
                Action::Install { module, build, .. } => self.install(module, build),
                Action::Verify { verification, .. } => {
                    self.pending.push(Pending::Verify(verification));
                }
                Action::Start { run, start } => self.start(run, *start, kept.as_ref()),
                Action::Stop { run, .. } => self.stop(run, kept.as_ref()),
                Action::Check { run, check, timeout, .. } => self.check(run, check, timeout),
                Action::Collect { keep } => self.collect(keep, kept.as_ref()),
                Action::State(statement) => lists_everything(kept.as_ref(), &statement),
                Action::Answer { .. } | Action::Examine | Action::Report(_) | Action::Hello(_) => {}
            }
        }
    }

    fn install(&mut self, module: ModuleName, build: BuildId) {
        let asked =
            |one: &Pending| matches!(one, Pending::Install(m, b) if *m == module && *b == build);
        assert!(!self.pending.iter().any(asked), "one build is installed twice at a time");
        let removed = self.pending.iter().any(|one| matches!(one, Pending::Collect(_)));
        assert!(!removed, "a build is installed while builds are removed");
        self.pending.push(Pending::Install(module, build));
    }

    fn stop(&mut self, run: RunId, kept: Option<&Kept>) {
        assert!(self.alive.contains_key(&run), "what is not alive is not stopped");
        let start = &self.alive[&run];
        assert!(self.unwanted_once.contains(&run), "what is wanted is not stopped");
        // A process that is stopped as soon as it has started was let go of before.
        let moves = self.just_started != Some(run)
            && wanted(kept).any(|(module, one)| {
                *module == start.module && one.instances.contains_key(&start.instance)
            });
        let is_held = self.bench.troubles.iter().any(|one| one.kind != TroubleKind::FileDamaged);
        assert!(!(moves && is_held), "nothing is moved while the disk gives trouble");
        self.pending.push(Pending::Stop(run));
    }

    fn check(&mut self, run: RunId, check: CheckId, timeout: Duration) {
        let now = self.bench.now.monotonic;
        let overlaps = |one: &Pending| matches!(one, Pending::Check { run: of, until, .. } if *of == run && now <= *until);
        assert!(!self.pending.iter().any(overlaps), "checks of one process overlap");
        self.pending.push(Pending::Check { run, check, until: now + timeout });
    }

    fn collect(&mut self, keep: Builds, kept: Option<&Kept>) {
        let installs = |one: &Pending| matches!(one, Pending::Install(..) | Pending::Collect(_));
        assert!(!self.pending.iter().any(installs), "builds are removed while one is installed");
        let runs = self.alive.values().map(|one| (one.module.clone(), one.build.clone()));
        let wanted = wanted(kept).map(|(module, one)| (module.clone(), one.build.clone()));
        for needed in runs.chain(wanted).chain(self.named.iter().cloned()) {
            assert!(keep.contains(&needed), "{needed:?} is collected");
        }
        self.pending.push(Pending::Collect(keep));
    }

    fn start(&mut self, run: RunId, start: Start, kept: Option<&Kept>) {
        let place = |one: &Start| (one.module.clone(), one.instance.clone(), one.resource.clone());
        let rival = self.alive.values().find(|other| place(other) == place(&start));
        assert!(rival.is_none(), "two processes of one resource: {rival:?} and {start:?}");
        let installed = self.installed.contains(&(start.module.clone(), start.build.clone()));
        assert!(installed, "what is not installed is not started");
        assert!(
            wants(kept, &start) || self.begun.contains(&start.execution),
            "what no declaration on the disk names is not started: {start:?}"
        );
        self.begun.insert(start.execution.clone());
        self.alive.insert(run, start);
        self.pending.push(Pending::Start(run));
    }

    /// What stands in the end: every wanted resource is healthy, and nothing else is alive.
    pub(crate) fn stands_as_declared(&self) {
        let kept = self.bench.kept.as_ref();
        let wanted: BTreeSet<_> = wanted(kept)
            .flat_map(|(module, one)| {
                one.instances.keys().map(move |instance| (module, instance, &one.build))
            })
            .collect();
        let found: BTreeSet<_> =
            self.alive.values().map(|one| (&one.module, &one.instance, &one.build)).collect();
        assert_eq!(found, wanted);
        let statement = self.bench.newest_statement();
        assert!(statement.resources.iter().all(|row| row.state == ResourceState::Healthy));
    }
}

/// What the disk says should run.
fn wanted(kept: Option<&Kept>) -> impl Iterator<Item = (&ModuleName, &DeclaredModule)> {
    let declared = kept.into_iter().flat_map(|kept| &kept.declaration.modules);
    declared.chain(kept.into_iter().flat_map(|kept| &kept.left))
}

fn wants(kept: Option<&Kept>, start: &Start) -> bool {
    let here = |(module, one): (&ModuleName, &DeclaredModule)| {
        let environment: Option<&Environment> = one.instances.get(&start.instance);
        *module == start.module
            && one.build == start.build
            && environment.is_some_and(|environment| *environment == start.environment)
    };
    wanted(kept).any(here)
}

fn lists_everything(kept: Option<&Kept>, statement: &Statement) {
    let rows: BTreeSet<(&ModuleName, &InstanceName, _)> =
        statement.resources.iter().map(|row| (&row.module, &row.instance, &row.resource)).collect();
    for (module, one) in wanted(kept) {
        for instance in one.instances.keys() {
            for resource in &one.manifest.resources {
                let row = (module, instance, &resource.name);
                assert!(rows.contains(&row), "{row:?} is not stated");
            }
        }
    }
}
