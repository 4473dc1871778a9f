//! What the bound means: late passes, silence, sources that were moved, and what was so before.

use crate::fleet::{
    Judged, at, carrying, condition, each_outcome, each_resource, each_served, each_statement,
    opening, resource, the_holder, well, with_conditions,
};
use gate_judge::{
    Baseline, BaselineUse, Blame, Conditions, Facts, FailFast, Found, LatePass, NothingToJudge,
    OnSilence, Outcome, Pair, ResourceName, ResourceState, Rules, ToolNames, Unable, Unread,
    Unreadable, UnreadableFacts, Weight,
};

type Opened = Result<(), NothingToJudge>;

/// How a gate ends that finds the same at every judging.
fn end_of(
    opening: gate_judge::Opening,
    rules: Rules,
    facts: &dyn Fn(i64) -> Facts,
) -> Result<Judged, NothingToJudge> {
    let mut gate = Judged::open(opening, rules)?;
    for seconds in (5..=605).step_by(10) {
        let _ = gate.by(seconds, &facts(seconds - 1));
    }
    Ok(gate)
}

fn silent_reports(seconds: i64) -> Facts {
    let mut facts = well(seconds);
    facts.reports.clear();
    facts
}

fn unreadable() -> Unreadable {
    Unreadable::new("no answer")
}

#[test]
fn a_gate_that_is_first_good_after_the_bound_ends() -> Opened {
    let relay = || opening("relay", &["anvil"]);
    let rules = Rules { late_pass: LatePass::Counts, ..Rules::default() };
    let mut reference = Judged::open(relay(), rules)?;
    let mut better = Judged::open(relay(), Rules::default())?;
    for gate in [&mut reference, &mut better] {
        assert_eq!(gate.by(599, &silent_reports(598)), Found::Wanting);
    }
    assert_eq!(reference.well(601), Found::Counted);
    assert_eq!(better.well(601), Found::Ended);
    assert_eq!(better.end(), ("cannot tell", "not_reported"), "by what was wanting until then");
    assert_eq!(better.gate.failing(), ["relay"]);

    let mut unjudged = Judged::open(relay(), Rules::default())?;
    assert_eq!(unjudged.well(601), Found::Ended);
    assert_eq!(unjudged.end(), ("cannot tell", "first_good_too_late"));
    assert_eq!(unjudged.gate.failing(), ["relay"]);
    Ok(())
}

#[test]
fn a_row_that_began_within_the_bound_may_end_after_it() -> Opened {
    let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
    assert_eq!(better.well(600), Found::Counted);
    assert_eq!(better.well(640), Found::Counted);
    assert_eq!(better.well(720), Found::Ended);
    assert_eq!(better.end(), ("passed", ""));
    Ok(())
}

#[test]
fn silent_machine_ends_in_cannot_tell() -> Opened {
    let relay = || opening("relay", &["anvil"]);
    let rules = Rules { on_silence: OnSilence::Failed, ..Rules::default() };
    let reference = end_of(relay(), rules, &silent_reports)?;
    assert_eq!(reference.end(), ("failed", "not_reported"));
    let better = end_of(relay(), Rules::default(), &silent_reports)?;
    assert_eq!(better.end(), ("cannot tell", "not_reported"));
    assert_eq!(better.gate.ended().and_then(gate_judge::Ended::blame), Some(Blame::Machine));
    Ok(())
}

#[test]
fn every_kind_of_silence_ends_in_cannot_tell() -> Opened {
    type Spoil = fn(&mut Facts);
    let cases: [(&str, &str, Spoil); 11] = [
        ("relay", "not_reported", |facts| facts.reports.clear()),
        ("relay", "conditions_unreadable", |facts| {
            facts.conditions = Conditions::Unreadable(unreadable());
        }),
        ("relay", "served_unreadable", |facts| facts.served = Err(unreadable())),
        ("relay", "health_unreadable", |facts| facts.statements = Err(unreadable())),
        ("controller", "lease_unreadable", |facts| facts.lease = Err(unreadable())),
        ("relay", "tools_runtime_silent", |facts| facts.served = Ok([].into())),
        ("relay", "health_not_restated", |facts| {
            each_statement(facts, |statement| statement.heard = at(-1));
        }),
        ("relay", "statement_of_another_send", |facts| {
            each_statement(facts, |statement| statement.declaration = Some(7));
        }),
        ("relay", "statement_too_old", |facts| {
            each_statement(facts, |statement| statement.heard = at(1));
        }),
        ("relay", "unable", |facts| {
            each_outcome(facts, "relay", |module| module.outcome = Outcome::Unable);
        }),
        ("relay", "machine_as_a_whole", |facts| {
            facts.conditions = Conditions::Open(vec![condition("machine", "anvil", "anvil")]);
        }),
    ];
    for (module, code, spoil) in cases {
        let facts = |seconds| {
            let mut facts = well(seconds);
            spoil(&mut facts);
            facts
        };
        let gate = end_of(opening(module, &["anvil"]), Rules::default(), &facts)?;
        assert_eq!(gate.end(), ("cannot tell", code));
        let wanting = gate.gate.ended().map(|ended| ended.wanting.clone()).unwrap_or_default();
        assert_eq!(wanting.len(), 1, "{code}");
        assert_eq!(wanting[0].weight, Weight::Silence, "{code}");
    }
    Ok(())
}

#[test]
fn what_is_seen_is_no_silence() -> Opened {
    type Spoil = fn(&mut Facts);
    let cases: [(&str, &str, Spoil); 9] = [
        ("relay", "condition_raised", |facts| {
            facts.conditions = Conditions::Open(vec![condition("module", "relay.anvil", "anvil")]);
        }),
        ("node-engine", "engine_build_mismatch", |facts| facts.engines.clear()),
        ("controller", "lease_older", |facts| {
            the_holder(facts, |holder| holder.taken = at(-61));
        }),
        ("controller", "lease_held_by_another", |facts| {
            the_holder(facts, |holder| {
                holder.machine = Some("birch".to_owned());
            });
        }),
        ("controller", "controller_not_ready", |facts| {
            the_holder(facts, |holder| holder.health = None);
        }),
        ("relay", "tools_not_served", |facts| {
            each_served(facts, |served| served.tools = ToolNames::default());
        }),
        ("relay", "resource_starting", |facts| state_all(facts, &ResourceState::Starting)),
        ("relay", "resource_unhealthy", |facts| {
            state_all(facts, &ResourceState::Other("unhealthy".to_owned()));
        }),
        ("node-engine", "core_behind_settling", |facts| {
            let mut behind = condition("machine", "anvil", "anvil");
            behind.kind = "core-behind".to_owned();
            facts.conditions = Conditions::Open(vec![behind]);
        }),
    ];
    for (module, code, spoil) in cases {
        let facts = |seconds| {
            let mut facts = well(seconds);
            spoil(&mut facts);
            facts
        };
        let gate = end_of(opening(module, &["anvil"]), Rules::default(), &facts)?;
        assert_eq!(gate.end(), ("failed", code));
        assert_eq!(gate.gate.ended().and_then(gate_judge::Ended::blame), Some(Blame::Build));
    }
    Ok(())
}

fn state_all(facts: &mut Facts, state: &ResourceState) {
    each_resource(facts, |resource| resource.state = state.clone());
}

#[test]
fn a_source_that_was_moved_and_is_silent_has_failed() -> Opened {
    let no_tools = |seconds| Facts { served: Ok([].into()), ..well(seconds) };
    let no_lease = |seconds| Facts { lease: Ok(None), ..well(seconds) };
    type Case<'a> = (&'a str, &'a str, &'a dyn Fn(i64) -> Facts);
    let cases: [Case<'_>; 3] = [
        ("node-engine", "not_reported", &silent_reports),
        ("node-tools", "tools_runtime_silent", &no_tools),
        ("controller", "lease_vacant", &no_lease),
    ];
    for (module, code, facts) in cases {
        let gate = end_of(opening(module, &["anvil"]), Rules::default(), facts)?;
        assert_eq!(gate.end(), ("failed", code));
    }
    // The engine's silence is no evidence against what it carried, and the engine failed.
    let gate =
        end_of(carrying("relay", "anvil", &["node-engine"]), Rules::default(), &silent_reports)?;
    assert_eq!(gate.end(), ("failed", "not_reported"));
    let weights = |gate: &Judged| {
        let wanting = gate.gate.ended().map(|ended| ended.wanting.clone()).unwrap_or_default();
        wanting.into_iter().map(|it| (it.module, it.weight)).collect::<Vec<_>>()
    };
    assert_eq!(
        weights(&gate),
        [("relay".to_owned(), Weight::Silence), ("node-engine".to_owned(), Weight::Evidence)]
    );
    Ok(())
}

#[test]
fn all_that_is_wanting_must_be_silence() -> Opened {
    // The first machine is silent, the second states the resource unhealthy: the first of the
    // worst is silence, and yet there is evidence.
    let facts = |seconds| {
        let mut facts = well(seconds);
        facts.reports.remove("anvil");
        state_all(&mut facts, &ResourceState::Other("unhealthy".to_owned()));
        facts
    };
    let gate = end_of(opening("relay", &["anvil", "birch"]), Rules::default(), &facts)?;
    assert_eq!(gate.end(), ("failed", "not_reported"));
    Ok(())
}

#[test]
fn facts_that_cannot_be_read_end_at_the_bound_too() -> Opened {
    let rules = Rules { unreadable_facts: UnreadableFacts::ChangeNothing, ..Rules::default() };
    let mut reference = Judged::open(opening("relay", &["anvil"]), rules)?;
    let mut better = Judged::open(carrying("relay", "anvil", &["ledger"]), Rules::default())?;
    assert_eq!(reference.well(40), Found::Counted);
    assert_eq!(better.well(40), Found::Counted);

    let unread = Found::Unread(Unread::Facts);
    assert_eq!(reference.gate.cannot_read(Unread::Facts, at(50), &rules).found, unread);
    assert_eq!(better.gate.cannot_read(Unread::Facts, at(50), &Rules::default()).found, unread);
    assert_eq!(reference.passes(), 1);
    assert_eq!(better.passes(), 0, "what cannot be read is never good");
    assert_eq!(better.gate.failing(), ["relay", "ledger"]);

    let late = Unread::Catalogue;
    assert_eq!(reference.gate.cannot_read(late, at(9_999), &rules).found, Found::Unread(late));
    assert_eq!(better.gate.cannot_read(late, at(601), &Rules::default()).found, Found::Ended);
    assert_eq!(better.end(), ("cannot tell", "catalogue_unreadable"));
    assert_eq!(better.gate.ended().and_then(gate_judge::Ended::blame), Some(Blame::Environment));
    Ok(())
}

#[test]
fn could_not_be_tried_is_kept_apart_from_tried_and_failed() -> Opened {
    let facts = |seconds| {
        let mut facts = well(seconds);
        each_outcome(&mut facts, "relay", |module| module.outcome = Outcome::Unable);
        facts
    };
    let rules = Rules { unable: Unable::NotKnown, ..Rules::default() };
    let reference = end_of(opening("relay", &["anvil"]), rules, &facts)?;
    assert_eq!(reference.end(), ("failed", "report_other"));
    let better = end_of(opening("relay", &["anvil"]), Rules::default(), &facts)?;
    assert_eq!(better.end(), ("cannot tell", "unable"));
    assert_eq!(better.gate.ended().and_then(gate_judge::Ended::blame), Some(Blame::Environment));
    Ok(())
}

#[test]
fn a_resource_that_was_given_up_is_broken_at_once() -> Opened {
    let mut facts = well(39);
    state_all(&mut facts, &ResourceState::Failed);
    let rules = Rules { fail_fast: FailFast::Off, ..Rules::default() };
    let mut reference = Judged::open(opening("relay", &["anvil"]), rules)?;
    assert_eq!(reference.by(40, &facts), Found::Wanting);
    let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
    assert_eq!(better.by(40, &facts), Found::Ended);
    assert_eq!(better.end(), ("broken", "resource_failed"));
    Ok(())
}

fn wanting_before(facts: &mut Facts) {
    let web =
        ResourceName { module: "relay".to_owned(), resource: "web".to_owned(), instance: None };
    let before = Baseline {
        conditions: ["module.relay.anvil.wrong".to_owned()].into(),
        resources: [web].into(),
    };
    facts.baseline.insert("anvil".to_owned(), before);
}

#[test]
fn what_was_unhealthy_before_the_send_is_not_the_builds_doing() -> Opened {
    let facts = |seconds| {
        let mut facts = well(seconds);
        state_all(&mut facts, &ResourceState::Other("unhealthy".to_owned()));
        wanting_before(&mut facts);
        facts
    };
    let rules = Rules { baseline: BaselineUse::Ignored, ..Rules::default() };
    let reference = end_of(opening("relay", &["anvil"]), rules, &facts)?;
    assert_eq!(reference.end(), ("failed", "resource_unhealthy"));
    let better = end_of(opening("relay", &["anvil"]), Rules::default(), &facts)?;
    assert_eq!(
        better.end(),
        ("cannot tell", "resource_unhealthy"),
        "it must be healthy all the same"
    );
    assert_eq!(better.gate.ended().and_then(gate_judge::Ended::blame), Some(Blame::Machine));

    // Another resource that was healthy before is evidence.
    let and_another = |seconds| {
        let mut facts = facts(seconds);
        let worker = resource("relay", "worker", ResourceState::Starting);
        each_statement(&mut facts, |statement| statement.resources.push(worker.clone()));
        facts
    };
    let mixed = end_of(opening("relay", &["anvil"]), Rules::default(), &and_another)?;
    assert_eq!(mixed.end(), ("failed", "resource_unhealthy"));
    Ok(())
}

#[test]
fn a_resource_that_is_not_stated_and_was_wanting_before_is_not_the_builds_doing() -> Opened {
    let unstated = |seconds| {
        let mut facts = well(seconds);
        each_statement(&mut facts, |statement| statement.resources.clear());
        facts
    };
    let and_before = |seconds| {
        let mut facts = unstated(seconds);
        wanting_before(&mut facts);
        facts
    };
    let relay = || opening("relay", &["anvil"]);
    let new = end_of(relay(), Rules::default(), &unstated)?;
    assert_eq!(new.end(), ("failed", "resource_not_stated"));
    let before = end_of(relay(), Rules::default(), &and_before)?;
    assert_eq!(before.end(), ("cannot tell", "resource_not_stated"));
    Ok(())
}

#[test]
fn what_was_wanting_before_never_softens_what_is_broken() -> Opened {
    let mut facts = well(39);
    state_all(&mut facts, &ResourceState::Failed);
    wanting_before(&mut facts);
    let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
    assert_eq!(better.by(40, &facts), Found::Ended);
    assert_eq!(better.end(), ("broken", "resource_failed"));
    Ok(())
}

#[test]
fn a_condition_that_was_open_before_is_no_evidence() -> Opened {
    let mut facts = with_conditions(39, &[condition("module", "relay.anvil", "anvil")]);
    wanting_before(&mut facts);
    let rules = Rules { baseline: BaselineUse::Ignored, ..Rules::default() };
    let mut reference = Judged::open(opening("relay", &["anvil"]), rules)?;
    assert_eq!(reference.by(40, &facts), Found::Wanting);
    let mut better = Judged::open(opening("relay", &["anvil"]), Rules::default())?;
    assert_eq!(better.by(40, &facts), Found::Counted);
    Ok(())
}

#[test]
fn only_evidence_speaks_against_a_build() -> Opened {
    // The engine was moved and is silent; of what it carried nobody heard anything.
    let gate =
        end_of(carrying("relay", "anvil", &["node-engine"]), Rules::default(), &silent_reports)?;
    let against =
        |gate: &Judged, module| gate.gate.ended().is_some_and(|ended| ended.speaks_against(module));
    assert!(against(&gate, "node-engine"));
    assert!(!against(&gate, "relay"));
    Ok(())
}

#[test]
fn a_gate_that_is_good_too_late_ends_by_what_was_last_wanting_of_each_module() -> Opened {
    // The first machine is silent, on the second a condition is raised about what was carried.
    let mut opening = carrying("relay", "birch", &["ledger"]);
    opening.machines.insert(0, "anvil".to_owned());
    let mut facts = with_conditions(598, &[condition("module", "ledger.birch", "birch")]);
    facts.reports.remove("anvil");
    let mut gate = Judged::open(opening, Rules::default())?;
    assert_eq!(gate.by(599, &facts), Found::Wanting);
    assert_eq!(gate.well(601), Found::Ended);
    assert_eq!(gate.end(), ("failed", "not_reported"));
    let ended = gate.gate.ended().map(|ended| ended.wanting.clone()).unwrap_or_default();
    let told: Vec<_> = ended.iter().map(|it| (it.module.as_str(), it.weight)).collect();
    assert_eq!(told, [("relay", Weight::Silence), ("ledger", Weight::Evidence)]);
    Ok(())
}

#[test]
fn of_each_module_the_first_of_what_weighs_most_is_kept() -> Opened {
    // Of the first module: silence on the first machine, evidence on the second, evidence again on
    // the third. Of the second one: silence on two machines alike.
    let machines = ["anvil", "birch", "cedar"];
    let mut opening = opening("relay", &machines);
    let ledger = |machine: &str| Pair { module: "ledger".to_owned(), machine: machine.to_owned() };
    opening.carried = vec![ledger("birch"), ledger("anvil")];
    let mut facts = with_conditions(
        39,
        &[condition("module", "relay.birch", "birch"), condition("module", "relay.cedar", "cedar")],
    );
    facts.reports.remove("anvil");
    each_outcome(&mut facts, "ledger", |module| module.outcome = Outcome::Unable);
    facts.reports.extend(facts.reports.get("birch").cloned().map(|it| ("cedar".to_owned(), it)));
    opening
        .sent
        .machines
        .extend(opening.sent.machines.get("birch").copied().map(|sent| ("cedar".to_owned(), sent)));
    let mut gate = Judged::open(opening, Rules::default())?;
    assert_eq!(gate.by(40, &facts), Found::Wanting);
    let miss = gate.gate.last_miss().map(|miss| (miss.cause.code(), miss.weight));
    assert_eq!(miss, Some(("not_reported", Weight::Evidence)));
    let kept = gate.gate.last_miss().map(|miss| miss.wanting.clone()).unwrap_or_default();
    let told: Vec<_> =
        kept.iter().map(|it| (it.module.as_str(), it.machine.as_str(), it.reason.code())).collect();
    let expected = [("relay", "birch", "condition_raised"), ("ledger", "birch", "unable")];
    assert_eq!(told, expected);
    Ok(())
}
