//! Gates, as people see them.

use std::collections::BTreeSet;

use gate_judge::{End, Gate};
use names::{MachineName, ModuleName};
use wire::api::GateView;

use crate::{
    judge,
    plan::{Place, Plan, PlanState},
    state::State,
};

/// The gates of all plans, the newest first.
pub(crate) fn gates(state: &State) -> Vec<GateView> {
    state.records.plans.values().rev().filter_map(|plan| gate_of(state, plan)).collect()
}

/// The gate that a plan waits at or that ended it.
pub(crate) fn gate_of(state: &State, plan: &Plan) -> Option<GateView> {
    let last = || Place { tier: plan.tiers.len().saturating_sub(1), wave: 0 };
    match &plan.state {
        PlanState::Judging { place, gate } => Some(view(state, plan, *place, gate)),
        PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) => {
            Some(view(state, plan, put_back.place, &put_back.gate))
        }
        PlanState::Done { gate: Some(gate), .. } => Some(view(state, plan, last(), gate)),
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Done { gate: None, .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => None,
    }
}

fn view(state: &State, plan: &Plan, place: Place, gate: &Gate) -> GateView {
    let opening = gate.opening();
    let carried = opening.carried.iter();
    let modules = carried.clone().map(|pair| &pair.module).chain([&opening.module]);
    let machines = opening.machines.iter().chain(carried.map(|pair| &pair.machine));
    // They were names before they were the gate's texts.
    let modules: BTreeSet<ModuleName> = modules.filter_map(|module| module.parse().ok()).collect();
    let machines: BTreeSet<MachineName> =
        machines.filter_map(|machine| machine.parse().ok()).collect();
    let ended = gate.ended();
    let wanting = match ended {
        Some(ended) => ended.wanting.iter().map(ToString::to_string).collect(),
        None => gate.last_miss().map(|miss| miss.cause.to_string()).into_iter().collect(),
    };
    let of = judge::rules(state, plan, place).policy.passes;
    GateView {
        plan: plan.id.clone(),
        modules: modules.into_iter().collect(),
        machines: machines.into_iter().collect(),
        state: match ended.map(|ended| &ended.end) {
            None => "judging",
            Some(End::Passed { .. }) => "passed",
            Some(End::Failed(_)) => "failed",
            Some(End::CannotTell(_)) => "cannot tell",
        }
        .into(),
        since: opening.since,
        // Passes go on being counted while the settle time lasts.
        passes: gate.row().map_or(0, |row| row.passes.get()).min(of),
        of,
        wanting,
        why: ended.map(|ended| ended.end.to_string()),
    }
}
