//! Where modules run: not all on the same machines, and not always until their plan has ended.

use controller_core::PlanState;
use inventory::Standing;
use names::{BuildId, PlanId};
use wire::api::{Ask, Pace};

use crate::fleet::{Behaviour, Fleet, MANIFEST};

fn register(fleet: &mut Fleet, module: &str, commit: &str, extra: &str) -> BuildId {
    let name = format!("name = \"{module}\"\n{extra}");
    fleet.try_register(commit, &MANIFEST.replace("name = \"blog\"", &name)).unwrap()
}

fn unassign(fleet: &mut Fleet, module: &str, to: &str) {
    fleet.ask(Ask::Unassign { module: module.parse().unwrap(), to: to.parse().unwrap() }).unwrap();
}

fn is_done(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Done { .. })
}

fn has_failed(fleet: &Fleet, plan: &PlanId) -> bool {
    matches!(fleet.plan(plan).state, PlanState::Failed(_))
}

/// The machines that were ever declared a module.
fn met<'a>(fleet: &Fleet, module: &str, machines: &[&'a str]) -> Vec<&'a str> {
    let mut met = machines.to_vec();
    met.retain(|machine| !fleet.declared_of(module, machine).is_empty());
    met
}

#[test]
fn an_assignment_taken_back_during_a_gate_that_fails_does_not_hang_the_plan() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(3));
    let plan = fleet.release("blog@b");
    fleet.run(2);
    unassign(&mut fleet, "blog", "box-1,box-2");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    let (_, note) = fleet.told_of(&plan);
    assert!(note.contains("assigned there no longer"), "{note}");
    assert_eq!(fleet.runs("box-1"), None, "nothing goes where the module does not run any more");
    fleet.assign("blog", "box-2");
    fleet.register("c");
    let next = fleet.release("blog@c");
    fleet.run_until("the next release is done", |fleet| is_done(fleet, &next));
}

#[test]
fn an_assignment_taken_back_while_a_build_goes_back_does_not_hang_the_plan() {
    let mut fleet = Fleet::new(2);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.script("b", Behaviour::FailsAfter(3));
    let plan = fleet.release("blog@b");
    fleet.run(4);
    fleet.script("a", Behaviour::Installing);
    let is_putting_back =
        |fleet: &Fleet| matches!(fleet.plan(&plan).state, PlanState::PuttingBack(_));
    fleet.run_until("it is put back", is_putting_back);
    fleet.run(10);
    assert!(is_putting_back(&fleet), "the machine has not reported");
    unassign(&mut fleet, "blog", "box-1,box-2");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
}

#[test]
fn a_tier_that_runs_nowhere_by_the_time_it_begins_is_passed_over() {
    let mut fleet = Fleet::new(2);
    for commit in ["a", "b"] {
        register(&mut fleet, "blog", &format!("blog-{commit}"), "");
        register(&mut fleet, "shop", &format!("shop-{commit}"), "after = [\"blog\"]");
    }
    for module in ["blog", "shop"] {
        fleet.assign(module, "box-1,box-2");
    }
    let first = fleet.release("blog@blog-a shop@shop-a");
    fleet.run(2);
    let second = fleet.release("blog@blog-b shop@shop-b");
    unassign(&mut fleet, "blog", "box-1,box-2");
    fleet.run_until("the second is done", |fleet| is_done(fleet, &second));
    assert!(!fleet.plan(&first).is_moving());
    assert_eq!(fleet.declared_of("shop", "box-2"), ["shop-b"]);
    assert_eq!(met(&fleet, "blog", &["box-2"]), Vec::<&str>::new());
}

#[test]
fn each_of_several_modules_meets_one_machine_before_it_meets_many() {
    let mut fleet = Fleet::new(4);
    register(&mut fleet, "blog", "blog-a", "");
    let shop = register(&mut fleet, "shop", "shop-a", "");
    fleet.assign("blog", "box-1");
    fleet.assign("shop", "box-2,box-3,box-4");
    fleet.script("shop-a", Behaviour::NeverHealthy);
    let plan = fleet.release("blog@blog-a shop@shop-a");
    fleet.run_until("the plan ends", |fleet| has_failed(fleet, &plan));
    fleet.run(30);
    assert_eq!(met(&fleet, "shop", &["box-2", "box-3", "box-4"]), ["box-2"]);
    assert!(matches!(fleet.core.state().records.standing(&shop), Standing::Condemned(_)));
}

#[test]
fn a_gate_proves_nothing_of_a_module_that_none_of_its_machines_runs() {
    let mut fleet = Fleet::new(3);
    register(&mut fleet, "shed", "shed-a", "");
    register(&mut fleet, "blog", "blog-a", "");
    let shop = register(&mut fleet, "shop", "shop-a", "");
    for (module, to) in [("shed", "box-1"), ("blog", "box-1"), ("shop", "box-2")] {
        fleet.assign(module, to);
    }
    fleet.release("shed@shed-a");
    let plan = fleet.release("blog@blog-a shop@shop-a");
    assert_eq!(fleet.plan(&plan).state, PlanState::Queued, "box-1 is taken");
    unassign(&mut fleet, "shop", "box-2");
    fleet.run_until("the plan ends", |fleet| is_done(fleet, &plan));
    fleet.assign("shop", "box-3");
    fleet.run(10);
    assert!(matches!(fleet.core.state().records.standing(&shop), Standing::Unproven));
    assert_eq!(met(&fleet, "shop", &["box-3"]), Vec::<&str>::new());
}

#[test]
fn builds_of_a_module_move_in_the_order_in_which_they_were_asked_for() {
    let mut fleet = Fleet::new(2);
    for commit in ["a", "b", "c"] {
        register(&mut fleet, "blog", &format!("blog-{commit}"), "");
        register(&mut fleet, "shop", &format!("shop-{commit}"), "");
    }
    fleet.assign("blog", "box-1");
    fleet.assign("shop", "box-2");
    fleet.release("shop@shop-a");
    fleet.run(1);
    let both = fleet.release("blog@blog-b shop@shop-b");
    let newest = fleet.release("blog@blog-c");
    assert_eq!(fleet.plan(&newest).state, PlanState::Queued, "what is free would overtake");
    fleet.run_until("all are done", |fleet| is_done(fleet, &both) && is_done(fleet, &newest));
    assert_eq!(fleet.declared_of("blog", "box-1"), ["blog-b", "blog-c"]);
}

#[test]
fn no_machine_stays_on_a_build_that_another_machines_gate_condemned() {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    fleet.machine("box-3").unplug();
    fleet.release("blog@b");
    let is_back = |fleet: &Fleet| fleet.declared_to("box-2") == ["a", "b", "a"];
    fleet.run_until("b has passed its first gate alone", is_back);
    let now = || Pace::Now { why: "box-3 is away".into() };
    fleet.try_release("blog@b", now()).unwrap();
    fleet.machine("box-1").script("a", Behaviour::FailsAfter(0));
    let back = fleet.try_release("blog@a", now()).unwrap();
    fleet.run_until("a is condemned", |fleet| has_failed(fleet, &back));
    fleet.machine("box-3").plug_in();
    fleet.run(5);
    for machine in ["box-1", "box-2", "box-3"] {
        assert_eq!(fleet.runs(machine).as_deref(), Some("b"), "{machine}");
    }
}
