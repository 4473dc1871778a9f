//! A world around an agent: it does what is decided, in any order and with any outcome, and watches the laws.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use agent_core::{Action, CheckId, Event, RunId, Start};
use inventory::DeclarationNumber;
use names::{BuildId, ExecutionId, ModuleName};
use wire::{BuildsKept, HelloReply, TroubleKind, UnableBecause};

use crate::bench::{Bench, Write, obstacle};
use crate::paper::{Condemned, Host, Paper, lists_everything};

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

/// A process that may be alive: from the moment it is asked for until it is heard to be gone.
struct Alive {
    start: Start,
    /// The later it was asked for, the greater.
    nth: u64,
    /// Some declaration since its start did not want it.
    was_unwanted: bool,
}

pub(crate) struct World {
    pub(crate) bench: Bench,
    pending: Vec<Pending>,
    installed: Builds,
    /// What the controller named last.
    named: Builds,
    alive: BTreeMap<RunId, Alive>,
    /// The executions of which something was asked to start.
    begun: BTreeSet<ExecutionId>,
    /// Those that the present agent began.
    own: BTreeSet<ExecutionId>,
    /// Those that began beside another one.
    beside: BTreeSet<ExecutionId>,
    /// Builds that ran somewhere when an agent died, and whose outcome is on no disk.
    condemned: Vec<Condemned>,
    starts: u64,
    /// The agent was asked to stop everything.
    is_stopping_all: bool,
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
            own: BTreeSet::new(),
            beside: BTreeSet::new(),
            condemned: Vec::new(),
            starts: 0,
            is_stopping_all: false,
        };
        world.look();
        world
    }

    /// What is on the disk.
    fn paper(&self) -> Paper<'_> {
        Paper {
            kept: self.bench.kept.as_ref(),
            known: self.bench.known.as_ref(),
            rows: &self.bench.rows,
        }
    }

    /// The agent dies, and another takes its place, which finds what runs. What the dead one had asked for breaks off; but
    /// a start may have got through, and a stop does. `fates` says of each process whether it is still there, and of each
    /// that is whether it ends as soon as somebody looks.
    pub(crate) fn restart(&mut self, fates: &[Fate]) {
        let mut fates = fates.iter().copied().cycle();
        let pending = std::mem::take(&mut self.pending);
        let (mut found, mut ending) = (Vec::new(), Vec::new());
        let mut before: Vec<_> = std::mem::take(&mut self.alive).into_iter().collect();
        before.sort_by_key(|(_, one)| one.nth);
        for (run, one) in before {
            let is_launching =
                pending.iter().any(|it| matches!(it, Pending::Start(of) if *of == run));
            let is_stopping =
                pending.iter().any(|it| matches!(it, Pending::Stop(of) if *of == run));
            let fate = fates.next().unwrap_or(Fate::Lives);
            if fate == Fate::Gone && (is_launching || is_stopping) {
                continue;
            }
            let nth = u32::try_from(found.len()).unwrap();
            let adopted = RunId::adopted(nth);
            found.push(self.bench.found(nth, &one.start));
            self.alive.insert(adopted, one);
            match (fate, is_stopping) {
                (Fate::Ended | Fate::Gone, _) => ending.push(adopted),
                // Its shim goes on with the stop.
                (Fate::Lives, true) => self.pending.push(Pending::Stop(adopted)),
                (Fate::Lives, false) => {}
            }
        }
        self.condemn();
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
        self.condemn();
        self.bench.restart();
        self.look();
    }

    /// What ran under an intent that stands when an agent dies has failed.
    fn condemn(&mut self) {
        let condemned = self.paper().condemned(&self.begun);
        self.condemned.extend(condemned);
        self.own.clear();
    }

    /// The agent is asked to end, everything goes well until it has, and another one begins.
    pub(crate) fn shut_down(&mut self, ending: agent_core::Ending) {
        self.bench.disk = Ok(());
        self.bench.landings.clear();
        self.is_stopping_all = ending == agent_core::Ending::Stop;
        self.bench.event(Event::ShutDown(ending));
        self.look();
        for _ in 0..1_000 {
            if self.bench.agent.is_over() {
                break;
            }
            match self.pending.is_empty() {
                true => self.pass(1_000),
                false => self.end(0, Ending::Well),
            }
        }
        assert!(self.bench.agent.is_over(), "an agent that was asked to end ends");
        let stands = self.paper().condemned(&self.begun);
        assert!(stands.is_empty(), "an agent that ends leaves nothing in the middle: {stands:?}");
        self.is_stopping_all = false;
        match ending {
            agent_core::Ending::Leave => self.restart(&[Fate::Lives]),
            agent_core::Ending::Stop => {
                assert!(self.alive.is_empty());
                self.power_cut();
            }
        }
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
        self.bench.pass_to(end.max(self.bench.now.monotonic));
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

    /// Everything that is asked for ends well, for long enough that a build passes.
    pub(crate) fn calm(&mut self) {
        for _ in 0..8 {
            for _ in 0..self.pending.len() {
                self.end(0, Ending::Well);
            }
            self.pass(700);
        }
    }

    /// Everything that is asked for ends well, for longer than what was given up waits for one more try.
    pub(crate) fn settle(&mut self) {
        self.bench.disk = Ok(());
        self.bench.landings.clear();
        self.machine_has(&[]);
        for _ in 0..400 {
            while !self.pending.is_empty() {
                self.end(0, Ending::Well);
            }
            self.pass(3_000);
        }
    }

    /// Takes over what was decided, and watches the laws. An agent that died at a landing is followed by another.
    pub(crate) fn look(&mut self) {
        let mut alive = std::mem::take(&mut self.alive);
        for one in alive.values_mut() {
            one.was_unwanted |= !self.paper().wants(&one.start);
        }
        self.alive = alive;
        for action in std::mem::take(&mut self.bench.actions) {
            match action {
                Action::Install { module, build, .. } => self.install(module, build),
                Action::Verify { verification, .. } => {
                    self.pending.push(Pending::Verify(verification));
                }
                Action::Start { run, start } => self.start(run, *start),
                Action::Stop { run, .. } => self.stop(run),
                Action::Check { run, check, timeout, .. } => self.check(run, check, timeout),
                Action::Collect { keep } => self.collect(keep),
                Action::State(statement) => lists_everything(&self.paper(), &statement),
                Action::Answer { .. }
                | Action::AnswerWord { .. }
                | Action::AnswerBook { .. }
                | Action::Examine
                | Action::Route(_)
                | Action::Report(_)
                | Action::Hello(_) => {}
            }
        }
        if self.bench.is_dead {
            self.restart(&[Fate::Lives]);
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

    fn stop(&mut self, run: RunId) {
        assert!(self.alive.contains_key(&run), "what is not alive is not stopped");
        let one = &self.alive[&run];
        let (host, execution) = (Host::of(&one.start), &one.start.execution);
        let may_stop = one.was_unwanted
            || self.is_stopping_all
            || !self.paper().has_served(&host, &one.start.build)
            || self.beside.contains(execution)
            || self.paper().is_held(&host, &one.start.build, &self.condemned)
            || self.executions(&host).len() > 1;
        assert!(may_stop, "what is wanted and serves is not stopped: {:?}", one.start);
        let is_announced = self.own.contains(execution) && self.paper().intends(&host, execution);
        assert!(
            !is_announced || self.bench.book_is_owed,
            "what is tried is not stopped before its outcome is written: {:?}",
            one.start
        );
        self.pending.push(Pending::Stop(run));
    }

    fn check(&mut self, run: RunId, check: CheckId, timeout: Duration) {
        let now = self.bench.now.monotonic;
        let overlaps = |one: &Pending| matches!(one, Pending::Check { run: of, until, .. } if *of == run && now <= *until);
        assert!(!self.pending.iter().any(overlaps), "checks of one process overlap");
        self.pending.push(Pending::Check { run, check, until: now + timeout });
    }

    fn collect(&mut self, keep: Builds) {
        let installs = |one: &Pending| matches!(one, Pending::Install(..) | Pending::Collect(_));
        assert!(!self.pending.iter().any(installs), "builds are removed while one is installed");
        let runs =
            self.alive.values().map(|one| (one.start.module.clone(), one.start.build.clone()));
        for needed in runs.chain(self.paper().needed()).chain(self.named.iter().cloned()) {
            assert!(keep.contains(&needed), "{needed:?} is collected");
        }
        self.pending.push(Pending::Collect(keep));
    }

    /// The executions of which something may be alive on an instance.
    fn executions(&self, host: &Host) -> BTreeSet<&ExecutionId> {
        let here = self.alive.values().filter(|one| Host::of(&one.start) == *host);
        here.map(|one| &one.start.execution).collect()
    }

    fn start(&mut self, run: RunId, start: Start) {
        let (host, paper) = (Host::of(&start), self.paper());
        let is_new = !self.begun.contains(&start.execution);
        let installed = self.installed.contains(&(start.module.clone(), start.build.clone()));
        assert!(installed, "what is not installed is not started");
        let is_meant = paper.wants(&start) || paper.is_good(&start) || !is_new;
        assert!(is_meant, "what the disk does not name is not started: {start:?}");
        if paper.has_served(&host, &start.build) {
            let is_held = paper.is_held(&host, &start.build, &self.condemned);
            assert!(!is_held, "what is held is not started: {start:?}");
        } else {
            paper.may_be_tried(&host, &start, &self.condemned);
        }
        let mut others = self.executions(&host);
        others.remove(&start.execution);
        assert!(others.len() <= 1, "no three of one instance: {others:?} and {start:?}");
        if is_new && !others.is_empty() {
            let is_leaving = |one: &Pending| matches!(one, Pending::Stop(of) if Host::of(&self.alive[of].start) == host);
            assert!(!self.pending.iter().any(is_leaving), "nothing begins beside what is leaving");
            assert!(
                paper.may_stand_beside(&host, &start),
                "it needs the instance for itself: {start:?}"
            );
            self.beside.insert(start.execution.clone());
        }
        let is_same = |one: &&Alive| {
            one.start.execution == start.execution && one.start.resource == start.resource
        };
        assert!(self.alive.values().find(is_same).is_none(), "twice the same: {start:?}");
        self.begun.insert(start.execution.clone());
        self.own.insert(start.execution.clone());
        self.starts += 1;
        self.alive.insert(run, Alive { start, nth: self.starts, was_unwanted: false });
        self.pending.push(Pending::Start(run));
    }

    /// What stands in the end: every instance as declared, or on its good build with a reason, or down with a reason.
    pub(crate) fn stands(&self) {
        let paper = self.paper();
        assert!(!self.bench.book_is_owed, "nothing is owed to a disk that is well");
        let statement = self.bench.newest_statement();
        for host in paper.hosts() {
            let mut found = BTreeMap::new();
            for one in self.alive.values().filter(|one| Host::of(&one.start) == host) {
                let twice = found.insert(&one.start.resource, &one.start);
                assert!(
                    twice.is_none(),
                    "one process for each resource: {twice:?} and {:?}",
                    one.start
                );
            }
            let of_host = statement
                .resources
                .iter()
                .filter(|row| row.module == host.module && row.instance == host.instance);
            paper.stands(&host, &found, &of_host.collect::<Vec<_>>(), &self.condemned);
        }
        for one in self.alive.values() {
            assert!(paper.hosts().contains(&Host::of(&one.start)), "nobody wants {:?}", one.start);
        }
        let left = paper.intents();
        assert!(
            left.is_empty(),
            "an intent stands only while something is in the middle: {left:?}"
        );
    }

    /// The next landings go like this.
    pub(crate) fn landings(&mut self, writes: &[Write]) {
        self.bench.landings.extend(writes);
    }
}
