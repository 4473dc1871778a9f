//! The laws.

use crate::anything::{at, catalogue, facts, machine, module, rules, time};
use crate::story::{self, MACHINES, Spoilt, Story, condition, opening, spoilt, step, story, well};
use gate_judge::{
    Conditions, End, FailedBy, Found, Gate, Moved, NotYet, OnSilence, Opening, Pair, Reason, Rules,
    Sent, SetBack, SettleFrom, Unread, UnreadableFacts, health,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::time::Duration;

/// Judges a whole story, and tells the gate after each step.
fn judged(story: &Story, mut after: impl FnMut(i64, Option<&Found>, &Gate)) {
    let Ok(mut gate) = Gate::open(story.opening.clone(), &story.rules) else { return };
    for (now, known) in &story.steps {
        let found = step(&mut gate, story, *now, known);
        after(*now, found.as_ref(), &gate);
    }
}

/// The end in a word.
fn end(gate: &Gate) -> &'static str {
    match gate.ended().map(|ended| &ended.end) {
        None => "none",
        Some(End::Passed { .. }) => "passed",
        Some(End::Failed(FailedBy::Broken(_))) => "broken",
        Some(End::Failed(FailedBy::Bound(_))) => "failed",
        Some(End::CannotTell(_)) => "cannot tell",
    }
}

/// The laws would hold of stories that never end, too: these do.
#[test]
fn the_stories_end_in_every_way() {
    let mut runner = TestRunner::deterministic();
    let mut ends = std::collections::BTreeMap::new();
    for _ in 0..2_000 {
        let story = story().new_tree(&mut runner).unwrap().current();
        let mut last = "none";
        judged(&story, |_, _, gate| last = end(gate));
        *ends.entry(last).or_insert(0) += 1;
    }
    for end in ["none", "passed", "broken", "failed", "cannot tell"] {
        assert!(ends.get(end).is_some_and(|&count| count >= 20), "{ends:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Counted here from what each judging found, not from what the gate says of itself.
    #[test]
    fn never_passes_too_early_or_with_too_few_passes(story in story()) {
        let (mut passes, mut first) = (0, None);
        let Rules { policy, settle_from, unreadable_facts, .. } = story.rules;
        judged(&story, |now, found, gate| match found {
            Some(Found::Wanting) => (passes, first) = (0, None),
            Some(Found::Unread(_)) => match unreadable_facts {
                UnreadableFacts::AreWanting => (passes, first) = (0, None),
                UnreadableFacts::ChangeNothing => {}
            },
            Some(Found::Counted | Found::Ended) => {
                passes += 1;
                let first = *first.get_or_insert(now);
                if end(gate) == "passed" {
                    let settled_from = match settle_from {
                        SettleFrom::FirstPass => first,
                        SettleFrom::Send => 0,
                    };
                    assert!(passes >= policy.passes);
                    assert!(i128::from(now - settled_from) >= i128::from(policy.settle.as_secs()));
                }
            }
            Some(
                Found::EndedBefore | Found::TooEarly | Found::BeforeSend | Found::NotCounted(_),
            )
            | None => {}
        });
    }

    #[test]
    fn counted_passes_keep_their_distance(story in story()) {
        let every = story.rules.policy.every;
        let mut last: Option<i64> = None;
        judged(&story, |now, found, gate| {
            if found == Some(&Found::Counted) {
                if gate.row().is_some_and(|row| row.passes.get() > 1) {
                    let distance = last.map(|last| now - last).unwrap_or_default();
                    assert!(i128::from(distance) >= i128::from(every.as_secs()));
                }
                last = Some(now);
            }
        });
    }

    #[test]
    fn an_end_is_final(story in story()) {
        let mut ended: Option<Gate> = None;
        judged(&story, |_, found, gate| {
            if let Some(before) = &ended {
                assert_eq!(gate.ended(), before.ended());
                assert!(matches!(found, None | Some(Found::EndedBefore)));
            } else if gate.ended().is_some() {
                assert_eq!(found, Some(&Found::Ended));
                ended = Some(gate.clone());
            }
        });
    }

    /// A controller that dies between any two judgings comes to the same end.
    #[test]
    fn a_gate_that_is_written_and_read_goes_on_the_same(story in story(), cut in 0_usize..25) {
        let mut whole = None;
        judged(&story, |_, _, gate| whole = Some(gate.clone()));
        let Ok(mut gate) = Gate::open(story.opening.clone(), &story.rules) else { return Ok(()) };
        for (place, (now, known)) in story.steps.iter().enumerate() {
            if place == cut {
                let kept = serde_json::to_string(&gate).unwrap();
                gate = serde_json::from_str(&kept).unwrap();
            }
            let _ = step(&mut gate, &story, *now, known);
        }
        prop_assert_eq!(Some(gate), whole);
    }

    /// Whatever is unreadable is asked by some pair here, and then nothing is found good.
    #[test]
    fn an_unreadable_source_never_passes(mut opening in opening(), rules in rules(), place in 0..4_usize) {
        let sources = [
            (Spoilt::OpenUnreadable, "ledger"),
            (Spoilt::ServedUnreadable, "relay"),
            (Spoilt::StatementsUnreadable, "ledger"),
            (Spoilt::LeaseUnreadable, "controller"),
        ];
        let (spoilt, module) = &sources[place];
        opening.carried.push(Pair { module: (*module).to_owned(), machine: "anvil".to_owned() });
        let rules = Rules { restated: Rules::reference().restated, ..rules };
        let mut facts = well(39);
        spoilt.spoil(&mut facts);
        let mut gate = Gate::open(opening, &rules).unwrap();
        let judging = gate.judge(&facts.index(), &story::catalogue(), at(40), &rules);
        prop_assert!(matches!(judging.found, Found::Wanting | Found::Ended), "{:?}", judging.found);
        prop_assert_ne!(end(&gate), "passed");
    }

    /// A machine that says nothing is never found good.
    #[test]
    fn silence_never_passes(opening in opening(), rules in rules(), spoilt in vec(spoilt(), 0..3)) {
        let mut facts = well(39);
        spoilt.iter().for_each(|it| it.spoil(&mut facts));
        let silent = opening.machines[0].clone();
        facts.reports.remove(&silent);
        let mut gate = Gate::open(opening, &rules).unwrap();
        let judging = gate.judge(&facts.index(), &story::catalogue(), at(40), &rules);
        prop_assert!(matches!(judging.found, Found::Wanting | Found::Ended), "{:?}", judging.found);
        prop_assert_ne!(end(&gate), "passed");
    }

    /// A gate under Bellwether's rules that hears nothing from a machine says that nobody can tell,
    /// unless that machine's own engine was moved; and it does not wait for ever.
    #[test]
    fn silence_always_ends(opening in opening(), late_s in 601_i64..10_000) {
        let rules = Rules::default();
        let mut gate = Gate::open(opening.clone(), &rules).unwrap();
        let mut facts = well(late_s - 1);
        facts.reports.clear();
        let _ = gate.judge(&facts.index(), &story::catalogue(), at(late_s), &rules);
        let modules = opening.carried.iter().map(|pair| &pair.module).chain([&opening.module]);
        let is_engine = modules.into_iter().any(|module| module == "node-engine");
        prop_assert_eq!(end(&gate), if is_engine { "failed" } else { "cannot tell" });
    }

    /// A condition about a machine that names no moved module holds back all that was moved there,
    /// and is never evidence against any of it.
    #[test]
    fn what_is_the_machines_never_fails_one_module(opening in opening(), rules in rules()) {
        let rules = Rules { on_silence: OnSilence::CannotTell, ..rules };
        let mut facts = well(39);
        facts.conditions = Conditions::Open(vec![condition("machine", "anvil.disk", "anvil")]);
        let mut gate = Gate::open(opening.clone(), &rules).unwrap();
        let without = {
            let mut gate = gate.clone();
            gate.judge(&well(39).index(), &story::catalogue(), at(40), &rules)
        };
        let judging = gate.judge(&facts.index(), &story::catalogue(), at(40), &rules);
        prop_assume!(without.wanting.is_empty());
        prop_assume!(!matches!(judging.found, Found::TooEarly | Found::BeforeSend));
        let held: Vec<_> = judging.wanting.iter().map(|it| (&it.module, &it.machine)).collect();
        let own = opening.machines.iter().map(|machine| (&opening.module, machine));
        let carried = gate.opening().carried.iter().map(|pair| (&pair.module, &pair.machine));
        let moved: Vec<_> = own.chain(carried).filter(|(_, machine)| *machine == MACHINES[0]).collect();
        prop_assert_eq!(held, moved);
        for wanting in &judging.wanting {
            let whole = matches!(&wanting.reason, Reason::NotYet(NotYet::MachineAsAWhole { .. }));
            prop_assert!(whole, "{}", wanting);
        }
        prop_assert_ne!(end(&gate), "failed");
    }

    /// No facts, no rules and no times make it panic, and what it writes it reads again.
    #[test]
    fn any_facts_at_any_time_are_judged(
        facts in vec((time(), facts()), 1..5),
        catalogue in catalogue(),
        rules in rules(),
        pairs in vec((module(), machine()), 0..4),
        (since, gap_s) in (time(), any::<u64>()),
    ) {
        let mut pairs = pairs.into_iter().map(|(module, machine)| Pair { module, machine });
        let own = pairs.next();
        let opening = Opening {
            module: own.as_ref().map(|pair| pair.module.clone()).unwrap_or_default(),
            machines: own.into_iter().map(|pair| pair.machine).collect(),
            carried: pairs.collect(),
            from: None,
            to: String::new(),
            since,
            sent: Sent::default(),
        };
        let Ok(mut gate) = Gate::open(opening, &rules) else { return Ok(()) };
        for (now, facts) in &facts {
            let judging = gate.judge(&facts.index(), &catalogue, *now, &rules);
            for wanting in &judging.wanting {
                prop_assert!(!wanting.to_string().is_empty());
            }
            let kept = serde_json::to_string(&(&gate, facts)).unwrap();
            let (again, facts_again) = serde_json::from_str(&kept).unwrap();
            prop_assert_eq!(&gate, &again);
            prop_assert_eq!(facts, &facts_again);
            let _ = (gate.bound_ends(&rules), gate.earliest_pass(*now, &rules), gate.took());
            let _ = gate.summary(&rules, None);
            let _ = gate.cannot_read(Unread::Facts, *now, &rules);
            gate.unobserved(Duration::from_secs(gap_s));
        }
    }

    /// Judging one module alone and in a gate of its own come to the same, when no condition is
    /// about the machine itself and nobody asks for freshness.
    #[test]
    fn alone_and_in_a_gate_are_the_same(spoilt in vec(spoilt(), 0..3), rules in rules(), module in module()) {
        let rules = Rules { fresh: None, set_back: SetBack::Counts, ..rules };
        let mut facts = well(39);
        spoilt.iter().for_each(|it| it.spoil(&mut facts));
        if let Conditions::Open(open) = &mut facts.conditions {
            open.retain(|condition| condition.subject.scope != "machine");
        }
        let catalogue = story::catalogue();
        let build = format!("{module}-2");
        let moved = Moved {
            module: &module,
            manifest: catalogue.get(&module),
            build: Some(&build),
            machine: "anvil",
            declaration: None,
            since: at(0),
        };
        let alone = health(&moved, &facts.index(), &rules);
        let opening = Opening {
            module: module.clone(),
            machines: vec!["anvil".to_owned()],
            carried: Vec::new(),
            from: None,
            to: String::new(),
            since: at(0),
            sent: Sent { builds: [(module.clone(), build.clone())].into(), ..Sent::default() },
        };
        let mut gate = Gate::open(opening, &rules).unwrap();
        let judging = gate.judge(&facts.index(), &catalogue, at(40), &rules);
        let reason = match alone {
            gate_judge::Health::Good => None,
            gate_judge::Health::NotYet(reason) => Some(Reason::NotYet(reason)),
            gate_judge::Health::Broken(reason) => Some(Reason::Broken(reason)),
        };
        let in_gate = judging.wanting.into_iter().next().map(|wanting| wanting.reason);
        prop_assert_eq!(reason, in_gate);
    }
}
