//! Several modules in one release: sent together, judged together, and put back each on its own account.

use controller_core::PlanState;
use names::PlanId;

use crate::fleet::{Behaviour, Fleet, MANIFEST};

fn manifest(module: &str, extra: &str) -> String {
    MANIFEST.replace("name = \"blog\"", &format!("name = \"{module}\"\n{extra}"))
}

/// Both modules run their first builds on three machines.
fn fleet_with_both(extra: &str) -> Fleet {
    let mut fleet = Fleet::new(3);
    for (module, commit) in [("blog", "blog-a"), ("shop", "shop-a")] {
        fleet.try_register(commit, &manifest(module, "")).unwrap();
        fleet.assign(module, "box-1,box-2,box-3");
    }
    let plan = fleet.release("blog@blog-a shop@shop-a");
    fleet.run_until("both run", |fleet| is_done(fleet, &plan));
    fleet.try_register("blog-b", &manifest("blog", extra)).unwrap();
    fleet.try_register("shop-b", &manifest("shop", "")).unwrap();
    fleet
}

fn is_done(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Done { .. })
}

fn has_failed(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

#[test]
fn modules_released_together_reach_each_machine_in_one_declaration() {
    let mut fleet = fleet_with_both("");
    let before = fleet.sent.len();
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("both are everywhere", |fleet| is_done(fleet, &plan));
    assert_eq!(fleet.sent.len() - before, 3, "one send each");
    for module in ["blog", "shop"] {
        let (a, b) = (format!("{module}-a"), format!("{module}-b"));
        assert_eq!(fleet.declared_of(module, "box-3"), [a, b]);
    }
}

#[test]
fn only_what_was_wanting_goes_back_and_what_was_good_stays() {
    let mut fleet = fleet_with_both("");
    fleet.script("shop-b", Behaviour::FailsAfter(1));
    let before = fleet.sent.len();
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    assert_eq!(fleet.declared_of("shop", "box-1"), ["shop-a", "shop-b", "shop-a"]);
    assert_eq!(fleet.declared_of("blog", "box-1"), ["blog-a", "blog-b"], "it was good, and stays");
    assert_eq!(fleet.sent.len() - before, 2, "sent once, put back once; the others saw nothing");
    let records = &fleet.core.state().records;
    let blog = records.builds.values().find(|build| build.commit.as_str() == "blog-b").unwrap();
    assert!(
        !records.is_proven(&blog.id) && !records.is_condemned(&blog.id),
        "neither passed nor condemned"
    );
    assert_eq!(fleet.conditions(), ["build.shop.box-1.rolled-back"]);
}

#[test]
fn two_that_fail_together_go_back_in_one_send() {
    let mut fleet = fleet_with_both("");
    fleet.script("shop-b", Behaviour::NeverHealthy);
    fleet.script("blog-b", Behaviour::NeverHealthy);
    let before = fleet.sent.len();
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    assert_eq!(fleet.sent.len() - before, 2, "sent once, put back once");
    assert_eq!(fleet.declared_of("shop", "box-1"), ["shop-a", "shop-b", "shop-a"]);
    assert_eq!(fleet.declared_of("blog", "box-1"), ["blog-a", "blog-b", "blog-a"]);
}

#[test]
fn a_module_that_moves_after_another_waits_for_all_of_its_waves() {
    let mut fleet = fleet_with_both("after = [\"shop\"]");
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("blog begins", |fleet| fleet.declared_of("blog", "box-1").len() == 2);
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.declared_of("shop", machine), ["shop-a", "shop-b"], "{machine}");
    }
    fleet.run_until("the plan ends", |fleet| is_done(fleet, &plan));
    assert_eq!(fleet.declared_of("blog", "box-3"), ["blog-a", "blog-b"]);
}

#[test]
fn an_earlier_tier_stays_watched_while_a_later_one_moves() {
    let mut fleet = fleet_with_both("after = [\"shop\"]");
    fleet.script("blog-b", Behaviour::HealthyAfter(12));
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("blog begins", |fleet| fleet.declared_of("blog", "box-1").len() == 2);
    fleet.machine("box-2").script("shop-b", Behaviour::FailsAfter(0));
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.declared_of("shop", machine), ["shop-a", "shop-b", "shop-a"], "{machine}");
    }
}

#[test]
fn a_module_of_which_nothing_was_seen_is_not_condemned_with_the_other() {
    let mut fleet = fleet_with_both("");
    fleet.script("shop-b", Behaviour::FailsAfter(0));
    fleet.script("blog-b", Behaviour::Unable);
    let plan = fleet.release("blog@blog-b shop@shop-b");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    let records = &fleet.core.state().records;
    let build =
        |commit: &str| records.builds.values().find(|it| it.commit.as_str() == commit).unwrap();
    assert!(records.is_condemned(&build("shop-b").id));
    assert!(!records.is_condemned(&build("blog-b").id), "it could not be tried");
    assert_eq!(
        fleet.declared_of("blog", "box-1"),
        ["blog-a", "blog-b", "blog-a"],
        "it goes back all the same"
    );
}
