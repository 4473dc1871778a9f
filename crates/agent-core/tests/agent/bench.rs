//! An agent on a workbench: events go in by hand, and what it decides is told in short words.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use crate::begun::address_of;
pub(crate) use crate::begun::{opened, start};
use crate::brief::{brief, brief_row};
pub(crate) use crate::composed::{
    A, B, C, WEB, declaration, fragile, hold, in_turn, module, with_environment,
};
use agent_core::{
    Action, Adopted, Agent, AskId, CheckId, Decision, Event, FoundBook, Kept, Now, Obstacle, RunId,
    Start, ToLand, VerificationId,
};
use chrono::{DateTime, TimeDelta};
use failure_book::{Row, RowChange, RowKey, Step};
use inventory::Declaration;
use wire::route::Table;
use wire::{
    BootId, ProcessIdentity, Report, ReportReply, ResourceStatement, Statement, Trouble,
    TroubleKind, UnableBecause,
};

/// How a landing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Lands,
    /// It does not land, and that is said.
    Fails,
    /// It lands, and is said not to have.
    LandsUnknown,
    /// The agent dies before it lands.
    DiesBefore,
    /// The agent dies after it landed, before it hears of it.
    DiesAfter,
}

pub(crate) struct Bench {
    pub(crate) agent: Agent,
    pub(crate) now: Now,
    /// What is on the disk.
    pub(crate) kept: Option<Kept>,
    /// What the agent knows to be on the disk.
    pub(crate) known: Option<Kept>,
    /// What is on the disk of the failure book.
    pub(crate) book: Option<failure_book::Kept>,
    /// The same by rows.
    pub(crate) rows: BTreeMap<RowKey, Row>,
    /// Why the book cannot be read, if it cannot.
    pub(crate) unreadable: Option<String>,
    /// What the disk says to all landings, if it refuses them.
    pub(crate) disk: Result<(), String>,
    /// How the next landings go; then it is as the disk says.
    pub(crate) landings: VecDeque<Write>,
    /// Whether the newest landing of the book did not land, or was not known to.
    pub(crate) book_is_owed: bool,
    /// The agent died at a landing and has to be started again.
    pub(crate) is_dead: bool,
    /// Everything decided that no one has looked at.
    pub(crate) actions: Vec<Action>,
    /// The newest start and the newest verification asked for.
    pub(crate) run: Option<RunId>,
    pub(crate) start: Option<Start>,
    pub(crate) verification: Option<VerificationId>,
    /// Where the public addresses lead, as it was asked last; and whether that waits for an answer.
    pub(crate) table: Table,
    is_asked: bool,
    /// What the router finds wrong with addresses.
    pub(crate) unroutable: BTreeMap<SocketAddr, String>,
    /// What every look at the machine itself finds.
    pub(crate) troubles: Vec<Trouble>,
    /// The newest check asked for of each process.
    checks: BTreeMap<RunId, CheckId>,
    statement: Option<Statement>,
    report: Option<Report>,
    incarnation: u64,
    asked: u64,
    pids: u32,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let now = Now { monotonic: Duration::from_secs(1_000), wall: DateTime::UNIX_EPOCH };
        let (agent, decision) = start(1, None, opened(None, now), Vec::new(), now);
        let mut bench = Self {
            agent,
            now,
            kept: None,
            known: None,
            book: None,
            rows: BTreeMap::new(),
            unreadable: None,
            disk: Ok(()),
            landings: VecDeque::new(),
            book_is_owed: false,
            is_dead: false,
            actions: Vec::new(),
            run: None,
            start: None,
            verification: None,
            table: Table::default(),
            is_asked: false,
            unroutable: BTreeMap::new(),
            troubles: Vec::new(),
            checks: BTreeMap::new(),
            statement: None,
            report: None,
            incarnation: 1,
            asked: 0,
            pids: 100,
        };
        bench.follow(decision);
        bench
    }

    /// An agent that has declared one build of the manifest on `blog-1`, installed, verified, running and healthy.
    pub(crate) fn running(build: &str, manifest: &str) -> Self {
        let mut bench = Self::new();
        bench.declare(1, build, manifest);
        bench.installed(build, Ok(()));
        bench.verified(Ok(()));
        let run = bench.run.unwrap();
        bench.prove(run);
        bench.acknowledge();
        bench.actions.clear();
        bench
    }

    /// An agent whose good build was started again after a power cut; its only process was not checked yet.
    pub(crate) fn started_again(build: &str, manifest: &str) -> Self {
        let mut bench = Self::running(build, manifest);
        bench.restart();
        bench.installed(build, Ok(()));
        bench.verified(Ok(()));
        let run = bench.run.unwrap();
        bench.started(run);
        bench
    }

    /// An agent that runs one build of the manifest on `blog-1` and `blog-2`, and the two processes.
    pub(crate) fn pair(build: &str, manifest: &str) -> (Self, [RunId; 2]) {
        let mut bench = Self::new();
        bench.offer(declaration(
            1,
            [("blog", module(build, manifest, &["blog-1", "blog-2"]))],
            &[],
        ));
        bench.installed(build, Ok(()));
        bench.verified_all();
        let first = bench.run.unwrap();
        bench.prove(first);
        let second = bench.run.unwrap();
        bench.prove(second);
        bench.acknowledge();
        bench.actions.clear();
        (bench, [first, second])
    }

    /// Answers every verification that was asked for and not looked at.
    pub(crate) fn verified_all(&mut self) {
        for verification in self.verifications() {
            self.event(Event::Verified { verification, outcome: Ok(()) });
        }
    }

    /// Takes an event in, and lands what is to land.
    pub(crate) fn event(&mut self, event: Event) {
        if !self.is_dead {
            let decision = self.agent.handle(event, self.now);
            self.follow(decision);
        }
    }

    fn follow(&mut self, mut decision: Decision) {
        loop {
            decision.actions.iter().for_each(|action| self.note(action));
            let looks =
                decision.actions.extract_if(.., |one| matches!(one, Action::Examine)).count();
            self.actions.append(&mut decision.actions);
            let Some(landing) = decision.land else {
                if std::mem::take(&mut self.is_asked) {
                    let mut faults = self.unroutable.clone();
                    faults.retain(|address, _| self.table.0.contains_key(address));
                    self.event(Event::Routed(Ok(faults)));
                }
                for _ in 0..looks {
                    self.event(Event::Examined { troubles: self.troubles.clone() });
                }
                return;
            };
            let as_disk = if self.disk.is_ok() { Write::Lands } else { Write::Fails };
            let how = self.landings.pop_front().unwrap_or(as_disk);
            if matches!(how, Write::Lands | Write::LandsUnknown | Write::DiesAfter) {
                self.land(landing.what());
            }
            match landing.what() {
                ToLand::Book(_) => self.book_is_owed = how != Write::Lands,
                ToLand::Kept(kept) if how == Write::Lands => self.known = Some(kept.clone()),
                ToLand::Kept(_) => {}
            }
            let said = match how {
                Write::Lands => Ok(()),
                Write::Fails => Err(self.disk.clone().err().unwrap_or("no space left".to_owned())),
                Write::LandsUnknown => Err("it is not known whether it landed".to_owned()),
                Write::DiesBefore | Write::DiesAfter => {
                    self.is_dead = true;
                    return;
                }
            };
            decision = self.agent.landed(landing, said, self.now);
        }
    }

    fn land(&mut self, what: ToLand<'_>) {
        match what {
            ToLand::Kept(kept) => self.kept = Some(kept.clone()),
            ToLand::Book(change) => {
                self.book.get_or_insert_default().apply(change);
                for row in change.rows() {
                    match row {
                        RowChange::Put(row) => drop(self.rows.insert(row.key(), row.clone())),
                        RowChange::Drop(key) => drop(self.rows.remove(key)),
                    }
                }
            }
        }
    }

    fn note(&mut self, action: &Action) {
        match action {
            Action::Start { run, start } => {
                self.run = Some(*run);
                self.start = Some((**start).clone());
            }
            Action::Verify { verification, .. } => self.verification = Some(*verification),
            Action::Check { run, check, .. } => drop(self.checks.insert(*run, *check)),
            Action::Route(table) => {
                self.table = table.clone();
                self.is_asked = true;
            }
            Action::State(statement) => self.statement = Some(statement.clone()),
            Action::Report(report) => self.report = Some(report.clone()),
            Action::Answer { .. }
            | Action::Install { .. }
            | Action::Stop { .. }
            | Action::Examine
            | Action::Collect { .. }
            | Action::AnswerWord { .. }
            | Action::AnswerBook { .. }
            | Action::Hello(_) => {}
        }
    }

    /// The agent process dies, and another starts with what was kept. Nothing is found running, as after a power cut.
    pub(crate) fn restart(&mut self) {
        self.restart_with(Vec::new());
    }

    /// The agent process dies, and another starts with what was kept and what is found running.
    pub(crate) fn restart_with(&mut self, found: Vec<Adopted>) {
        self.incarnation += 1;
        let (kept, book) = (self.kept.clone(), self.book.clone());
        let book = match &self.unreadable {
            Some(why) => FoundBook::Unreadable { why: why.clone() },
            None => opened(book, self.now),
        };
        let (agent, decision) = start(self.incarnation, kept, book, found, self.now);
        self.begin(agent, decision);
    }

    /// Another agent takes the place of the one before.
    fn begin(&mut self, agent: Agent, decision: Decision) {
        self.agent = agent;
        self.is_dead = false;
        self.book_is_owed = false;
        self.known = self.kept.clone();
        self.actions.clear();
        self.follow(decision);
    }

    /// Somebody frees an instance of `blog` from the record of a build, while no agent runs.
    pub(crate) fn free(&mut self, instance: &str, build: &str) {
        let FoundBook::Open(mut book) = opened(self.book.clone(), self.now) else { unreachable!() };
        let build = failure_book::Build::new("default", "blog", build).unwrap();
        let host = failure_book::Host::new(instance).unwrap();
        if let Step::Land(change, _) = book.retry_host(&build, &host) {
            self.land(ToLand::Book(&change));
        }
    }

    /// The process of a start, as it is found running.
    pub(crate) fn found(&mut self, nth: u32, start: &Start) -> Adopted {
        Adopted {
            run: RunId::adopted(nth),
            module: start.module.clone(),
            instance: start.instance.clone(),
            resource: start.resource.clone(),
            execution: start.execution.clone(),
            declared: start.declared.clone(),
            seen: self.agent.seen(),
            process: self.process(),
            address: SocketAddr::from(([127, 0, 0, 1], 20_001)),
        }
    }

    fn process(&mut self) -> ProcessIdentity {
        self.pids += 1;
        ProcessIdentity { pid: self.pids, started: 7, boot: BootId("boot".to_owned()) }
    }

    /// Time passes, and every wake on its way is kept.
    pub(crate) fn pass(&mut self, ms: u64) {
        self.pass_to(self.now.monotonic + Duration::from_millis(ms));
    }

    pub(crate) fn pass_to(&mut self, end: Duration) {
        while self.agent.wake() <= end && !self.is_dead {
            let wake = self.agent.wake().max(self.now.monotonic);
            self.move_to(wake);
            self.event(Event::Tick);
        }
        self.move_to(end);
    }

    fn move_to(&mut self, monotonic: Duration) {
        let step = monotonic - self.now.monotonic;
        self.now = Now { monotonic, wall: self.now.wall + TimeDelta::from_std(step).unwrap() };
    }

    pub(crate) fn offer(&mut self, declaration: Declaration) {
        self.asked += 1;
        let ask = AskId(self.asked);
        self.event(Event::Declared { ask, declaration: Box::new(declaration) });
    }

    /// Declares one build on the instance `blog-1`.
    pub(crate) fn declare(&mut self, number: u64, build: &str, manifest: &str) {
        let module = module(build, manifest, &["blog-1"]);
        self.offer(declaration(number, [("blog", module)], &[]));
    }

    pub(crate) fn installed(&mut self, build: &str, outcome: Result<(), UnableBecause>) {
        let (module, build) = ("blog".parse().unwrap(), build.parse().unwrap());
        let outcome = outcome.map_err(obstacle);
        self.event(Event::Installed { module, build, outcome });
    }

    /// Answers the newest verification.
    pub(crate) fn verified(&mut self, outcome: Result<(), UnableBecause>) {
        let verification = self.verification.unwrap();
        let outcome = outcome.map_err(obstacle);
        self.event(Event::Verified { verification, outcome });
    }

    /// Every start that was asked for and not looked at.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        let run = |action: &Action| {
            if let Action::Start { run, .. } = action { Some(*run) } else { None }
        };
        self.actions.iter().filter_map(run).collect()
    }

    /// Every verification that was asked for and not looked at.
    pub(crate) fn verifications(&self) -> Vec<VerificationId> {
        let verification = |action: &Action| {
            if let Action::Verify { verification, .. } = action {
                Some(*verification)
            } else {
                None
            }
        };
        self.actions.iter().filter_map(verification).collect()
    }

    pub(crate) fn started(&mut self, run: RunId) {
        let process = self.process();
        let address = address_of(&process);
        self.event(Event::Started { run, process, address });
    }

    /// Lets a process run, and answers its checks well for as long as a trial of it is watched.
    pub(crate) fn prove(&mut self, run: RunId) {
        self.prove_all(&[run]);
    }

    /// The same for all processes of an execution.
    pub(crate) fn prove_all(&mut self, runs: &[RunId]) {
        runs.iter().for_each(|run| self.started(*run));
        for _ in 0..4 {
            runs.iter().for_each(|run| self.checked(*run, Ok(())));
            self.pass(1_000);
        }
    }

    /// What is on the disk of the failure book, in short words.
    pub(crate) fn book(&self) -> Vec<String> {
        self.rows.values().filter_map(brief_row).collect()
    }

    /// The good build of an instance of `blog`, as it is kept.
    pub(crate) fn good(&self, instance: &str) -> Option<String> {
        let here = self.kept.as_ref()?.served.get("blog")?.get(instance)?;
        Some(here.good.build.to_string())
    }

    /// The newest process falls, and is given up.
    pub(crate) fn fall(&mut self) {
        let run = self.run.unwrap();
        self.started(run);
        self.exited(run, "exit status 3");
    }

    /// Declares, installs and verifies a build on `blog-1`, up to where something is begun.
    pub(crate) fn readied(&mut self, number: u64, build: &str, manifest: &str) {
        self.declare(number, build, manifest);
        self.installed(build, Ok(()));
        self.verified(Ok(()));
    }

    pub(crate) fn not_started(&mut self, run: RunId) {
        self.event(Event::NotStarted { run, obstacle: obstacle(UnableBecause::Start) });
    }

    pub(crate) fn checked(&mut self, run: RunId, outcome: Result<(), &str>) {
        self.check_answered(run, self.checks[&run], outcome);
    }

    /// The newest check asked for of a process.
    pub(crate) fn check_of(&self, run: RunId) -> CheckId {
        self.checks[&run]
    }

    pub(crate) fn check_answered(&mut self, run: RunId, check: CheckId, outcome: Result<(), &str>) {
        self.event(Event::Checked { run, check, outcome: outcome.map_err(str::to_owned) });
    }

    /// From now on looks at the machine itself find this; the next one is made at once.
    pub(crate) fn machine_has(&mut self, kinds: &[TroubleKind]) {
        let trouble =
            |kind: &TroubleKind| Trouble { kind: *kind, why: format!("it is {}", kind.as_str()) };
        self.troubles = kinds.iter().map(trouble).collect();
        self.event(Event::Examined { troubles: self.troubles.clone() });
    }

    pub(crate) fn exited(&mut self, run: RunId, how: &str) {
        let last_lines = vec!["last words".to_owned()];
        self.event(Event::Exited { run, how: how.to_owned(), last_lines });
    }

    /// Acknowledges the newest report.
    pub(crate) fn acknowledge(&mut self) {
        let Report { declaration, revision, .. } = self.report.clone().unwrap();
        self.event(Event::ReportKept(ReportReply { declaration, revision }));
    }

    pub(crate) fn newest_statement(&self) -> &Statement {
        self.statement.as_ref().unwrap()
    }

    pub(crate) fn reports(&self) -> Vec<Report> {
        let report = |action: &Action| {
            if let Action::Report(report) = action { Some(report.clone()) } else { None }
        };
        self.actions.iter().filter_map(report).collect()
    }

    pub(crate) fn statements(&self) -> Vec<Statement> {
        let statement = |action: &Action| {
            if let Action::State(statement) = action { Some(statement.clone()) } else { None }
        };
        self.actions.iter().filter_map(statement).collect()
    }

    /// The only resource's row in the newest statement.
    pub(crate) fn row(&self) -> ResourceStatement {
        let [row] = &self.newest_statement().resources[..] else {
            unreachable!("one resource is declared")
        };
        row.clone()
    }

    /// What was decided since the last look, without checks, statements and hellos.
    pub(crate) fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.actions).iter().filter_map(brief).collect()
    }
}

/// The failure book of what is kept of it.
pub(crate) fn obstacle(because: UnableBecause) -> Obstacle {
    Obstacle { because, why: "in the way".to_owned() }
}
