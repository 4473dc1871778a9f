//! How long judging takes: one module among a thousand conditions about others, and whole waves.
//!
//! Prints the median of interleaved rounds, so that a busy machine slows all of them alike.

#![expect(clippy::print_stdout, reason = "a benchmark says its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock that it measures by")]

use chrono::{DateTime, TimeDelta, Utc};
use gate_judge::{
    Baseline, Catalogue, Condition, Conditions, Facts, Gate, Manifest, ModuleReport, Moved,
    NothingToJudge, Opening, Outcome, Pair, Report, Resource, ResourceState, Rules, Sent, SentTo,
    Served, Statement, Subject, ToolNames, health,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

const MODULES: usize = 20;

fn main() -> Result<(), NothingToJudge> {
    one_module()?;
    waves()
}

/// One module on one machine, with and without open conditions about others.
fn one_module() -> Result<(), NothingToJudge> {
    const ROUNDS: usize = 201;
    const CALLS: usize = 2_000;
    let wave = Wave::new(1)?;
    let alone = wave.facts.clone();
    let mut crowded = wave.facts.clone();
    crowded.conditions = Conditions::Open((0..1_000).map(about_another).collect());
    let rules = Rules::default();
    let manifest = manifest(0);
    let build = build(0);
    let moved = Moved {
        module: &module(0),
        manifest: Some(&manifest),
        build: Some(&build),
        machine: &machine(0),
        declaration: Some(1),
        since: since(),
    };
    let indexes = [alone.index(), crowded.index()];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (index, times) in indexes.iter().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(health(black_box(&moved), index, &rules));
            }
            times.push(start.elapsed());
        }
    }
    let [none, thousand] = times.map(|times| median(times).as_secs_f64() / CALLS as f64 * 1e9);
    println!("one module on one machine      open conditions about others: 0     {none:7.1} ns");
    println!(
        "                                                             1,000 {thousand:7.1} ns"
    );
    println!(
        "                                                             ratio {:7.2}\n",
        thousand / none
    );
    Ok(())
}

/// A wave of so many machines, with twenty modules on each.
fn waves() -> Result<(), NothingToJudge> {
    const ROUNDS: usize = 11;
    let sizes = [1_000, 10_000];
    let waves = [Wave::new(sizes[0])?, Wave::new(sizes[1])?];
    let mut times = [const { [const { Vec::new() }; 3] }; 2];
    for _ in 0..ROUNDS {
        for (wave, times) in waves.iter().zip(&mut times) {
            let (indexing, judging) = wave.judge();
            times[0].push(indexing);
            times[1].push(judging);
            times[2].push(indexing + judging);
        }
    }
    println!("wave                          indexing    judging       both   per pair");
    for (size, times) in sizes.into_iter().zip(times) {
        let [indexing, judging, both] = times.map(|times| median(times).as_secs_f64() * 1e3);
        let pair = both * 1e6 / (size * MODULES) as f64;
        println!(
            "{size:6} machines x {MODULES} modules {indexing:8.2} ms {judging:7.2} ms {both:7.2} ms {pair:7.1} ns"
        );
    }
    Ok(())
}

struct Wave {
    gate: Gate,
    catalogue: Catalogue,
    facts: Facts,
}

impl Wave {
    fn new(machines: usize) -> Result<Self, NothingToJudge> {
        let names: Vec<_> = (0..machines).map(machine).collect();
        let mut facts = Facts {
            reports: BTreeMap::new(),
            engines: BTreeMap::new(),
            served: Ok(names.iter().map(|name| (name.clone(), served())).collect()),
            conditions: Conditions::Open(Vec::new()),
            rolled_back: BTreeMap::new(),
            lease: Ok(None),
            statements: Ok(names.iter().map(|name| (name.clone(), statement())).collect()),
            baseline: BTreeMap::new(),
        };
        for name in &names {
            facts.reports.insert(name.clone(), report());
            facts.engines.insert(name.clone(), "e1".to_owned());
            facts.baseline.insert(name.clone(), Baseline::default());
        }
        let sent_to = SentTo { declaration: 1, at: since() };
        let carried = names.iter().flat_map(|machine| {
            (1..MODULES).map(|place| Pair { module: module(place), machine: machine.clone() })
        });
        let opening = Opening {
            module: module(0),
            carried: carried.collect(),
            from: Some("c1".to_owned()),
            to: "c2".to_owned(),
            since: since(),
            sent: Sent {
                machines: names.iter().map(|name| (name.clone(), sent_to)).collect(),
                builds: (0..MODULES).map(|place| (module(place), build(place))).collect(),
            },
            machines: names,
        };
        let catalogue = (0..MODULES).map(|place| (module(place), manifest(place))).collect();
        let gate = Gate::open(opening, &Rules::default())?;
        Ok(Self { gate, catalogue, facts })
    }

    /// The time to index the facts, and to judge all pairs by them.
    fn judge(&self) -> (Duration, Duration) {
        let rules = Rules::default();
        let mut gate = self.gate.clone();
        let start = Instant::now();
        let index = self.facts.index();
        let indexed = start.elapsed();
        let judging = gate.judge(&index, &self.catalogue, now(), &rules);
        let judged = start.elapsed();
        assert!(judging.wanting.is_empty(), "{:?}", judging.wanting.first());
        (indexed, judged - indexed)
    }
}

fn manifest(place: usize) -> Manifest {
    Manifest {
        tools: vec![format!("tool-{place}")],
        resources: vec!["web".to_owned()],
        delivered: Vec::new(),
    }
}

fn since() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

fn now() -> DateTime<Utc> {
    since() + TimeDelta::seconds(30)
}

fn machine(place: usize) -> String {
    format!("machine-{place:05}")
}

fn module(place: usize) -> String {
    format!("module-{place:02}")
}

fn build(place: usize) -> String {
    format!("01JBUILD{place:018}")
}

fn execution(place: usize) -> String {
    format!("execution-{place}")
}

fn report() -> Report {
    let of_module = |place| ModuleReport {
        outcome: Outcome::Applied,
        build: Some(build(place)),
        executions: vec![execution(place)],
    };
    Report {
        at: Some(since() + TimeDelta::seconds(5)),
        current: true,
        outcome: Outcome::Applied,
        declaration: Some(1),
        modules: (0..MODULES).map(|place| (module(place), of_module(place))).collect(),
    }
}

fn served() -> Served {
    let tools = |place| (module(place), vec![format!("tool-{place}")]);
    let tools = (0..MODULES).map(tools).collect();
    Served { runtime: true, tools: ToolNames::Each(tools), build: None }
}

fn statement() -> Statement {
    let resource = |place| Resource {
        module: module(place),
        resource: "web".to_owned(),
        state: ResourceState::Healthy,
        why: String::new(),
        instance: None,
        build: Some(build(place)),
        execution: Some(execution(place)),
    };
    Statement {
        heard: since() + TimeDelta::seconds(28),
        resources: (0..MODULES).map(resource).collect(),
        declaration: Some(1),
    }
}

/// Half of them about another machine, half about another module on the same one.
fn about_another(place: usize) -> Condition {
    let on = machine(place % 2);
    let id = format!("other-{place}.{on}");
    Condition {
        key: format!("module.{id}.unhealthy"),
        kind: "unhealthy".to_owned(),
        source: "statements".to_owned(),
        raised: since() + TimeDelta::seconds(10),
        summary: String::new(),
        subject: Subject { scope: "module".to_owned(), id, machine: on, also: Vec::new() },
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
