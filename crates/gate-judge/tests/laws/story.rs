//! A gate's story: what is known at each of its judgings, mostly well and sometimes not.

use crate::anything::{at, rules};
use gate_judge::{
    Catalogue, Condition, Conditions, ControllerHealth, Facts, Found, Gate, Holder, Manifest,
    ModuleReport, Opening, Outcome, Pair, Report, Resource, ResourceState, Rules, Sent, SentTo,
    Served, Statement, Subject, ToolNames, Unread, Unreadable,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) const MACHINES: [&str; 2] = ["anvil", "birch"];
const MODULES: [&str; 5] = ["relay", "ledger", "node-engine", "node-tools", "controller"];
const DECLARATION: u64 = 8;

/// What is wrong at one judging, besides all that is well.
#[derive(Debug, Clone)]
pub(crate) enum Spoilt {
    NoReport(&'static str),
    Reported(&'static str, &'static str, Outcome),
    OtherDeclaration,
    NoStatement(&'static str),
    Heard(i64),
    State(ResourceState),
    Condition(&'static str, &'static str),
    OpenUnreadable,
    ServedUnreadable,
    StatementsUnreadable,
    LeaseUnreadable,
    NoLease,
    NoTools,
}

#[derive(Debug, Clone)]
pub(crate) enum Known {
    Facts(Box<Facts>),
    Unreadable(Unread),
    Unobserved(Duration),
}

#[derive(Debug, Clone)]
pub(crate) struct Story {
    pub(crate) opening: Opening,
    pub(crate) rules: Rules,
    pub(crate) steps: Vec<(i64, Known)>,
}

/// What all machines say at a time when everything is well.
pub(crate) fn well(seconds: i64) -> Facts {
    let report = Report {
        at: Some(at(5)),
        current: true,
        outcome: Outcome::Applied,
        declaration: Some(DECLARATION),
        modules: MODULES
            .map(|module| {
                let executions = vec![format!("{module}-run")];
                let build = Some(format!("{module}-2"));
                (module.to_owned(), ModuleReport { outcome: Outcome::Applied, build, executions })
            })
            .into(),
    };
    let served = Served {
        runtime: true,
        tools: ToolNames::Each([("relay".to_owned(), vec!["peek".to_owned()])].into()),
        build: Some("node-tools-2".to_owned()),
    };
    let web = Resource {
        module: "relay".to_owned(),
        resource: "web".to_owned(),
        state: ResourceState::Healthy,
        why: String::new(),
        instance: None,
        build: Some("relay-2".to_owned()),
        execution: Some("relay-run".to_owned()),
    };
    let statement =
        Statement { heard: at(seconds), resources: vec![web], declaration: Some(DECLARATION) };
    let holder = Holder {
        taken: at(6),
        health: Some(ControllerHealth { ready: true, why: String::new() }),
        build: Some("controller-2".to_owned()),
        machine: Some("anvil".to_owned()),
    };
    Facts {
        reports: MACHINES.map(|machine| (machine.to_owned(), report.clone())).into(),
        engines: MACHINES.map(|machine| (machine.to_owned(), "node-engine-2".to_owned())).into(),
        served: Ok(MACHINES.map(|machine| (machine.to_owned(), served.clone())).into()),
        conditions: Conditions::Open(Vec::new()),
        rolled_back: BTreeMap::new(),
        lease: Ok(Some(holder)),
        statements: Ok(MACHINES.map(|machine| (machine.to_owned(), statement.clone())).into()),
        baseline: BTreeMap::new(),
    }
}

pub(crate) fn catalogue() -> Catalogue {
    let mut catalogue: Catalogue =
        MODULES.map(|module| (module.to_owned(), Manifest::default())).into();
    let relay = Manifest {
        tools: vec!["peek".to_owned()],
        resources: vec!["web".to_owned()],
        delivered: Vec::new(),
    };
    catalogue.insert("relay".to_owned(), relay);
    catalogue
}

/// A condition on a machine since the send.
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

impl Spoilt {
    pub(crate) fn spoil(&self, facts: &mut Facts) {
        let unreadable = || Unreadable::new("gone");
        match self {
            Self::NoReport(machine) => drop(facts.reports.remove(*machine)),
            Self::Reported(machine, module, outcome) => {
                let report = facts.reports.get_mut(*machine);
                let module = report.and_then(|report| report.modules.get_mut(*module));
                module.into_iter().for_each(|module| module.outcome = outcome.clone());
            }
            Self::OtherDeclaration => {
                facts.reports.values_mut().for_each(|it| it.declaration = Some(7));
            }
            Self::NoStatement(machine) => {
                facts.statements.iter_mut().for_each(|all| drop(all.remove(*machine)));
            }
            Self::Heard(seconds) => {
                let all = facts.statements.iter_mut().flat_map(BTreeMap::values_mut);
                all.for_each(|statement| statement.heard = at(*seconds));
            }
            Self::State(state) => {
                let all = facts.statements.iter_mut().flat_map(BTreeMap::values_mut);
                all.flat_map(|it| &mut it.resources).for_each(|it| it.state = state.clone());
            }
            Self::Condition(scope, id) => match &mut facts.conditions {
                Conditions::Open(open) => open.push(condition(scope, id, "anvil")),
                Conditions::NotJudged | Conditions::Unreadable(_) => {}
            },
            Self::OpenUnreadable => facts.conditions = Conditions::Unreadable(unreadable()),
            Self::ServedUnreadable => facts.served = Err(unreadable()),
            Self::StatementsUnreadable => facts.statements = Err(unreadable()),
            Self::LeaseUnreadable => facts.lease = Err(unreadable()),
            Self::NoLease => facts.lease = Ok(None),
            Self::NoTools => facts.served = Ok(BTreeMap::new()),
        }
    }
}

pub(crate) fn spoilt() -> impl Strategy<Value = Spoilt> {
    let machine = || select(MACHINES.to_vec());
    let outcomes = vec![Outcome::Failed, Outcome::Refused, Outcome::Unable, Outcome::default()];
    let states = vec![
        ResourceState::Starting,
        ResourceState::Failed,
        ResourceState::Other("unhealthy".to_owned()),
    ];
    let conditions = vec![("machine", "anvil"), ("module", "relay.anvil"), ("core", "anvil")];
    let sources = vec![
        Spoilt::OpenUnreadable,
        Spoilt::ServedUnreadable,
        Spoilt::StatementsUnreadable,
        Spoilt::LeaseUnreadable,
        Spoilt::NoLease,
        Spoilt::NoTools,
        Spoilt::OtherDeclaration,
    ];
    prop_oneof![
        machine().prop_map(Spoilt::NoReport),
        (machine(), select(MODULES.to_vec()), select(outcomes))
            .prop_map(|(machine, module, outcome)| Spoilt::Reported(machine, module, outcome)),
        machine().prop_map(Spoilt::NoStatement),
        (-100_i64..800).prop_map(Spoilt::Heard),
        select(states).prop_map(Spoilt::State),
        select(conditions).prop_map(|(scope, id)| Spoilt::Condition(scope, id)),
        select(sources),
    ]
}

/// What one send moved: some modules on the first machine, perhaps one on the second.
pub(crate) fn opening() -> impl Strategy<Value = Opening> {
    let carried = subsequence(MODULES[1..].to_vec(), 0..3);
    (select(MODULES.to_vec()), subsequence(MACHINES.to_vec(), 1..=2), carried).prop_map(
        |(module, machines, carried)| {
            let sent_to = SentTo { declaration: DECLARATION, at: at(0) };
            let pair =
                |module: &str| Pair { module: module.to_owned(), machine: "anvil".to_owned() };
            Opening {
                module: module.to_owned(),
                machines: machines.into_iter().map(str::to_owned).collect(),
                carried: carried.into_iter().map(pair).collect(),
                from: None,
                to: "c2".to_owned(),
                since: at(0),
                sent: Sent {
                    machines: MACHINES.map(|machine| (machine.to_owned(), sent_to)).into(),
                    builds: MODULES.map(|module| (module.to_owned(), format!("{module}-2"))).into(),
                },
            }
        },
    )
}

pub(crate) fn story() -> impl Strategy<Value = Story> {
    let gap = prop_oneof![8 => 1_i64..60, 1 => -30_i64..0];
    let known = prop_oneof![
        12 => Just(Vec::new()).prop_map(Ok),
        3 => vec(spoilt(), 1..3).prop_map(Ok),
        1 => select(vec![Unread::Catalogue, Unread::Facts]).prop_map(|it| Err(Ok(it))),
        1 => (0_u64..100).prop_map(|gap_s| Err(Err(Duration::from_secs(gap_s)))),
    ];
    (opening(), rules(), vec((gap, known), 1..25)).prop_map(|(opening, rules, steps)| {
        let mut now = 0;
        let step = |(gap, known)| {
            now += gap;
            let known = match known {
                Ok(spoilt) => {
                    let mut facts = well(now - 1);
                    let spoilt: Vec<Spoilt> = spoilt;
                    spoilt.iter().for_each(|it| it.spoil(&mut facts));
                    Known::Facts(Box::new(facts))
                }
                Err(Ok(what)) => Known::Unreadable(what),
                Err(Err(gap)) => Known::Unobserved(gap),
            };
            (now, known)
        };
        Story { opening, rules, steps: steps.into_iter().map(step).collect() }
    })
}

/// One step of a story; nothing is found in a time in which nobody observed.
pub(crate) fn step(gate: &mut Gate, story: &Story, now: i64, known: &Known) -> Option<Found> {
    let judging = match known {
        Known::Facts(facts) => gate.judge(&facts.index(), &catalogue(), at(now), &story.rules),
        Known::Unreadable(what) => gate.cannot_read(*what, at(now), &story.rules),
        Known::Unobserved(gap) => {
            gate.unobserved(*gap);
            return None;
        }
    };
    Some(judging.found)
}
