//! A person ends a plan.

use std::collections::{BTreeMap, BTreeSet};

use names::PlanId;
use wire::api::{Answer, Refusal};

use super::{Asking, Decided, rule, unknown};
use crate::{
    moved,
    plan::{Plan, PlanState},
    send::touched,
    state::State,
    step::Step,
    view,
};

pub(super) fn find<'a>(state: &'a State, plan: &PlanId) -> Result<&'a Plan, Refusal> {
    state
        .records
        .plans
        .get(plan)
        .ok_or_else(|| unknown(format!("there is no plan {plan}"), "see `controller plans`"))
}

/// Ends a plan that has not ended. What it moved goes back to what it would put back: nothing unproven is left on a machine
/// that nobody watches. No build is condemned by that.
pub(super) fn stop(state: &State, asking: Asking<'_>, plan: &PlanId) -> Decided {
    let plan = find(state, plan)?;
    let place = match &plan.state {
        PlanState::Queued => None,
        PlanState::Sending { place } | PlanState::Judging { place, .. } => Some(*place),
        PlanState::PuttingBack(_)
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => {
            let note = view::plan_note(state, plan, asking.now);
            let hint = format!("see `controller plans show {}`", plan.id);
            return Err(rule(format!("plan {} has ended: {note}", plan.id), hint));
        }
    };
    let mut step = Step::new(format!("{} stops plan {}", asking.sender, plan.id));
    let stopped = PlanState::Stopped { by: asking.sender.to_owned(), place };
    let stopped = Plan { state: stopped, ..plan.clone() };
    if let Some(place) = place {
        put_back(state, asking, plan, place, &mut step);
    }
    state.tell(&mut step, moved::event(state, asking.now, &stopped));
    let note = view::plan_note(state, &stopped, asking.now);
    step.put(stopped);
    Ok((step, Answer::Done(format!("plan {} is stopped: {note}", plan.id))))
}

fn put_back(
    state: &State,
    asking: Asking<'_>,
    plan: &Plan,
    place: crate::plan::Place,
    step: &mut Step,
) {
    let mut back = BTreeMap::new();
    for it in plan.moves() {
        let (Some(from), Some(module)) = (&it.from, state.records.modules.get(&it.module)) else {
            continue;
        };
        if !state.may_be_followed(&it.to) {
            continue;
        }
        back.insert(it.module.clone(), from.clone());
        step.put(inventory::Module { registered: Some(from.clone()), ..module.clone() });
    }
    let machines: BTreeSet<_> = touched(state, plan, place).map(|(_, machine)| machine).collect();
    for machine in machines.into_iter().filter(|machine| plan.sent.contains_key(*machine)) {
        if let Some(declaration) = state.compose(machine, &back, asking.now) {
            state.declare(step, asking.now, declaration);
        }
    }
}
