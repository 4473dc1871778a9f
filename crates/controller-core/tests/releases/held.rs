//! What a machine's failure book holds: said apart from everything else, with what frees it, and told when it is free.

use crate::fleet::{Behaviour, Fleet};
use controller_core::PlanState;
use inventory::{RollbackWord, Standing};
use wire::{HeldBy, api::Ask};

fn has_failed(fleet: &Fleet, plan: &names::PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

/// `a` is everywhere; `b` fails on box-1 and holds `blog-1` down there, so that `a` is refused. Answers the plan of `b`.
fn held_down() -> (Fleet, names::PlanId, names::BuildId) {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let bad = fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(2));
    let plan = fleet.release("blog@b");
    fleet.machine("box-1").holds("a", &bad, HeldBy::HeldDown);
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(3);
    (fleet, plan, bad)
}

/// The commands that the open conditions name.
fn commands(fleet: &Fleet) -> Vec<String> {
    let open = fleet.core.state().records.conditions.open();
    open.flat_map(|condition| condition.resolve.clone()).collect()
}

fn word(fleet: &Fleet, build: &names::BuildId) -> Option<RollbackWord> {
    match fleet.core.state().records.standing(build) {
        Standing::Condemned(verdict) => Some(verdict.end.rollback()?.word.clone()),
        Standing::Proven(_) | Standing::Unproven => None,
    }
}

#[test]
fn what_a_book_holds_down_is_not_put_back_and_says_the_commands_that_free_it() {
    let (mut fleet, plan, bad) = held_down();
    let good = fleet.plan(&plan).moves().next().and_then(|it| it.from.clone()).unwrap();
    let (_, note) = fleet.told_of(&plan);
    let wanted = format!("blog was not put back: box-1 holds blog-1 (held down of build {bad})");
    assert!(note.ends_with(&wanted), "{note}");
    assert!(fleet.conditions().contains(&"build.blog.box-1.rollback-failed".to_owned()));
    assert_eq!(
        commands(&fleet),
        [
            format!("controller rollback blog {good}"),
            format!("controller instances retry blog-1 --machine box-1 --build {bad}")
        ]
    );
    fleet.run(300);
    assert_eq!(fleet.declared_to("box-1"), ["a", "b", "a"], "nothing is sent again by itself");
}

#[test]
fn freed_it_goes_on_by_itself_and_is_told_as_put_back() {
    let (mut fleet, plan, bad) = held_down();
    assert!(matches!(word(&fleet, &bad), Some(RollbackWord::NotPutBack { to: Some(_), .. })));
    let newest = |fleet: &Fleet| fleet.sent.iter().map(|it| it.number).max();
    let declared = newest(&fleet);
    fleet.restart();
    let moved = |fleet: &Fleet| fleet.told.iter().filter(|(kind, _)| kind == "plan-moved").count();
    let before = moved(&fleet);
    fleet.machine("box-1").is_freed();
    fleet.run(10);
    assert_eq!(moved(&fleet), before, "the plan has ended and stays so");
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert_eq!(newest(&fleet), declared, "it held that declaration all the time");
    assert!(matches!(word(&fleet, &bad), Some(RollbackWord::PutBack { .. })));
    assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"]);
    assert_eq!(commands(&fleet), Vec::<String>::new());
    let (state, note) = fleet.told_of(&plan);
    assert!(state == "failed" && note.ends_with("blog was put back"), "{state}: {note}");
    let told: Vec<_> = fleet.told.iter().filter(|(kind, _)| kind == "rolled-back").collect();
    assert_eq!(told.len(), 2, "not put back, and then put back: {told:?}");
    assert!(told[1].1.starts_with("blog was put back on box-1"), "{told:?}");
}

#[test]
fn a_controller_killed_anywhere_tells_late_what_is_back() {
    let (mut fleet, _, _) = held_down();
    let before = fleet.actions;
    fleet.machine("box-1").is_freed();
    fleet.run(5);
    let last = fleet.actions;
    for killed in before + 1..=last {
        let (mut fleet, _, bad) = held_down();
        fleet.kill_before = Some(killed);
        fleet.machine("box-1").is_freed();
        fleet.run(20);
        assert_eq!(fleet.kills, 1, "{killed}");
        assert!(matches!(word(&fleet, &bad), Some(RollbackWord::PutBack { .. })), "{killed}");
        assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"], "{killed}");
    }
}

#[test]
fn a_newer_plan_of_the_module_has_the_last_word() {
    let (mut fleet, plan, bad) = held_down();
    fleet.register("c");
    let newer = fleet.release("blog@c");
    fleet.run_until("c is everywhere", |fleet| {
        matches!(fleet.plan(&newer).state, PlanState::Done { .. })
    });
    fleet.machine("box-1").is_freed();
    fleet.run(10);
    assert!(matches!(word(&fleet, &bad), Some(RollbackWord::NotPutBack { .. })));
    assert!(fleet.told_of(&plan).1.contains("was not put back"));
    assert_eq!(fleet.conditions(), Vec::<String>::new());
}

#[test]
fn also_one_that_was_stopped_and_put_the_same_build_back() {
    let (mut fleet, _, bad) = held_down();
    fleet.register("c");
    let newer = fleet.release("blog@c");
    fleet.run_until("it is sent", |fleet| !fleet.plan(&newer).sent.is_empty());
    fleet.ask(Ask::Stop { plan: newer }).unwrap();
    fleet.run(5);
    fleet.machine("box-1").is_freed();
    fleet.run(10);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert!(matches!(word(&fleet, &bad), Some(RollbackWord::NotPutBack { .. })));
}

#[test]
fn a_trial_that_a_book_refuses_is_wanting_and_neither_failed_nor_unable() {
    for rule in [HeldBy::Record, HeldBy::HeldDown] {
        is_refused(rule);
    }
}

fn is_refused(rule: HeldBy) {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let build = fleet.register("b");
    fleet.machine("box-1").holds("b", &build, rule);
    let plan = fleet.release("blog@b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.declared_to("box-2"), ["a"], "the next wave is never sent");
    let Standing::Condemned(verdict) = fleet.core.state().records.standing(&build) else {
        panic!("a refused trial is no pass")
    };
    assert_eq!(verdict.why.code, "report_refused");
    let why = &verdict.why.text;
    let frees = format!("controller instances retry blog-1 --machine box-1 --build {build}");
    assert!(why.contains("blog-1 is held") && why.contains(&frees), "{why}");
    fleet.run(5);
    assert_eq!(fleet.runs("box-1").as_deref(), Some("a"));
    assert_eq!(fleet.conditions(), ["build.blog.box-1.rolled-back"]);

    fleet.machine("box-1").is_freed();
    fleet.ask(Ask::Retry { plan }).unwrap();
    fleet.run_until("freed, it is tried", |fleet| fleet.runs("box-3").as_deref() == Some("b"));
}

#[test]
fn what_is_recorded_of_another_build_is_not_what_holds_this_one() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    let bad = fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(2));
    let plan = fleet.release("blog@b");
    // It refuses for a reason of its own, and says besides what it has on record.
    fleet.machine("box-1").holds("a", &bad, HeldBy::Record);
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(3);
    let (_, note) = fleet.told_of(&plan);
    assert!(note.ends_with("box-1 refused it (blog-1 is held)"), "{note}");
    assert_eq!(commands(&fleet), Vec::<String>::new(), "no signed word would help");
}
