//! Evidence must be about this send, not only later than it; and where it does not say what it is
//! about, it is not yet.

use crate::fleet::{
    DECLARATION, at, build, code, each_outcome, each_report, each_resource, each_served,
    each_statement, health_of, resource, the_holder, well,
};
use gate_judge::{
    Broken, Facts, Health, Identity, NotYet, Outcome, ReportTime, Resource, ResourceState, Rules,
    Unnamed, WitnessVerdict,
};

type Case = (fn(&mut Facts), &'static str);

/// The health of a module once something is spoilt, under these rules and under Bellwether's.
fn both(module: &str, rules: Rules, spoil: impl Fn(&mut Facts)) -> [&'static str; 2] {
    let mut facts = well(39);
    spoil(&mut facts);
    [rules, Rules::default()].map(|rules| code(&health_of(module, &facts, &rules)))
}

#[test]
fn everything_is_well() {
    for module in crate::fleet::MODULES {
        assert_eq!(health_of(module, &well(39), &Rules::default()), Health::Good, "{module}");
    }
}

#[test]
fn a_report_must_be_about_this_send() {
    fn number(facts: &mut Facts, declaration: Option<u64>) {
        each_report(facts, |report| report.declaration = declaration);
    }
    fn reported(facts: &mut Facts, build: Option<String>) {
        each_outcome(facts, "ledger", |module| module.build.clone_from(&build));
    }
    let rules = Rules { report_identity: Identity::NotCompared, ..Rules::default() };
    let cases: [Case; 6] = [
        (|facts| number(facts, None), "identity_absent"),
        (|facts| number(facts, Some(DECLARATION - 1)), "report_of_another_send"),
        (|facts| number(facts, Some(DECLARATION + 1)), "good"),
        (|facts| each_report(facts, |report| report.modules.clear()), "identity_absent"),
        (|facts| reported(facts, None), "identity_absent"),
        (|facts| reported(facts, Some(build("relay"))), "report_of_another_send"),
    ];
    for (spoil, expected) in cases {
        assert_eq!(both("ledger", rules, spoil), ["good", expected]);
    }
}

#[test]
fn a_report_says_for_each_module_how_it_went() {
    let rules = Rules { report_identity: Identity::NotCompared, ..Rules::default() };
    // Another module of the same declaration failed, and the declaration with it.
    let another_failed = |facts: &mut Facts| {
        each_report(facts, |report| report.outcome = Outcome::Failed);
        each_outcome(facts, "relay", |module| module.outcome = Outcome::Failed);
    };
    assert_eq!(both("ledger", rules, another_failed), ["report_failed", "good"]);
    assert_eq!(both("relay", rules, another_failed), ["report_failed", "report_failed"]);
    let refused = |facts: &mut Facts| {
        each_outcome(facts, "ledger", |module| module.outcome = Outcome::Refused);
    };
    assert_eq!(both("ledger", rules, refused), ["good", "report_refused"]);
}

#[test]
fn a_failure_that_names_no_build_condemns_none() {
    let unnamed = |facts: &mut Facts| {
        each_outcome(facts, "ledger", |module| {
            module.outcome = Outcome::Failed;
            module.build = None;
        });
    };
    let [_, better] = both("ledger", Rules::default(), unnamed);
    assert_eq!(better, "identity_absent");
}

#[test]
fn a_report_must_be_made_after_the_send() {
    let rules = Rules { report_time: ReportTime::Any, ..Rules::default() };
    let made = |seconds| {
        move |facts: &mut Facts| each_report(facts, |report| report.at = Some(at(seconds)))
    };
    assert_eq!(both("ledger", rules, made(-1)), ["good", "report_of_another_send"]);
    assert_eq!(both("ledger", rules, made(0)), ["good", "good"]);
}

fn older_build(resource: &mut Resource) {
    resource.build = Some("relay-1".to_owned());
}

fn older_run(resource: &mut Resource) {
    resource.execution = Some("an-older-run".to_owned());
}

#[test]
fn a_statement_must_be_about_this_send() {
    fn number(facts: &mut Facts, declaration: Option<u64>) {
        each_statement(facts, |statement| statement.declaration = declaration);
    }
    let rules = Rules { statement_identity: Identity::NotCompared, ..Rules::default() };
    let cases: [Case; 7] = [
        (|facts| number(facts, None), "identity_absent"),
        (|facts| number(facts, Some(DECLARATION - 1)), "statement_of_another_send"),
        (|facts| number(facts, Some(DECLARATION + 1)), "good"),
        (|facts| each_resource(facts, |web| web.build = None), "identity_absent"),
        (|facts| each_resource(facts, |web| web.execution = None), "identity_absent"),
        (|facts| each_resource(facts, older_build), "resource_not_stated"),
        (|facts| each_resource(facts, older_run), "resource_not_stated"),
    ];
    for (spoil, expected) in cases {
        assert_eq!(both("relay", rules, spoil), ["good", expected]);
    }
}

#[test]
fn a_report_without_executions_vouches_for_no_process() {
    let rules = Rules { statement_identity: Identity::NotCompared, ..Rules::default() };
    let unnamed = |facts: &mut Facts| {
        each_outcome(facts, "relay", |module| module.executions.clear());
    };
    assert_eq!(both("relay", rules, unnamed), ["good", "identity_absent"]);
    let and_nothing_runs = |facts: &mut Facts| {
        unnamed(facts);
        each_statement(facts, |statement| statement.resources.clear());
    };
    let nothing = both("relay", rules, and_nothing_runs);
    assert_eq!(nothing, ["resource_not_stated", "identity_absent"]);
    // A resource that no manifest declares is vouched for no more.
    let undeclared = |facts: &mut Facts| {
        each_outcome(facts, "ledger", |module| module.executions.clear());
        let extra = resource("ledger", "extra", ResourceState::Healthy);
        each_statement(facts, |statement| statement.resources.push(extra.clone()));
    };
    assert_eq!(both("ledger", rules, undeclared), ["good", "identity_absent"]);
}

#[test]
fn the_old_process_speaks_neither_for_the_new_build_nor_against_it() {
    let rules = Rules { statement_identity: Identity::NotCompared, ..Rules::default() };
    let old = |state: ResourceState| {
        let mut old = resource("relay", "web", state);
        older_build(&mut old);
        older_run(&mut old);
        move |facts: &mut Facts| {
            each_statement(facts, |statement| statement.resources.push(old.clone()));
        }
    };
    let draining = old(ResourceState::Other("stopped".to_owned()));
    assert_eq!(both("relay", rules, draining), ["resource_unhealthy", "good"]);
    // An older run of the same build is as old.
    let mut run = resource("relay", "web", ResourceState::Starting);
    older_run(&mut run);
    let older_trial = |facts: &mut Facts| {
        each_statement(facts, |statement| statement.resources.push(run.clone()));
    };
    assert_eq!(both("relay", rules, older_trial), ["resource_starting", "good"]);
    let given_up = old(ResourceState::Failed);
    assert_eq!(both("relay", rules, given_up), ["resource_failed", "good"]);
    let healthy = old(ResourceState::Healthy);
    let only_the_old_is_healthy = |facts: &mut Facts| {
        each_resource(facts, |web| web.state = ResourceState::Starting);
        healthy(facts);
    };
    let starting = ["resource_starting", "resource_starting"];
    assert_eq!(both("relay", rules, only_the_old_is_healthy), starting);
}

#[test]
fn each_instance_is_judged_by_its_own_execution() {
    let two_run = |facts: &mut Facts| {
        each_outcome(facts, "relay", |module| module.executions.push("second-run".to_owned()));
    };
    let second = |facts: &mut Facts, state| {
        let second = Resource {
            instance: Some("two".to_owned()),
            execution: Some("second-run".to_owned()),
            ..resource("relay", "web", state)
        };
        each_statement(facts, |statement| statement.resources.push(second.clone()));
    };
    let both_are_healthy = |facts: &mut Facts| {
        two_run(facts);
        second(facts, ResourceState::Healthy);
    };
    let one_is_starting = |facts: &mut Facts| {
        two_run(facts);
        second(facts, ResourceState::Starting);
    };
    let better = |spoil: &dyn Fn(&mut Facts)| both("relay", Rules::default(), spoil)[1];
    assert_eq!(better(&both_are_healthy), "good");
    assert_eq!(better(&two_run), "resource_not_stated");
    assert_eq!(better(&one_is_starting), "resource_starting");
}

fn verdict(build: Option<&str>) -> WitnessVerdict {
    WitnessVerdict {
        component: "node-engine".to_owned(),
        from: "c2".to_owned(),
        to: "c1".to_owned(),
        outcome: "rolled-back".to_owned(),
        why: String::new(),
        at: at(20),
        build: build.map(str::to_owned),
    }
}

#[test]
fn a_witness_names_the_build_that_it_judged() {
    let witnessed = |build| {
        move |facts: &mut Facts| {
            facts.rolled_back.insert("anvil".to_owned(), vec![verdict(build)]);
        }
    };
    let rules = Rules { witness_identity: Identity::NotCompared, ..Rules::default() };
    let of_another = both("node-engine", rules, witnessed(Some("node-engine-1")));
    assert_eq!(of_another, ["witness_verdict", "good"]);
    let of_this = both("node-engine", rules, witnessed(Some("node-engine-2")));
    assert_eq!(of_this, ["witness_verdict", "witness_verdict"]);
    let of_none = both("node-engine", rules, witnessed(None));
    assert_eq!(of_none, ["witness_verdict", "identity_absent"]);
}

#[test]
fn a_verdict_on_this_build_counts_beside_one_that_names_none() {
    let mut facts = well(39);
    let verdicts = vec![verdict(None), verdict(Some("node-engine-2"))];
    facts.rolled_back.insert("anvil".to_owned(), verdicts);
    let health = health_of("node-engine", &facts, &Rules::default());
    assert_eq!(health, Health::Broken(Broken::WitnessVerdict));
}

#[test]
fn the_lease_must_be_held_by_what_was_sent() {
    let rules = Rules { lease_identity: Identity::NotCompared, ..Rules::default() };
    let cases: [Case; 4] = [
        (
            |facts| {
                the_holder(facts, |holder| {
                    holder.build = Some("controller-1".to_owned());
                    holder.taken = at(-30);
                });
            },
            "lease_held_by_another",
        ),
        (
            |facts| the_holder(facts, |holder| holder.machine = Some("birch".to_owned())),
            "lease_held_by_another",
        ),
        (|facts| the_holder(facts, |holder| holder.build = None), "identity_absent"),
        (|facts| the_holder(facts, |holder| holder.machine = None), "identity_absent"),
    ];
    for (spoil, expected) in cases {
        assert_eq!(both("controller", rules, spoil), ["good", expected]);
    }
}

#[test]
fn node_tools_answer_under_their_build() {
    let rules = Rules { node_tools_identity: Identity::NotCompared, ..Rules::default() };
    let answering = |build: Option<&'static str>| {
        move |facts: &mut Facts| {
            each_served(facts, |served| served.build = build.map(str::to_owned));
        }
    };
    let another = both("node-tools", rules, answering(Some("node-tools-1")));
    assert_eq!(another, ["good", "tools_of_another_build"]);
    let unnamed = both("node-tools", rules, answering(None));
    assert_eq!(unnamed, ["good", "identity_absent"]);
}

#[test]
fn a_send_that_is_not_known_is_compared_with_nothing() {
    let facts = well(39);
    let index = facts.index();
    let manifest = crate::fleet::catalogue().remove("ledger");
    let unknown = gate_judge::Moved {
        module: "ledger",
        manifest: manifest.as_ref(),
        build: None,
        machine: "anvil",
        declaration: None,
        since: at(0),
    };
    let build = build("ledger");
    let cases = [
        unknown,
        gate_judge::Moved { build: Some(&build), ..unknown },
        gate_judge::Moved { declaration: Some(DECLARATION), ..unknown },
    ];
    let absent = Health::NotYet(NotYet::IdentityAbsent { of: Unnamed::Send });
    for moved in cases {
        assert_eq!(gate_judge::health(&moved, &index, &Rules::default()), absent);
    }
}
