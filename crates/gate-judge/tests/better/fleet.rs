//! A fleet of two machines where everything is well, for each test to spoil one thing.

use chrono::{DateTime, TimeDelta, Utc};
use gate_judge::{
    Catalogue, Condition, Conditions, ControllerHealth, End, Facts, FailedBy, Found, Gate, Health,
    Holder, Judging, Manifest, ModuleReport, Moved, NothingToJudge, Opening, Outcome, Pair, Report,
    Resource, ResourceState, Rules, Sent, SentTo, Served, Statement, Subject, ToolNames, health,
};
use std::collections::BTreeMap;

/// The machines; the controller runs on the first.
pub(crate) const MACHINES: [&str; 2] = ["anvil", "birch"];
/// The modules on each machine: two plain ones, of which only the first has tools and a resource,
/// and the core components.
pub(crate) const MODULES: [&str; 5] =
    ["relay", "ledger", "node-engine", "node-tools", "controller"];
/// The number of the declaration that was sent.
pub(crate) const DECLARATION: u64 = 8;

/// So many seconds after the send.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::seconds(seconds)
}

/// The build of a module that was sent.
pub(crate) fn build(module: &str) -> String {
    format!("{module}-2")
}

/// The execution that runs a module's build.
pub(crate) fn execution(module: &str) -> String {
    format!("{module}-run")
}

/// What all machines and sources say at a time when everything is well.
pub(crate) fn well(seconds: i64) -> Facts {
    let of_each = |of: fn(&str) -> String| MACHINES.map(|name| (name.to_owned(), of(name)));
    Facts {
        reports: MACHINES.map(|name| (name.to_owned(), report())).into(),
        engines: of_each(|_| build("node-engine")).into(),
        served: Ok(MACHINES.map(|name| (name.to_owned(), served())).into()),
        conditions: Conditions::Open(Vec::new()),
        rolled_back: BTreeMap::new(),
        lease: Ok(Some(holder())),
        statements: Ok(MACHINES.map(|name| (name.to_owned(), statement(seconds))).into()),
        baseline: BTreeMap::new(),
    }
}

fn report() -> Report {
    let of_module = |module: &str| ModuleReport {
        outcome: Outcome::Applied,
        build: Some(build(module)),
        executions: vec![execution(module)],
    };
    Report {
        at: Some(at(5)),
        current: true,
        outcome: Outcome::Applied,
        declaration: Some(DECLARATION),
        modules: MODULES.map(|module| (module.to_owned(), of_module(module))).into(),
    }
}

fn served() -> Served {
    let tools = vec!["peek".to_owned(), "flush".to_owned()];
    Served {
        runtime: true,
        tools: ToolNames::Each([("relay".to_owned(), tools)].into()),
        build: Some(build("node-tools")),
    }
}

fn holder() -> Holder {
    Holder {
        taken: at(6),
        health: Some(ControllerHealth { ready: true, why: String::new() }),
        build: Some(build("controller")),
        machine: Some("anvil".to_owned()),
    }
}

fn statement(seconds: i64) -> Statement {
    Statement {
        heard: at(seconds),
        resources: vec![resource("relay", "web", ResourceState::Healthy)],
        declaration: Some(DECLARATION),
    }
}

/// A resource of the build that was sent.
pub(crate) fn resource(module: &str, resource: &str, state: ResourceState) -> Resource {
    Resource {
        module: module.to_owned(),
        resource: resource.to_owned(),
        state,
        why: String::new(),
        instance: None,
        build: Some(build(module)),
        execution: Some(execution(module)),
    }
}

/// Spoils every machine's report.
pub(crate) fn each_report(facts: &mut Facts, spoil: impl FnMut(&mut Report)) {
    facts.reports.values_mut().for_each(spoil);
}

/// Spoils what every machine reports of a module.
pub(crate) fn each_outcome(facts: &mut Facts, module: &str, spoil: impl Fn(&mut ModuleReport)) {
    each_report(facts, |report| report.modules.get_mut(module).into_iter().for_each(&spoil));
}

/// Spoils every machine's statement.
pub(crate) fn each_statement(facts: &mut Facts, spoil: impl FnMut(&mut Statement)) {
    facts.statements.iter_mut().flat_map(BTreeMap::values_mut).for_each(spoil);
}

/// Spoils every stated resource.
pub(crate) fn each_resource(facts: &mut Facts, spoil: impl Fn(&mut Resource)) {
    each_statement(facts, |statement| statement.resources.iter_mut().for_each(&spoil));
}

/// Spoils what node tools answer on every machine.
pub(crate) fn each_served(facts: &mut Facts, spoil: impl FnMut(&mut Served)) {
    facts.served.iter_mut().flat_map(BTreeMap::values_mut).for_each(spoil);
}

/// Spoils who holds the lease.
pub(crate) fn the_holder(facts: &mut Facts, spoil: impl FnMut(&mut Holder)) {
    facts.lease.iter_mut().flatten().for_each(spoil);
}

/// A condition on a machine, raised after the send.
pub(crate) fn condition(scope: &str, id: &str, machine: &str) -> Condition {
    Condition {
        key: format!("{scope}.{id}.wrong"),
        kind: "wrong".to_owned(),
        source: "D2".to_owned(),
        raised: at(10),
        summary: String::new(),
        subject: Subject {
            scope: scope.to_owned(),
            id: id.to_owned(),
            machine: machine.to_owned(),
            also: Vec::new(),
        },
    }
}

/// What is said at a time when everything is well but for these conditions.
pub(crate) fn with_conditions(seconds: i64, conditions: &[Condition]) -> Facts {
    Facts { conditions: Conditions::Open(conditions.to_vec()), ..well(seconds) }
}

/// What the modules consist of.
pub(crate) fn catalogue() -> Catalogue {
    let relay = Manifest {
        tools: vec!["peek".to_owned(), "flush".to_owned()],
        resources: vec!["web".to_owned()],
        delivered: Vec::new(),
    };
    let mut catalogue: Catalogue =
        MODULES.map(|module| (module.to_owned(), Manifest::default())).into();
    catalogue.insert("relay".to_owned(), relay);
    catalogue
}

/// A send of one module to some machines.
pub(crate) fn opening(module: &str, machines: &[&str]) -> Opening {
    let sent_to = SentTo { declaration: DECLARATION, at: at(0) };
    Opening {
        module: module.to_owned(),
        machines: machines.iter().map(|machine| (*machine).to_owned()).collect(),
        carried: Vec::new(),
        from: Some("c1".to_owned()),
        to: "c2".to_owned(),
        since: at(0),
        sent: Sent {
            machines: MACHINES.map(|machine| (machine.to_owned(), sent_to)).into(),
            builds: MODULES.map(|module| (module.to_owned(), build(module))).into(),
        },
    }
}

/// The send of one module to a machine, which carried others there.
pub(crate) fn carrying(module: &str, machine: &str, carried: &[&str]) -> Opening {
    let pair = |module: &&str| Pair { module: (*module).to_owned(), machine: machine.to_owned() };
    Opening { carried: carried.iter().map(pair).collect(), ..opening(module, &[machine]) }
}

/// The health of a module on the first machine.
pub(crate) fn health_of(module: &str, facts: &Facts, rules: &Rules) -> Health {
    let manifest = catalogue().remove(module);
    let build = build(module);
    let moved = Moved {
        module,
        manifest: manifest.as_ref(),
        build: Some(&build),
        machine: MACHINES[0],
        declaration: Some(DECLARATION),
        since: at(0),
    };
    health(&moved, &facts.index(), rules)
}

/// The code of what is wanting; `good` when nothing is.
pub(crate) fn code(health: &Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::NotYet(reason) => reason.code(),
        Health::Broken(reason) => reason.code(),
    }
}

/// A gate under judgement.
pub(crate) struct Judged {
    pub(crate) gate: Gate,
    rules: Rules,
}

impl Judged {
    /// A gate that may be opened, or why it may not.
    pub(crate) fn open(opening: Opening, rules: Rules) -> Result<Self, NothingToJudge> {
        Ok(Self { gate: Gate::open(opening, &rules)?, rules })
    }

    /// Judges by facts at a time.
    pub(crate) fn by(&mut self, seconds: i64, facts: &Facts) -> Found {
        self.judging(seconds, facts).found
    }

    /// Judges by facts at a time, and tells all.
    pub(crate) fn judging(&mut self, seconds: i64, facts: &Facts) -> Judging {
        self.gate.judge(&facts.index(), &catalogue(), at(seconds), &self.rules)
    }

    /// Judges when everything is well, and was stated a second ago.
    pub(crate) fn well(&mut self, seconds: i64) -> Found {
        self.by(seconds, &well(seconds - 1))
    }

    /// How it ended, in a word and the code of why; `judging` when it did not.
    pub(crate) fn end(&self) -> (&'static str, &'static str) {
        match self.gate.ended().map(|ended| &ended.end) {
            None => ("judging", ""),
            Some(End::Passed { .. }) => ("passed", ""),
            Some(End::Failed(FailedBy::Broken(wanting))) => ("broken", wanting.reason.code()),
            Some(End::Failed(FailedBy::Bound(cause))) => ("failed", cause.code()),
            Some(End::CannotTell(cause)) => ("cannot tell", cause.code()),
        }
    }

    /// Passes counted in a row.
    pub(crate) fn passes(&self) -> u32 {
        self.gate.row().map_or(0, |row| row.passes.get())
    }
}
