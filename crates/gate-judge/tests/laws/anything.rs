//! Any facts, rules and times at all, sensible or not.

use chrono::{DateTime, TimeDelta, Utc};
use gate_judge::{
    Baseline, Catalogue, Condition, Conditions, ControllerHealth, Facts, Holder, Identity, Lack,
    Manifest, ModuleReport, Outcome, Policy, Report, Resource, ResourceName, ResourceState, Rules,
    Served, Statement, Subject, ToolNames, Unreadable, WitnessVerdict,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::time::Duration;

/// So many seconds after the send.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::seconds(seconds)
}

pub(crate) fn time() -> impl Strategy<Value = DateTime<Utc>> {
    prop_oneof![
        8 => (-100_i64..1_000).prop_map(at),
        1 => (DateTime::<Utc>::MIN_UTC.timestamp()..=DateTime::<Utc>::MAX_UTC.timestamp())
            .prop_filter_map("no such time", |seconds| DateTime::from_timestamp(seconds, 0)),
        1 => select(vec![DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC]),
    ]
}

pub(crate) fn machine() -> impl Strategy<Value = String> {
    select(vec!["anvil", "birch", "", "relay"]).prop_map(str::to_owned)
}

pub(crate) fn module() -> impl Strategy<Value = String> {
    let names = ["relay", "ledger", "node-engine", "node-tools", "controller", "", "anvil"];
    select(names.to_vec()).prop_map(str::to_owned)
}

fn word() -> impl Strategy<Value = String> {
    select(vec!["", "one", "two", "unwitnessed"]).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = Option<String>> {
    option::of(word())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let words = vec!["applied", "failed", "refused", "unable", "", "whatever"];
    select(words).prop_map(|word| Outcome::from(word.to_owned()))
}

fn source<T: Clone + core::fmt::Debug>(
    data: impl Strategy<Value = T>,
) -> impl Strategy<Value = Result<T, Unreadable>> {
    prop_oneof![4 => data.prop_map(Ok), 1 => Just(Err(Unreadable::new("gone")))]
}

fn report() -> impl Strategy<Value = Report> {
    let of_module = (outcome(), name(), vec(word(), 0..3))
        .prop_map(|(outcome, build, executions)| ModuleReport { outcome, build, executions });
    let modules = btree_map(module(), of_module, 0..4);
    let declaration = option::of(6..10_u64);
    (option::of(time()), any::<bool>(), outcome(), declaration, modules).prop_map(
        |(at, current, outcome, declaration, modules)| Report {
            at,
            current,
            outcome,
            declaration,
            modules,
        },
    )
}

fn served() -> impl Strategy<Value = Served> {
    let tools = prop_oneof![
        btree_set(module(), 0..3).prop_map(ToolNames::OfModules),
        btree_map(module(), vec(word(), 0..3), 0..3).prop_map(ToolNames::Each),
    ];
    (any::<bool>(), tools, name()).prop_map(|(runtime, tools, build)| Served {
        runtime,
        tools,
        build,
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let id = vec(prop_oneof![machine(), module()], 0..4).prop_map(|parts| parts.join("."));
    let kind = select(vec!["core-behind", "wrong"]);
    let subject =
        (select(vec!["machine", "module", "core", ""]), id, machine(), vec(machine(), 0..2));
    let source = select(vec!["DG", "D2"]);
    (word(), kind, source, time(), subject).prop_map(
        |(key, kind, source, raised, (scope, id, machine, also))| Condition {
            key,
            kind: kind.to_owned(),
            source: source.to_owned(),
            raised,
            summary: String::new(),
            subject: Subject { scope: scope.to_owned(), id, machine, also },
        },
    )
}

fn verdict() -> impl Strategy<Value = WitnessVerdict> {
    (module(), word(), time(), name()).prop_map(|(component, outcome, at, build)| WitnessVerdict {
        component,
        from: String::new(),
        to: String::new(),
        outcome,
        why: String::new(),
        at,
        build,
    })
}

fn holder() -> impl Strategy<Value = Holder> {
    let health = option::of(any::<bool>());
    (time(), health, name(), option::of(machine())).prop_map(|(taken, ready, build, machine)| {
        let health = ready.map(|ready| ControllerHealth { ready, why: String::new() });
        Holder { taken, health, build, machine }
    })
}

fn resource() -> impl Strategy<Value = Resource> {
    let states = vec!["healthy", "starting", "failed", "unhealthy", ""];
    let state = select(states).prop_map(|word| ResourceState::from(word.to_owned()));
    (module(), word(), state, name(), name(), name()).prop_map(
        |(module, resource, state, instance, build, execution)| Resource {
            module,
            resource,
            state,
            why: String::new(),
            instance,
            build,
            execution,
        },
    )
}

fn statement() -> impl Strategy<Value = Statement> {
    (time(), vec(resource(), 0..4), option::of(6..10_u64))
        .prop_map(|(heard, resources, declaration)| Statement { heard, resources, declaration })
}

fn baseline() -> impl Strategy<Value = Baseline> {
    let resource = (module(), word(), name())
        .prop_map(|(module, resource, instance)| ResourceName { module, resource, instance });
    (btree_set(word(), 0..3), btree_set(resource, 0..3))
        .prop_map(|(conditions, resources)| Baseline { conditions, resources })
}

pub(crate) fn facts() -> impl Strategy<Value = Facts> {
    let conditions = prop_oneof![
        1 => Just(Conditions::NotJudged),
        4 => vec(condition(), 0..5).prop_map(Conditions::Open),
        1 => Just(Conditions::Unreadable(Unreadable::new("gone"))),
    ];
    (
        btree_map(machine(), report(), 0..3),
        btree_map(machine(), word(), 0..3),
        source(btree_map(machine(), served(), 0..3)),
        conditions,
        btree_map(machine(), vec(verdict(), 0..3), 0..3),
        source(option::of(holder())),
        source(btree_map(machine(), statement(), 0..3)),
        btree_map(machine(), baseline(), 0..3),
    )
        .prop_map(
            |(reports, engines, served, conditions, rolled_back, lease, statements, baseline)| {
                Facts {
                    reports,
                    engines,
                    served,
                    conditions,
                    rolled_back,
                    lease,
                    statements,
                    baseline,
                }
            },
        )
}

pub(crate) fn catalogue() -> impl Strategy<Value = Catalogue> {
    let names = || vec(word(), 0..3);
    let manifest = (names(), names(), names()).prop_map(|(tools, resources, delivered)| Manifest {
        tools,
        resources,
        delivered,
    });
    btree_map(module(), manifest, 0..5)
}

fn length() -> impl Strategy<Value = Duration> {
    prop_oneof![
        8 => (0_u64..700).prop_map(Duration::from_secs),
        1 => any::<u64>().prop_map(Duration::from_secs),
    ]
}

pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    let policy = (0_u32..4, length(), length(), length())
        .prop_map(|(passes, every, settle, bound)| Policy { passes, every, settle, bound });
    let any = (policy, option::of(length()), vec(any::<bool>(), 26)).prop_map(any_rules);
    prop_oneof![Just(Rules::default()), Just(Rules::reference()), any]
}

/// Rules of which each field is by itself Bellwether's or the reference's.
fn any_rules((policy, fresh, better): (Policy, Option<Duration>, Vec<bool>)) -> Rules {
    let mut better = better.into_iter();
    let mut better = || better.next().unwrap_or(true);
    let mut identity = || if better() { Identity::Compared } else { Identity::NotCompared };
    let [report_identity, statement_identity, witness_identity] = [(); 3].map(|()| identity());
    let [lease_identity, node_tools_identity] = [(); 2].map(|()| identity());
    let mut lack = || if better() { Lack::IsWanting } else { Lack::IsNothing };
    let [never_stated, unstated_resource, silent_runtime] = [(); 3].map(|()| lack());
    let [missing_manifest, incomparable_engine] = [(); 2].map(|()| lack());
    let mut pick = |reference: Rules| if better() { Rules::default() } else { reference };
    let reference = Rules::reference();
    Rules {
        policy,
        fresh,
        settle_from: pick(reference).settle_from,
        late_pass: pick(reference).late_pass,
        fail_fast: pick(reference).fail_fast,
        on_silence: pick(reference).on_silence,
        between_passes: pick(reference).between_passes,
        empty_gate: pick(reference).empty_gate,
        before_send: pick(reference).before_send,
        set_back: pick(reference).set_back,
        unreadable_facts: pick(reference).unreadable_facts,
        report_identity,
        report_time: pick(reference).report_time,
        unable: pick(reference).unable,
        statement_identity,
        restated: pick(reference).restated,
        never_stated,
        unstated_resource,
        baseline: pick(reference).baseline,
        witness_identity,
        lease_identity,
        node_tools_identity,
        served_tools: pick(reference).served_tools,
        silent_runtime,
        missing_manifest,
        incomparable_engine,
        core_behind: pick(reference).core_behind,
        machine_in_id: pick(reference).machine_in_id,
        ill_machine: pick(reference).ill_machine,
    }
}
