//! Laws of plans, over fleets in which anything may happen at any time.

use std::collections::BTreeSet;

use crate::fleet::{Behaviour, Fleet};
use controller_core::PlanState;
use inventory::Standing;
use names::PlanId;
use proptest::prelude::*;
use wire::api::{Ask, Pace, Run};

/// What may happen between two seconds.
#[derive(Debug, Clone)]
enum Happening {
    Release(usize),
    ReleaseNow(usize),
    StopNewest,
    Behave(usize, usize, Behaviour),
    Unplug(usize),
    PlugIn(usize),
    Mute(usize),
    Unmute(usize),
    Kill(usize),
    Unassign(usize),
    Assign(usize),
    Wait(u32),
}

const MACHINES: usize = 3;
const COMMITS: [&str; 4] = ["a", "b", "c", "d"];

fn behaviour() -> impl Strategy<Value = Behaviour> {
    prop_oneof![
        4 => (0..4_i64).prop_map(Behaviour::HealthyAfter),
        3 => (0..9_i64).prop_map(Behaviour::FailsAfter),
        1 => Just(Behaviour::NeverHealthy),
        1 => Just(Behaviour::Unable),
        1 => Just(Behaviour::Installing),
        1 => Just(Behaviour::RunsInstead("z")),
    ]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => (0..COMMITS.len()).prop_map(Happening::Release),
        1 => (0..COMMITS.len()).prop_map(Happening::ReleaseNow),
        1 => Just(Happening::StopNewest),
        3 => (0..MACHINES, 0..COMMITS.len(), behaviour()).prop_map(|(m, c, b)| Happening::Behave(m, c, b)),
        1 => (0..MACHINES).prop_map(Happening::Unplug),
        1 => (0..MACHINES).prop_map(Happening::PlugIn),
        1 => (0..MACHINES).prop_map(Happening::Mute),
        1 => (0..MACHINES).prop_map(Happening::Unmute),
        2 => (1..40_usize).prop_map(Happening::Kill),
        1 => (0..MACHINES).prop_map(Happening::Unassign),
        1 => (0..MACHINES).prop_map(Happening::Assign),
        6 => (1..30_u32).prop_map(Happening::Wait),
    ]
}

/// The first build runs everywhere, assigned to each machine on its own, and the others are registered.
fn fleet() -> Fleet {
    let mut fleet = Fleet::new(MACHINES);
    fleet.with_good_build("a");
    for nth in 0..MACHINES {
        fleet.assign("blog", &box_name(nth));
    }
    unassign(&mut fleet, "box-1,box-2,box-3");
    for commit in &COMMITS[1..] {
        fleet.register(commit);
    }
    fleet
}

/// Takes an assignment back, where it was made.
fn unassign(fleet: &mut Fleet, to: &str) {
    let (module, to) = ("blog".parse().unwrap(), to.parse().unwrap());
    drop(fleet.ask(Ask::Unassign { module, to }));
}

fn box_name(nth: usize) -> String {
    format!("box-{}", nth + 1)
}

fn happen(fleet: &mut Fleet, happening: &Happening) {
    match happening {
        Happening::Release(commit) => release(fleet, COMMITS[*commit], Pace::InTurn),
        Happening::ReleaseNow(commit) => {
            release(fleet, COMMITS[*commit], Pace::Now { why: "it is urgent".into() });
        }
        Happening::StopNewest => {
            let newest = fleet.core.state().records.plans.keys().next_back().cloned();
            if let Some(plan) = newest {
                drop(fleet.ask(Ask::Stop { plan }));
            }
        }
        Happening::Behave(machine, commit, behaviour) => {
            fleet.machine(&box_name(*machine)).script(COMMITS[*commit], behaviour.clone());
        }
        Happening::Unplug(machine) => fleet.machine(&box_name(*machine)).unplug(),
        Happening::PlugIn(machine) => fleet.machine(&box_name(*machine)).plug_in(),
        Happening::Mute(machine) => fleet.machine(&box_name(*machine)).states = false,
        Happening::Unmute(machine) => fleet.machine(&box_name(*machine)).states = true,
        Happening::Unassign(machine) => unassign(fleet, &box_name(*machine)),
        Happening::Assign(machine) => fleet.assign("blog", &box_name(*machine)),
        Happening::Kill(after) => fleet.kill_before = Some(fleet.actions + after),
        Happening::Wait(seconds) => {
            for _ in 0..*seconds {
                fleet.run(1);
                check(fleet);
            }
        }
    }
    check(fleet);
}

/// Asks for a release, whatever the answer: a rule may forbid it, and there may be nothing to do.
fn release(fleet: &mut Fleet, commit: &str, pace: Pace) {
    let builds = vec![format!("blog@{commit}").parse().unwrap()];
    drop(fleet.ask(Ask::Release { builds, pace, run: Run::Real }));
}

/// What must hold at every moment, seen from outside.
fn check(fleet: &Fleet) {
    let records = &fleet.core.state().records;
    let moving = records.plans.values().filter(|plan| plan.is_moving()).count();
    assert!(moving <= 1, "one plan moves a module at a time");
    for plan in records.plans.values() {
        if let PlanState::Judging { place, .. } = &plan.state
            && place.wave > 0
        {
            let build = &plan.tiers[place.tier].moves[0].to;
            let content = records.content(build).unwrap();
            let first = records.verdicts.get(
                content,
                plan.tiers[0].moves[0].trial,
                inventory::Stage::First,
            );
            assert!(
                first.is_some_and(|first| matches!(first.end, inventory::End::Passed)),
                "no wave before its gate: {:?}",
                plan.id
            );
        }
    }
}

/// The plans whose waves were sent, and what each put back.
fn rollback_targets(fleet: &Fleet) -> BTreeSet<(PlanId, String)> {
    let mut targets = BTreeSet::new();
    for declaration in &fleet.sent {
        let records = &fleet.core.state().records;
        for plan in records.plans.values() {
            if let PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) = &plan.state {
                for handled in put_back.handling.handled() {
                    let commit =
                        declaration.modules.get("blog").map(|module| module.commit.to_string());
                    if commit.is_some() && handled.gate.from == commit {
                        targets.insert((plan.id.clone(), commit.unwrap_or_default()));
                    }
                }
            }
        }
    }
    targets
}

proptest! {
    #[test]
    fn whatever_happens_the_promises_of_plans_hold(happenings in prop::collection::vec(happening(), 1..30)) {
        let mut fleet = fleet();
        let mut condemned: BTreeSet<_> = BTreeSet::new();
        for happening in &happenings {
            let sent = fleet.sent.len();
            happen(&mut fleet, happening);
            // A build that was condemned before this is never declared anew by itself.
            for declaration in &fleet.sent[sent..] {
                for module in declaration.modules.values() {
                    prop_assert!(!condemned.contains(&module.build) || was_held(&fleet, declaration), "a condemned build was sent");
                }
            }
            let records = &fleet.core.state().records;
            for build in records.builds.keys() {
                if matches!(records.standing(build), Standing::Condemned(_)) {
                    condemned.insert(build.clone());
                }
            }
        }
        let plans: Vec<_> = rollback_targets(&fleet).into_iter().map(|(plan, _)| plan).collect();
        let each: BTreeSet<_> = plans.iter().collect();
        prop_assert_eq!(plans.len(), each.len(), "at most one rollback target each");
    }

    #[test]
    fn once_faults_stop_the_fleet_settles(happenings in prop::collection::vec(happening(), 1..20)) {
        let mut fleet = fleet();
        for happening in &happenings {
            happen(&mut fleet, happening);
        }
        fleet.kill_before = None;
        for nth in 0..MACHINES {
            fleet.assign("blog", &box_name(nth));
        }
        for nth in 0..MACHINES {
            let machine = fleet.machine(&box_name(nth));
            machine.plug_in();
            machine.states = true;
            for commit in COMMITS {
                machine.script(commit, Behaviour::HealthyAfter(0));
            }
        }
        fleet.run(200);
        let records = &fleet.core.state().records;
        for plan in records.plans.values() {
            let ended = !plan.is_moving() && !matches!(plan.state, PlanState::Queued | PlanState::PuttingBack(_));
            prop_assert!(ended, "plan {} has not ended: {:?}", plan.id, plan.state);
        }
        // People can leave a release half way on purpose, so machines may differ; what each runs has passed somewhere, and
        // what has passed everywhere is everywhere.
        let module = records.modules.values().next().unwrap();
        let everybodys = records.released(module);
        for nth in 0..MACHINES {
            let machine = box_name(nth).parse().unwrap();
            let declared = records.declared_build(&machine, &module.name).unwrap();
            prop_assert!(records.is_proven(declared), "{machine} is left with {declared}");
            prop_assert!(everybodys.is_none_or(|build| build == declared), "{machine} is left behind");
            let commit = records.builds[declared].commit.to_string();
            prop_assert_eq!(fleet.runs(machine.as_str()), Some(commit));
        }
    }
}

/// Whether a machine already held what a declaration says: one that is sent again moves nothing.
fn was_held(fleet: &Fleet, declaration: &inventory::Declaration) -> bool {
    let first = fleet
        .sent
        .iter()
        .find(|sent| sent.machine == declaration.machine && sent.number == declaration.number);
    first.is_some_and(|first| !std::ptr::eq(first, declaration))
}
