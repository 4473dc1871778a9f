//! Machines that a plan did not move: newly assigned, back from a hold, or joined while a plan was under way.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use inventory::Standing;
use names::{BuildId, MachineName, ModuleName};

use crate::{
    plan::{Plan, PlanState},
    state::State,
    step::Step,
};

/// How many machines one step declares anew: enough that a large fleet is done in few writes, few enough that the write
/// stays small.
const MACHINES_MAX: usize = 256;

/// Declares machines what they should run by now.
pub(crate) fn catch_up(state: &State, now: DateTime<Utc>) -> Option<Step> {
    let mut step = Step::new("machines catch up with the inventory");
    let due = state.records.machines.keys().filter(|machine| !is_under_way(state, machine));
    let next = due.filter_map(|machine| state.compose(machine, &wanted(state, machine), now));
    // A machine that was never told to run anything need not be told so.
    let next = next
        .filter(|it| !it.modules.is_empty() || state.records.declared.contains_key(&it.machine));
    for declaration in next.take(MACHINES_MAX) {
        state.declare(&mut step, now, declaration);
    }
    (!step.land.is_empty()).then_some(step)
}

/// Whether a plan's gate depends on what this machine holds: another declaration would take the ground from under it.
fn is_under_way(state: &State, machine: &MachineName) -> bool {
    let mut plans = state.records.plans.values();
    plans.any(|plan| is_unfinished(plan) && plan.sent.contains_key(machine))
}

fn is_unfinished(plan: &Plan) -> bool {
    plan.is_moving()
        || matches!(&plan.state, PlanState::PuttingBack(put_back) if put_back.awaited().is_none())
}

/// The builds that a machine should run where nobody declared it any, or where it missed a plan that passed.
///
/// A build that has not passed is never among them: who comes late gets what is proven.
fn wanted(state: &State, machine: &MachineName) -> BTreeMap<ModuleName, BuildId> {
    let records = &state.records;
    let assigned =
        records.modules.values().filter(|module| state.is_assigned(&module.name, machine));
    let wanted = assigned.filter_map(|module| {
        let declared = records.declared_build(machine, &module.name);
        let is_held = records.machines.get(machine).is_some_and(|machine| machine.hold.is_some());
        let released = records.released(module).filter(|_| !is_held);
        // Nothing unproven is left on a machine where nobody would put it back, and nothing that another machine's gate has
        // condemned, as long as anything older can follow it.
        let may_stay = |build: &&BuildId| match records.standing(build) {
            Standing::Proven(_) => true,
            Standing::Unproven => !records.is_left_unwatched(machine, &module.name),
            Standing::Condemned(_) => false,
        };
        let stays = |build: &&BuildId| may_stay(build) || !state.may_be_followed(build);
        let watched = declared.filter(stays);
        let build = released.or(watched).or_else(|| records.for_latecomers(module)).or(declared)?;
        let build = build.clone();
        Some((module.name.clone(), build))
    });
    wanted.collect()
}
