//! A fleet in memory: the real core, a store that can lose the process between any two writes, and machines by script.

mod machine;
mod store;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use controller_core::{
    Asking, Controller, Effect, Plan, PlanState, Reading, Records, Reply, Rules, Step, Timeline,
};
use inventory::{Declaration, Epoch, Instances, Machine, Manifest, Target};
use names::{BuildId, Commit, Digest, MachineName, ModuleName, PlanId};
use wire::{
    BuildsKept, DeclareReply, HelloReply,
    api::{Answer, Ask, BuildRef, Pace, Refusal, Registration, Run},
};

pub(crate) use machine::{Behaviour, SimMachine};
pub(crate) use store::Disk;

/// How long one step of the clock is. Machines state their health at each.
const STEP: TimeDelta = TimeDelta::seconds(1);

/// A manifest whose gate needs three passes, a second apart, settles for three seconds and waits for twenty.
pub(crate) const MANIFEST: &str = r#"
[module]
name = "blog"
[[resource]]
name = "web"
command = ["./blog"]
[gate]
passes = 3
every = "1s"
settle = "3s"
bound = "20s"
"#;

/// The process was killed.
#[derive(Debug)]
struct Killed;

/// The whole fleet.
pub(crate) struct Fleet {
    pub(crate) core: Controller,
    pub(crate) disk: Disk,
    pub(crate) machines: BTreeMap<MachineName, SimMachine>,
    pub(crate) now: DateTime<Utc>,
    timeline: Timeline,
    /// What the clocks of the controller's machine say.
    reading: Reading,
    /// What was told, oldest first: kind and summary.
    pub(crate) told: Vec<(String, String)>,
    /// Every declaration that reached a machine, in order.
    pub(crate) sent: Vec<Declaration>,
    /// Writes and effects so far; the process dies before the one with this number.
    pub(crate) actions: usize,
    pub(crate) kill_before: Option<usize>,
    pub(crate) kills: usize,
    ids: u64,
}

impl Fleet {
    /// So many machines, heard and without anything to run.
    pub(crate) fn new(machines: usize) -> Self {
        Self::from_wall(machines, DateTime::from_timestamp(1_800_000_000, 0).unwrap())
    }

    /// The same, where the time of day is this when the controller starts for the first time.
    pub(crate) fn from_wall(machines: usize, wall: DateTime<Utc>) -> Self {
        let reading = Reading { wall, since_boot_ms: 77_000, boot: "boot-1".into() };
        let (timeline, _) = Timeline::begin(None, &reading);
        let now = timeline.now(&reading);
        let disk = Disk::default();
        let core = Controller::restore(
            Rules::default(),
            Epoch(1),
            Records::default(),
            now,
            TimeDelta::zero(),
        );
        let mut fleet = Self {
            core,
            disk,
            machines: BTreeMap::new(),
            now,
            timeline,
            reading,
            told: Vec::new(),
            sent: Vec::new(),
            actions: 0,
            kill_before: None,
            kills: 0,
            ids: 0,
        };
        for number in 1..=machines {
            fleet.join(&format!("box-{number}"));
        }
        fleet.run(2);
        fleet
    }

    /// Enrols a machine and lets it say hello.
    pub(crate) fn join(&mut self, name: &str) {
        let name: MachineName = name.parse().unwrap();
        let machine = Machine {
            name: name.clone(),
            labels: BTreeMap::new(),
            public_key: None,
            enrolled_at: self.now,
            roles: Default::default(),
            hold: None,
        };
        let step = self.core.enroll(machine);
        self.carry_out(&step);
        self.machines.insert(name.clone(), SimMachine::new(name));
    }

    /// Registers a build of `blog` under this commit, and answers its id. What it does is up to [`Fleet::script`].
    pub(crate) fn register(&mut self, commit: &str) -> BuildId {
        self.try_register(commit, MANIFEST).expect("a build that nobody condemned")
    }

    pub(crate) fn try_register(
        &mut self,
        commit: &str,
        manifest: &str,
    ) -> Result<BuildId, Refusal> {
        let registration = Registration {
            commit: Commit::new(commit).unwrap(),
            manifest: Manifest::from_toml(manifest).unwrap(),
            artifacts: vec![inventory::Artifact {
                name: "blog.tar".parse().unwrap(),
                size: 1,
                digest: Digest::from_bytes([commit.bytes().fold(0_u8, u8::wrapping_add); 32]),
            }],
            source_fingerprint: None,
        };
        let answer = self.ask(Ask::Register(Box::new(registration)))?;
        let Answer::Registered(registered) = answer else { panic!("not registered: {answer:?}") };
        Ok(registered.build)
    }

    pub(crate) fn assign(&mut self, module: &str, to: &str) {
        let to: Target = to.parse().unwrap();
        self.ask(Ask::Assign {
            module: module.parse().unwrap(),
            to,
            instances: Instances::default(),
        })
        .unwrap();
    }

    /// Assigns `blog` to every machine, releases this build of it to all, and waits until that is done.
    pub(crate) fn with_good_build(&mut self, commit: &str) -> BuildId {
        let build = self.register(commit);
        let all: Vec<_> = self.machines.keys().map(MachineName::as_str).collect();
        let all = all.join(",");
        self.assign("blog", &all);
        let plan = self.release(&format!("blog@{commit}"));
        self.run_until("the good build is everywhere", |fleet| {
            matches!(fleet.plan(&plan).state, PlanState::Done { .. })
        });
        build
    }

    pub(crate) fn release(&mut self, what: &str) -> PlanId {
        self.try_release(what, Pace::InTurn).expect("a release that no rule forbids")
    }

    pub(crate) fn try_release(&mut self, what: &str, pace: Pace) -> Result<PlanId, Refusal> {
        let builds = what.split(' ').map(|build| build.parse::<BuildRef>().unwrap()).collect();
        let answer = self.ask(Ask::Release { builds, pace, run: Run::Real })?;
        let Answer::Released(released) = answer else { panic!("not released: {answer:?}") };
        Ok(released.plan.plan)
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Answer, Refusal> {
        self.ids += 1;
        let fresh = format!("01{:024}", self.ids);
        let asking = Asking { sender: "tester", now: self.now, fresh: &fresh };
        let (step, reply) = self.core.ask(asking, ask)?;
        self.carry_out(&step);
        self.settle();
        match reply {
            Reply::Told(answer) => Ok(*answer),
            Reply::Machine { machine, .. } => panic!("{machine} is not asked here"),
        }
    }

    /// All machines behave like this with builds of this commit.
    pub(crate) fn script(&mut self, commit: &str, behaviour: Behaviour) {
        for machine in self.machines.values_mut() {
            machine.script(commit, behaviour.clone());
        }
    }

    pub(crate) fn machine(&mut self, name: &str) -> &mut SimMachine {
        self.machines.get_mut(name).expect("a machine of the fleet")
    }

    pub(crate) fn plan(&self, plan: &PlanId) -> &Plan {
        self.core.state().records.plans.get(plan).expect("a plan that was kept")
    }

    /// What a plan's state and note say.
    pub(crate) fn told_of(&mut self, plan: &PlanId) -> (String, String) {
        let answer = self.ask(Ask::Plan { plan: plan.clone() }).unwrap();
        let Answer::Plan(view) = answer else { panic!("no plan: {answer:?}") };
        (view.state, view.note)
    }

    /// The commit that a machine runs of `blog`.
    pub(crate) fn runs(&self, machine: &str) -> Option<String> {
        let module: ModuleName = "blog".parse().unwrap();
        self.machines.get(machine)?.running(&module)
    }

    /// The keys of all open conditions.
    pub(crate) fn conditions(&self) -> Vec<String> {
        self.core
            .state()
            .records
            .conditions
            .open()
            .map(|condition| condition.key.to_string())
            .collect()
    }

    /// The commits of `blog` that a machine was ever declared, in order, each run of the same one once.
    pub(crate) fn declared_to(&self, machine: &str) -> Vec<String> {
        self.declared_of("blog", machine)
    }

    /// The same of any module.
    pub(crate) fn declared_of(&self, module: &str, machine: &str) -> Vec<String> {
        let declared =
            self.sent.iter().filter(|declaration| declaration.machine.as_str() == machine);
        let commits = declared.filter_map(|it| Some(it.modules.get(module)?.commit.to_string()));
        let mut each = Vec::new();
        for commit in commits {
            if each.last() != Some(&commit) {
                each.push(commit);
            }
        }
        each
    }

    /// Lets seconds pass, one by one.
    pub(crate) fn run(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.second();
        }
    }

    /// Lets time pass until something is so. Every wait in these stories is over within minutes of the fleet's time.
    pub(crate) fn run_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..600 {
            if is_so(self) {
                return;
            }
            self.second();
        }
        let plans: Vec<_> =
            self.core.state().records.plans.values().map(|plan| &plan.state).collect();
        panic!(
            "not within ten minutes: {what}; plans: {plans:#?}; conditions: {:?}",
            self.conditions()
        );
    }

    /// Sets the clock of the controller's machine.
    pub(crate) fn set_clock(&mut self, by: TimeDelta) {
        self.reading.wall += by;
    }

    /// The controller's machine boots again. What its clock says then is told beside; the others do not notice.
    pub(crate) fn reboot(&mut self, wall: DateTime<Utc>) {
        let boot = format!("{}-again", self.reading.boot);
        self.reading = Reading { wall, since_boot_ms: 5_000, boot };
        self.restart();
    }

    fn second(&mut self) {
        self.reading.wall += STEP;
        self.reading.since_boot_ms += 1_000;
        self.now = self.timeline.now(&self.reading);
        let names: Vec<_> = self.machines.keys().cloned().collect();
        for name in names {
            let machine = self.machines.get_mut(&name).expect("its own key");
            let said = machine.second(self.now);
            if let Some(hello) = said.hello
                && let Ok(reply) = self.core.hear_hello(self.now, hello)
            {
                self.answered(&name, reply);
            }
            if let Some(statement) = said.statement {
                let _ = self.core.hear_statement(self.now, statement);
            }
            if let Some(report) = said.report
                && let Ok((step, reply)) = self.core.hear_report(self.now, report)
                && self.carry_out(&step)
                && let Some(machine) = self.machines.get_mut(&name)
            {
                machine.acknowledged(&reply);
            }
        }
        self.core.tick();
        self.settle();
    }

    /// The agent takes what it is answered, and the next hello says so.
    fn answered(&mut self, name: &MachineName, reply: HelloReply) {
        if let Some(declaration) = reply.declaration {
            let _ = self.deliver(&declaration);
        }
        if let Some(word) = reply.keep {
            self.whatever_may_go_back_is_kept(name, &word);
            self.machines.get_mut(name).expect("its own key").keep(&word);
        }
    }

    /// A law: what any plan that has not ended would put back is never removed from a machine that may run it.
    fn whatever_may_go_back_is_kept(&self, name: &MachineName, word: &BuildsKept) {
        let records = &self.core.state().records;
        let open = records.plans.values().filter(|plan| plan.is_open());
        for it in open.flat_map(Plan::moves) {
            let kept = word.builds.get(&it.module);
            let concerns = self.core.state().is_assigned(&it.module, name);
            let targets = it.from.iter().chain([&it.to]);
            let mut lost = targets.filter(|build| kept.is_none_or(|kept| !kept.contains(*build)));
            assert!(
                !concerns || lost.next().is_none(),
                "{name} is to keep {word:?}, and {it:?} moves"
            );
        }
    }

    fn settle(&mut self) {
        // A bound on what one moment can lead to, so that a core that never comes to rest fails here.
        for _ in 0..10_000 {
            let moment = self.timeline.anchor(&self.reading);
            let Some(step) = self.core.next(&moment) else { return };
            self.carry_out(&step);
        }
        panic!("the core does not come to rest");
    }

    /// Walks a step. False when it was cut: then the process was killed and has started again.
    fn carry_out(&mut self, step: &Step) -> bool {
        match self.walk(step) {
            Ok(()) => true,
            Err(Killed) => {
                self.kills += 1;
                self.restart();
                false
            }
        }
    }

    fn walk(&mut self, step: &Step) -> Result<(), Killed> {
        // As a store without batches would: one write after another, and the process may die between any two.
        for write in &step.land {
            self.action()?;
            self.disk.write(write);
        }
        self.action()?;
        self.core.landed(self.now, step);
        let mut replies = Vec::new();
        for effect in &step.then {
            self.action()?;
            match effect {
                Effect::Tell(event) => self.told.push((event.kind.clone(), event.summary.clone())),
                Effect::Send(declaration) => replies.extend(self.deliver(declaration)),
                Effect::Hand(handing) => panic!("{} is handed nothing here", handing.machine),
            }
        }
        self.action()?;
        self.core.carried_out(self.now, step);
        for (declaration, reply) in replies {
            self.core.delivered(self.now, &declaration.machine, declaration.number, reply);
        }
        Ok(())
    }

    fn action(&mut self) -> Result<(), Killed> {
        self.actions += 1;
        if self.kill_before == Some(self.actions) { Err(Killed) } else { Ok(()) }
    }

    fn deliver(
        &mut self,
        declaration: &Declaration,
    ) -> Option<(Declaration, Option<DeclareReply>)> {
        let reply = self.machines.get_mut(&declaration.machine)?.take(declaration);
        if reply.is_some() {
            self.sent.push(declaration.clone());
        }
        Some((declaration.clone(), reply))
    }

    /// The controller starts anew from what is on its disk.
    pub(crate) fn restart(&mut self) {
        let records = self.disk.read();
        let (timeline, gap) = Timeline::begin(records.clock.as_ref(), &self.reading);
        self.now = timeline.now(&self.reading);
        self.timeline = timeline;
        self.core = Controller::restore(Rules::default(), Epoch(1), records, self.now, gap);
        self.settle();
    }
}
