//! The running controller over a bus and a store in memory: what is said rests on what landed, whatever store and clock do.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bus::{Bus as _, InProcessBus};
use chrono::{DateTime, TimeDelta, Utc};
use controller_core::Reading;
use controller_shell::{Clock, Config, Controller, Ids};
use inventory::{Declaration, DeclarationNumber, DeclaredModule, Instances, Machine, Manifest};
use names::{BuildId, Commit, MachineName};
use store::{Disk, Failure, Fault, MemoryStore};
use tokio::time::{Instant, timeout};
use wire::{
    BootId, Declare, DeclareReply, EngineNonce, Envelope, Event, Hello, HelloReply, ModuleOutcome,
    ModuleReport, Report, ReportReply, ResourceState, ResourceStatement, Statement,
    api::{Answer, Ask, Pace, PlanView, RefusalKind, Registration, Run},
    subject,
};

/// Far longer than anything here takes on the paused clock.
const DEADLINE: Duration = Duration::from_secs(600);

/// How long a build that breaks is well: until its report was kept, and far from the end of its gate.
const BREAKS_AFTER: Duration = Duration::from_secs(10);

/// A wall clock that tests set, beside a time since boot that runs with tokio's.
#[derive(Debug, Clone)]
struct TestClock {
    start: Instant,
    step: Arc<Mutex<TimeDelta>>,
}

impl TestClock {
    fn new() -> Self {
        Self { start: Instant::now(), step: Arc::default() }
    }

    fn step(&self, by: TimeDelta) {
        *self.step.lock().unwrap() += by;
    }
}

impl Clock for TestClock {
    fn read(&self) -> Reading {
        let since_boot_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        let elapsed = TimeDelta::milliseconds(i64::try_from(since_boot_ms).unwrap());
        let begin = DateTime::<Utc>::from_timestamp(1_800_000_000, 0).unwrap();
        Reading {
            wall: begin + elapsed + *self.step.lock().unwrap(),
            since_boot_ms,
            boot: "boot".into(),
        }
    }
}

struct Counted(u64);

impl Ids for Counted {
    fn fresh(&mut self, _wall: DateTime<Utc>) -> String {
        self.0 += 1;
        format!("01{:024}", self.0)
    }
}

/// A controller with one machine whose agent runs and states everything well.
struct Fleet {
    controller: Controller,
    bus: InProcessBus,
    store: MemoryStore,
    clock: TestClock,
}

impl Fleet {
    async fn start() -> Self {
        let (bus, store, clock) = (InProcessBus::new(), MemoryStore::new(), TestClock::new());
        let controller = run(&bus, &store, &clock).await;
        let machine = Machine {
            name: name(),
            labels: Default::default(),
            public_key: None,
            enrolled_at: clock.read().wall,
            roles: Default::default(),
            hold: None,
        };
        controller.handle().enroll(machine).await.unwrap().unwrap();
        tokio::spawn(agent(bus.clone()));
        Self { controller, bus, store, clock }
    }

    async fn ask(&self, ask: Ask) -> Answer {
        self.controller.handle().ask("tester", ask).await.unwrap()
    }

    async fn release(&self, commit: &str) -> PlanView {
        self.release_of(commit, "'./blog'").await
    }

    async fn release_of(&self, commit: &str, command: &str) -> PlanView {
        let manifest = format!(
            "[module]\nname = 'blog'\n[[resource]]\nname = 'web'\ncommand = [{command}]\n\
             [gate]\npasses = 3\nevery = '10s'\nsettle = '30s'"
        );
        let registration = Registration {
            commit: Commit::new(commit).unwrap(),
            manifest: Manifest::from_toml(manifest).unwrap(),
            artifacts: Vec::new(),
            source_fingerprint: None,
        };
        self.ask(Ask::Register(Box::new(registration))).await;
        let (module, to) = ("blog".parse().unwrap(), "box-1".parse().unwrap());
        self.ask(Ask::Assign { module, to, instances: Instances::default() }).await;
        let builds = vec!["blog".parse().unwrap()];
        let answer = self.ask(Ask::Release { builds, pace: Pace::InTurn, run: Run::Real }).await;
        let Answer::Released(released) = answer else { panic!("not released: {answer:?}") };
        released.plan
    }

    async fn plan(&self) -> PlanView {
        let Answer::Plans(plans) = self.ask(Ask::Plans).await else { panic!("no plans") };
        plans.into_iter().next().unwrap()
    }

    /// Waits until the newest plan is so; answers how long that took.
    async fn until(&self, state: &str) -> Duration {
        let began = Instant::now();
        let reached = async {
            while self.plan().await.state != state {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(DEADLINE, reached).await.unwrap_or_else(|_| panic!("the plan never is {state}"));
        began.elapsed()
    }
}

async fn run(bus: &InProcessBus, store: &MemoryStore, clock: &TestClock) -> Controller {
    let config = Config { tick: Duration::from_millis(500), ..Config::default() };
    Controller::start(config, store.clone(), bus.clone(), clock.clone(), Counted(0)).await.unwrap()
}

fn name() -> MachineName {
    "box-1".parse().unwrap()
}

fn message<T: serde::Serialize>(body: T) -> bus::Bytes {
    Envelope::new("1".into(), "box-1".into(), DateTime::UNIX_EPOCH, body).encode().unwrap().into()
}

fn body<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> T {
    Envelope::<T>::decode(bytes).unwrap().body
}

/// Takes every declaration, reports it applied until that is kept, and states every second that all is well.
async fn agent(bus: InProcessBus) {
    let pattern = subject::declare(&name()).parse().unwrap();
    let mut asked = bus.serve(&pattern).await.unwrap();
    let hello = Hello {
        machine: name(),
        agent: "test".into(),
        boot: BootId("boot".into()),
        engine: EngineNonce("engine".into()),
        held: None,
        clock: DateTime::UNIX_EPOCH,
    };
    let subject = subject::hello(&name()).parse().unwrap();
    let answer = bus.request(&subject, message(hello), Duration::from_secs(5)).await.unwrap();
    let _: HelloReply = body(&answer);
    let mut held: Option<Declaration> = None;
    let mut held_since = Instant::now();
    let mut kept = None;
    for sequence in 1.. {
        while let Some(request) = asked.try_next() {
            held = Some(body::<Declare>(&request.payload).declaration);
            held_since = Instant::now();
            request.responder.respond(message(DeclareReply::Taken)).unwrap();
        }
        let number = held.as_ref().map(|held| held.number);
        let health = subject::health(&name()).parse().unwrap();
        let stated = statement(sequence, held.as_ref(), held_since.elapsed());
        bus.publish(&health, message(stated)).await.unwrap();
        if let Some(held) = &held
            && kept != number
        {
            let subject = subject::report(&name()).parse().unwrap();
            let answer = bus.request(&subject, message(report(held)), Duration::from_secs(1)).await;
            kept = answer.ok().map(|answer| body::<ReportReply>(&answer).declaration);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn report(held: &Declaration) -> Report {
    let modules = held.modules.iter().map(|(module, declared)| {
        let executions =
            declared.instances.keys().map(|it| (it.clone(), "a1-1".parse().unwrap())).collect();
        let report = ModuleReport {
            build: Some(declared.build.clone()),
            executions,
            held: None,
            outcome: ModuleOutcome::Applied,
        };
        (module.clone(), report)
    });
    Report { machine: name(), declaration: held.number, revision: 1, modules: modules.collect() }
}

fn statement(sequence: u64, held: Option<&Declaration>, held_for: Duration) -> Statement {
    let modules = held.into_iter().flat_map(|held| &held.modules);
    let resources = modules.flat_map(|(module, declared)| {
        declared.instances.keys().map(|instance| ResourceStatement {
            module: module.clone(),
            instance: instance.clone(),
            resource: "web".parse().unwrap(),
            build: declared.build.clone(),
            execution: Some("a1-1".parse().unwrap()),
            process: None,
            state: state_of(declared, held_for),
            since: DateTime::UNIX_EPOCH,
            restarts: 0,
            why: None,
            address: None,
        })
    });
    Statement {
        machine: name(),
        boot: BootId("boot".into()),
        engine: EngineNonce("engine".into()),
        sequence,
        declaration: held.map(|held| held.number),
        resources: resources.collect(),
        troubles: Vec::new(),
    }
}

/// A build whose command says so breaks after a while, or is never well.
fn state_of(declared: &DeclaredModule, held_for: Duration) -> ResourceState {
    let is = |word| declared.manifest.resources[0].command.iter().any(|part| part == word);
    if is("ails") {
        return ResourceState::Unhealthy;
    }
    match is("breaks") && held_for >= BREAKS_AFTER {
        true => ResourceState::Failed,
        false => ResourceState::Healthy,
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_passes_and_its_events_are_told() {
    let fleet = Fleet::start().await;
    let mut events = fleet.bus.subscribe(&subject::any_event().parse().unwrap()).await.unwrap();
    fleet.release("a").await;
    let took = fleet.until("done").await;
    assert!(took >= Duration::from_secs(30), "three passes that settle for 30 s took {took:?}");
    let told = timeout(DEADLINE, events.next()).await.unwrap().unwrap();
    assert_eq!(body::<Event>(&told.payload).kind, "plan-moved");
}

#[tokio::test(start_paused = true)]
async fn clock_steps_move_neither_settle_nor_bound() {
    let steady = Fleet::start().await;
    steady.release("a").await;
    let undisturbed = steady.until("done").await;
    for step in [TimeDelta::hours(-1), TimeDelta::hours(1), TimeDelta::days(-20_000)] {
        let fleet = Fleet::start().await;
        fleet.release("a").await;
        fleet.until("judging").await;
        let began = Instant::now();
        tokio::time::sleep(Duration::from_secs(7)).await;
        fleet.clock.step(step);
        fleet.until("done").await;
        let took = began.elapsed();
        assert!(
            took.abs_diff(undisturbed) <= Duration::from_secs(3),
            "{took:?} instead of {undisturbed:?} after {step}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn clock_steps_let_no_bound_fall_early_or_late() {
    let took = async |step: TimeDelta| {
        let fleet = Fleet::start().await;
        fleet.release_of("a", "'./blog', 'ails'").await;
        fleet.until("judging").await;
        let began = Instant::now();
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            fleet.clock.step(step);
        }
        let failed = async {
            while fleet.plan().await.state != "failed" {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(DEADLINE * 2, failed).await.unwrap();
        began.elapsed()
    };
    let undisturbed = took(TimeDelta::zero()).await;
    assert!(undisturbed >= Duration::from_secs(600), "the bound is ten minutes: {undisturbed:?}");
    for step in [TimeDelta::hours(-1), TimeDelta::hours(1), TimeDelta::days(-20_000)] {
        let took = took(step).await;
        assert!(
            took.abs_diff(undisturbed) <= Duration::from_secs(3),
            "{took:?} instead of {undisturbed:?} after {step}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_or_acknowledged_while_the_store_takes_no_writes() {
    let fleet = Fleet::start().await;
    fleet.store.set_disk(Disk::Refusing(Failure::Full));
    let module = "blog".parse().unwrap();
    let refused = fleet
        .ask(Ask::Assign { module, to: "box-1".parse().unwrap(), instances: Instances::default() })
        .await;
    assert!(
        matches!(&refused, Answer::Refused(refusal) if refusal.kind == RefusalKind::Unknown),
        "{refused:?}"
    );

    fleet.store.set_disk(Disk::Writable);
    fleet.release("a").await;
    fleet.store.set_disk(Disk::Refusing(Failure::Full));
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(matches!(fleet.plan().await.state.as_str(), "judging" | "sending" | "queued"));
    let Answer::Conditions(conditions) = fleet.ask(Ask::Conditions).await else {
        panic!("no conditions")
    };
    assert_eq!(
        conditions.first().map(|it| it.key.as_str()),
        Some("core.controller.store-not-writable")
    );
    let Answer::Machines(machines) = fleet.ask(Ask::Machines).await else { panic!("no machines") };
    assert!(
        machines[0].holds.is_none_or(|held| held <= DeclarationNumber(1)),
        "what did not land was not sent"
    );

    fleet.store.set_disk(Disk::Writable);
    fleet.until("done").await;
    let Answer::Conditions(conditions) = fleet.ask(Ask::Conditions).await else {
        panic!("no conditions")
    };
    assert!(conditions.is_empty(), "{conditions:?}");
}

/// What others put on the controller's disk must not keep a bad build running on a machine.
#[tokio::test(start_paused = true)]
async fn a_build_that_fails_is_put_back_although_the_disk_is_low() {
    let fleet = Fleet::start().await;
    let good = fleet.release("a").await.moves[0].to.clone();
    fleet.until("done").await;
    let bad = fleet.release_of("b", "'./blog', 'breaks'").await.moves[0].to.clone();
    let runs = async |build: &BuildId| {
        let Answer::Machines(machines) = fleet.ask(Ask::Machines).await else {
            panic!("no machines")
        };
        machines[0].resources.iter().any(|resource| resource.build == *build)
    };
    let reached = async |build: &BuildId| {
        while !runs(build).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, reached(&bad)).await.unwrap();
    tokio::time::sleep(BREAKS_AFTER / 2).await;
    fleet.store.set_disk(Disk::Low);
    timeout(Duration::from_secs(30), reached(&good)).await.unwrap();
    assert_ne!(fleet.plan().await.state, "failed", "its report has no room yet");

    fleet.store.set_disk(Disk::Writable);
    fleet.until("failed").await;
    assert!(runs(&good).await);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_did_not_land_is_answered_so_and_has_changed_nothing() {
    let fleet = Fleet::start().await;
    fleet.release("a").await;
    fleet.until("done").await;
    fleet.store.set_disk(Disk::Refusing(Failure::ReadOnly));
    let unassign = Ask::Unassign { module: "blog".parse().unwrap(), to: "box-1".parse().unwrap() };
    let answer = fleet.ask(unassign).await;
    assert!(
        matches!(&answer, Answer::Refused(refusal) if refusal.kind == RefusalKind::NotKept),
        "{answer:?}"
    );
    let Answer::Modules(modules) = fleet.ask(Ask::Modules).await else { panic!("no modules") };
    assert_eq!(modules[0].assigned, ["box-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_landed_although_it_failed_is_found_without_a_restart() {
    let fleet = Fleet::start().await;
    fleet.release("a").await;
    fleet.until("done").await;
    // Past whatever else is written meanwhile, the answer to this very write is lost.
    let unassign = Ask::Unassign { module: "blog".parse().unwrap(), to: "box-1".parse().unwrap() };
    fleet.store.fault_after(0, Fault::Lies(Failure::Broken));
    let answer = fleet.ask(unassign).await;
    let told = matches!(&answer, Answer::Refused(refusal) if refusal.kind == RefusalKind::NotKept);
    assert!(told, "{answer:?}");
    let found = async {
        loop {
            let Answer::Modules(modules) = fleet.ask(Ask::Modules).await else {
                panic!("no modules")
            };
            if modules[0].assigned.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, found).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_restarted_controller_goes_on_with_the_row_of_passes() {
    let fleet = Fleet::start().await;
    fleet.release("a").await;
    let two = async {
        while fleet.plan().await.gate.is_none_or(|gate| gate.passes < 2) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(DEADLINE, two).await.unwrap();
    let Fleet { controller, bus, store, clock } = fleet;
    controller.stop().await;
    let controller = run(&bus, &store, &clock).await;
    let fleet = Fleet { controller, bus, store, clock };
    assert_eq!(fleet.plan().await.gate.map(|gate| gate.passes), Some(2));
    fleet.until("done").await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_cannot_speak_for_another_and_noise_changes_nothing() {
    let fleet = Fleet::start().await;
    let subject = subject::report(&"box-2".parse().unwrap()).parse().unwrap();
    let report = Report {
        machine: name(),
        declaration: DeclarationNumber(9),
        revision: 1,
        modules: Default::default(),
    };
    assert!(
        fleet.bus.request(&subject, message(report), Duration::from_secs(1)).await.is_err(),
        "not acknowledged"
    );
    for noise in [&b""[..], b"{}", b"\xff\xfe", b"[1,2"] {
        let health = subject::health(&name()).parse().unwrap();
        fleet.bus.publish(&health, noise.to_vec().into()).await.unwrap();
        let own = subject::report(&name()).parse().unwrap();
        assert!(
            fleet.bus.request(&own, noise.to_vec().into(), Duration::from_secs(1)).await.is_err()
        );
    }
    fleet.release("a").await;
    fleet.until("done").await;
}
