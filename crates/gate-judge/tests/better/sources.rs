//! What is asked of each source: declared tools and resources, statements, manifests, engines.

use crate::fleet::{at, code, each_served, each_statement, health_of, resource, well};
use gate_judge::{
    Facts, Health, Identity, Lack, Manifest, Moved, NotYet, ResourceState, Restated, Rules,
    ServedTools, ToolNames, health,
};
use std::collections::BTreeMap;

/// The health of a module once something is spoilt, under these rules and under Bellwether's.
fn both(module: &str, rules: Rules, spoil: impl Fn(&mut Facts)) -> [Health; 2] {
    let mut facts = well(39);
    spoil(&mut facts);
    [rules, Rules::default()].map(|rules| health_of(module, &facts, &rules))
}

fn codes(healths: &[Health; 2]) -> [&'static str; 2] {
    [code(&healths[0]), code(&healths[1])]
}

fn serve(tools: ToolNames) -> impl Fn(&mut Facts) {
    move |facts| each_served(facts, |served| served.tools = tools.clone())
}

#[test]
fn every_declared_tool_is_served() {
    let rules = Rules { served_tools: ServedTools::Any, ..Rules::default() };
    let some = |tools: &[&str]| {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        ToolNames::Each(BTreeMap::from([("relay".to_owned(), tools)]))
    };
    let missing =
        |tool: &str| Health::NotYet(NotYet::ToolsNotServed { tool: Some(tool.to_owned()) });
    let one = both("relay", rules, serve(some(&["peek"])));
    assert_eq!(one, [Health::Good, missing("flush")]);
    let more = both("relay", rules, serve(some(&["flush", "more", "peek"])));
    assert_eq!(more, [Health::Good, Health::Good]);
    // A machine that only says of which modules it serves tools names none of them.
    let modules = ToolNames::OfModules(["relay".to_owned()].into());
    assert_eq!(both("relay", rules, serve(modules)), [Health::Good, missing("peek")]);
    let none = Health::NotYet(NotYet::ToolsNotServed { tool: None });
    let nothing = ToolNames::Each(BTreeMap::new());
    assert_eq!(both("relay", rules, serve(nothing)), [none, missing("peek")]);
}

#[test]
fn a_runtime_that_went_silent_is_wanting() {
    let rules = Rules { silent_runtime: Lack::IsNothing, ..Rules::default() };
    let no_answer = |facts: &mut Facts| facts.served = Ok(BTreeMap::new());
    assert_eq!(codes(&both("relay", rules, no_answer)), ["good", "tools_runtime_silent"]);
    let no_runtime = |facts: &mut Facts| each_served(facts, |served| served.runtime = false);
    assert_eq!(codes(&both("relay", rules, no_runtime)), ["good", "tools_runtime_silent"]);
    let without_tools = both("ledger", rules, no_answer);
    assert_eq!(without_tools, [Health::Good, Health::Good], "nothing of it could be served");
}

#[test]
fn a_module_without_resources_waits_for_no_statement() {
    let rules = Rules { restated: Restated::EveryModule, ..Rules::default() };
    let older = |facts: &mut Facts| {
        each_statement(facts, |statement| statement.heard = at(-1));
    };
    assert_eq!(codes(&both("ledger", rules, older)), ["health_not_restated", "good"]);
    let restated = codes(&both("relay", rules, older));
    assert_eq!(restated, ["health_not_restated", "health_not_restated"]);
    // A resource that no manifest declares is one all the same.
    let undeclared = |facts: &mut Facts| {
        older(facts);
        let extra = resource("ledger", "extra", ResourceState::Healthy);
        each_statement(facts, |statement| statement.resources.push(extra.clone()));
    };
    let restated = codes(&both("ledger", rules, undeclared));
    assert_eq!(restated, ["health_not_restated", "health_not_restated"]);
}

#[test]
fn a_machine_with_resources_that_never_stated_anything_waits() {
    let rules = Rules { never_stated: Lack::IsNothing, ..Rules::default() };
    let never = |facts: &mut Facts| facts.statements = Ok(BTreeMap::new());
    assert_eq!(codes(&both("relay", rules, never)), ["good", "health_not_restated"]);
    assert_eq!(codes(&both("ledger", rules, never)), ["good", "good"]);
}

#[test]
fn every_declared_resource_is_stated() {
    let rules = Rules { unstated_resource: Lack::IsNothing, ..Rules::default() };
    let nothing_runs = |facts: &mut Facts| {
        each_statement(facts, |statement| statement.resources.clear());
    };
    assert_eq!(codes(&both("relay", rules, nothing_runs)), ["good", "resource_not_stated"]);
    // Also where nobody compares identities.
    let rules = Rules { statement_identity: Identity::NotCompared, ..Rules::default() };
    let [stated, _] = both("relay", rules, |_| {});
    assert_eq!(stated, Health::Good);
    let [unstated, _] = both("relay", rules, nothing_runs);
    assert_eq!(code(&unstated), "resource_not_stated");
}

/// The health of a module on the first machine when the catalogue says this of it.
fn health_with(module: &str, manifest: Option<&Manifest>, build: &str, rules: &Rules) -> Health {
    let facts = well(39);
    let moved = Moved {
        module,
        manifest,
        build: Some(build),
        machine: "anvil",
        declaration: Some(crate::fleet::DECLARATION),
        since: at(0),
    };
    health(&moved, &facts.index(), rules)
}

#[test]
fn a_module_missing_from_the_catalogue_waits() {
    let rules = Rules { missing_manifest: Lack::IsNothing, ..Rules::default() };
    for module in ["ledger", "node-engine"] {
        let build = crate::fleet::build(module);
        assert_eq!(health_with(module, None, &build, &rules), Health::Good);
        let missing = Health::NotYet(NotYet::ModuleNotInCatalogue);
        assert_eq!(health_with(module, None, &build, &Rules::default()), missing);
    }
}

#[test]
fn an_engine_is_compared_with_something() {
    // Nobody compares reports here, so that the engine can be of a build that is not known.
    let better = Rules { report_identity: Identity::NotCompared, ..Rules::default() };
    let reference = Rules { incomparable_engine: Lack::IsNothing, ..better };
    let nothing = Manifest::default();
    let delivers = Manifest { delivered: vec!["node-engine-2".to_owned()], ..nothing.clone() };
    let others = Manifest { delivered: vec!["node-engine-3".to_owned()], ..nothing.clone() };
    let mismatch = || Health::NotYet(NotYet::EngineBuildMismatch);

    let with = |manifest, build, rules| health_with("node-engine", Some(manifest), build, rules);
    assert_eq!(with(&nothing, "another", &reference), Health::Good, "nothing is compared");
    assert_eq!(with(&nothing, "another", &better), mismatch(), "with the build that was sent");
    assert_eq!(with(&nothing, "node-engine-2", &better), Health::Good);
    assert_eq!(with(&delivers, "another", &better), Health::Good);
    assert_eq!(with(&others, "another", &better), mismatch());

    let facts = well(39);
    let unknown = Moved {
        module: "node-engine",
        manifest: Some(&nothing),
        build: None,
        machine: "anvil",
        declaration: None,
        since: at(0),
    };
    let incomparable = Health::NotYet(NotYet::EngineNotComparable);
    assert_eq!(health(&unknown, &facts.index(), &reference), Health::Good);
    assert_eq!(health(&unknown, &facts.index(), &better), incomparable);
}
