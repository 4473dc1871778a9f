//! What is wrong with a machine is the machine's, and what names a component is that component's.

use crate::fleet::{
    Judged, at, carrying, condition, each_resource, opening, well, with_conditions,
};
use gate_judge::{
    Baseline, CoreBehind, Facts, Found, IllMachine, MachineInId, NothingToJudge, ResourceState,
    Rules, SentTo, about_machine,
};

type Opened = Result<(), NothingToJudge>;

fn wanting(gate: &mut Judged, facts: &Facts) -> Vec<(String, String, &'static str)> {
    let judging = gate.judging(40, facts);
    let told = judging.wanting.into_iter();
    told.map(|it| (it.module, it.machine, it.reason.code())).collect()
}

fn pair(module: &str, machine: &str, code: &'static str) -> (String, String, &'static str) {
    (module.to_owned(), machine.to_owned(), code)
}

#[test]
fn core_behind_is_laid_on_the_component_that_it_names() {
    let mut behind = condition("machine", "anvil.node-engine", "anvil");
    behind.kind = "core-behind".to_owned();
    let facts = with_conditions(39, &[behind]);
    let index = facts.index();
    let rules = Rules { core_behind: CoreBehind::EveryMoved, ..Rules::default() };
    let on = |moved: &[&str], rules: &Rules| {
        let about = about_machine("anvil", moved, at(0), &index, rules);
        assert_eq!(about.whole, None);
        assert!(about.taken.contains(&0), "it is nobody else's");
        about.on.into_iter().map(|(module, reason)| (module, reason.code())).collect::<Vec<_>>()
    };
    // It names the engine, and only node tools were moved.
    let reference = on(&["relay", "node-tools"], &rules);
    assert_eq!(reference, [("node-tools".to_owned(), "core_behind_settling")]);
    assert_eq!(on(&["relay", "node-tools"], &Rules::default()), []);
    let named = on(&["node-tools", "node-engine"], &Rules::default());
    assert_eq!(named, [("node-engine".to_owned(), "condition_raised")]);
}

#[test]
fn core_behind_that_names_no_component_holds_back_what_was_moved() {
    let mut behind = condition("machine", "anvil", "anvil");
    behind.kind = "core-behind".to_owned();
    let facts = with_conditions(39, &[behind]);
    let about = about_machine(
        "anvil",
        &["relay", "node-tools", "node-engine", "controller"],
        at(0),
        &facts.index(),
        &Rules::default(),
    );
    let held: Vec<_> = about.on.keys().map(String::as_str).collect();
    assert_eq!(held, ["node-engine", "node-tools"]);
}

#[test]
fn a_condition_is_seen_on_a_machine_that_only_its_id_names() -> Opened {
    let rules = Rules { machine_in_id: MachineInId::NotSeen, ..Rules::default() };
    let about_relay = with_conditions(39, &[condition("module", "relay.anvil", "")]);
    let about_anvil = with_conditions(39, &[condition("machine", "anvil.disk", "")]);
    for (facts, code) in [(about_relay, "condition_raised"), (about_anvil, "machine_as_a_whole")] {
        let mut reference = Judged::open(opening("relay", &["anvil"]), rules)?;
        assert_eq!(wanting(&mut reference, &facts), []);
        let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
        assert_eq!(wanting(&mut better, &facts), [pair("relay", "anvil", code)]);
        let mut another = Judged::open(opening("relay", &["birch"]), Rules::default())?;
        assert_eq!(wanting(&mut another, &facts), []);
    }
    Ok(())
}

#[test]
fn a_subject_that_names_its_machine_is_believed() -> Opened {
    // The machine anvil has a module of the name of another machine.
    let facts = with_conditions(39, &[condition("module", "birch.relay", "anvil")]);
    let mut gate = Judged::open(opening("relay", &["birch"]), Rules::default())?;
    assert_eq!(wanting(&mut gate, &facts), []);
    Ok(())
}

#[test]
fn what_is_wrong_with_a_machine_holds_back_everything_moved_there() -> Opened {
    let facts = with_conditions(39, &[condition("machine", "anvil", "anvil")]);
    let mut opening = carrying("relay", "anvil", &["ledger"]);
    opening.machines.push("birch".to_owned());
    let mut gate = Judged::open(opening, Rules::default())?;
    let whole = |module| pair(module, "anvil", "machine_as_a_whole");
    assert_eq!(wanting(&mut gate, &facts), [whole("relay"), whole("ledger")]);
    Ok(())
}

#[test]
fn what_is_seen_on_a_machine_that_is_ill_itself_speaks_against_no_module() -> Opened {
    let rules = Rules { ill_machine: IllMachine::Believed, ..Rules::default() };
    let cases = [
        (ResourceState::Starting, "resource_starting"),
        (ResourceState::Other("unhealthy".to_owned()), "resource_unhealthy"),
        (ResourceState::Failed, "resource_failed"),
    ];
    for (state, code) in cases {
        let mut facts = with_conditions(39, &[condition("machine", "anvil", "anvil")]);
        each_resource(&mut facts, |resource| resource.state = state.clone());
        let mut reference = Judged::open(opening("relay", &["anvil"]), rules)?;
        assert_eq!(wanting(&mut reference, &facts), [pair("relay", "anvil", code)]);
        let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
        assert_eq!(wanting(&mut better, &facts), [pair("relay", "anvil", "machine_as_a_whole")]);
        // Another machine is believed, and so is this one of what it was before the send.
        let mut another = Judged::open(opening("relay", &["birch"]), Rules::default())?;
        assert_eq!(wanting(&mut another, &facts), [pair("relay", "birch", code)]);
        let before = Baseline {
            conditions: ["machine.anvil.wrong".to_owned()].into(),
            ..Baseline::default()
        };
        facts.baseline.insert("anvil".to_owned(), before);
        let mut ill_before = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
        assert_eq!(wanting(&mut ill_before, &facts), [pair("relay", "anvil", code)]);
    }
    Ok(())
}

#[test]
fn a_core_component_is_judged_on_a_machine_that_may_be_ill_by_it() -> Opened {
    let mut facts = with_conditions(39, &[condition("machine", "anvil", "anvil")]);
    facts.engines.insert("anvil".to_owned(), "another".to_owned());
    let mut gate = Judged::open(opening("node-engine", &["anvil"]), Rules::default())?;
    let expected = [pair("node-engine", "anvil", "engine_build_mismatch")];
    assert_eq!(wanting(&mut gate, &facts), expected);
    Ok(())
}

#[test]
fn a_machine_of_an_earlier_wave_is_judged_since_its_own_send() -> Opened {
    // The second machine's wave is sent 15 minutes after the first machine's.
    let mut opening = opening("relay", &["birch"]);
    opening.carried =
        vec![gate_judge::Pair { module: "relay".to_owned(), machine: "anvil".to_owned() }];
    opening.since = at(0);
    let earlier = SentTo { declaration: 7, at: at(-900) };
    opening.sent.machines.insert("anvil".to_owned(), earlier);
    let mut facts = well(39);
    if let Some(report) = facts.reports.get_mut("anvil") {
        report.at = Some(at(-890));
        report.declaration = Some(7);
    }
    if let Some(statement) = facts.statements.iter_mut().find_map(|all| all.get_mut("anvil")) {
        statement.declaration = Some(7);
    }

    let mut gate = Judged::open(opening.clone(), Rules::default())?;
    assert_eq!(gate.by(40, &facts), Found::Counted);

    // What went wrong there between the two sends is evidence.
    let mut raised = condition("module", "relay.anvil", "anvil");
    raised.raised = at(-300);
    facts.conditions = gate_judge::Conditions::Open(vec![raised]);
    let mut gate = Judged::open(opening, Rules::default())?;
    assert_eq!(wanting(&mut gate, &facts), [pair("relay", "anvil", "condition_raised")]);
    Ok(())
}
