//! A newer plan takes an older one's place.

use chrono::{DateTime, Utc};

use crate::{
    begin::{self, Waits},
    moved,
    plan::{Plan, PlanState},
    state::State,
    step::Step,
};

/// Ends a plan whose place a newer, queued one takes: a queued one when it moves nothing that the newer one does not, one
/// that is under way only when the newer one cannot wait. The newer one is kept before that, so that no crash can leave
/// what the older one moved without a plan that watches it.
pub(crate) fn supersede(state: &State, now: DateTime<Utc>) -> Option<Step> {
    let plans = &state.records.plans;
    let queued = || plans.values().filter(|plan| plan.state == PlanState::Queued);
    let (older, newer) = plans.values().find_map(|older| {
        let mut newest_first = queued().rev();
        let newer = newest_first.find(|newer| {
            newer.id > older.id && takes_place(newer, older) && is_ready(state, now, newer, older)
        })?;
        Some((older, newer))
    })?;
    let state_now = PlanState::Superseded { by: newer.id.clone(), place: older.place() };
    let superseded = Plan { state: state_now, ..older.clone() };
    let mut step = Step::new(format!("plan {} takes the place of plan {}", newer.id, older.id));
    state.tell(&mut step, moved::event(state, now, &superseded));
    step.put(superseded);
    Some(step)
}

/// Whether a newer plan would begin if the older one were gone: one that is under way is watched until then.
fn is_ready(state: &State, now: DateTime<Utc>, newer: &Plan, older: &Plan) -> bool {
    if older.state == PlanState::Queued {
        return true;
    }
    let waits = begin::waits(state, newer, now);
    matches!(waits, Some(Waits::Module { plan, .. }) if plan == older.id)
}

/// Whether a queued plan takes an older one's place.
pub(crate) fn takes_place(newer: &Plan, older: &Plan) -> bool {
    let covers = older.moves().all(|it| newer.move_of(&it.module).is_some());
    match older.state {
        PlanState::Queued => covers,
        PlanState::Sending { .. } | PlanState::Judging { .. } => covers && newer.at_once.is_some(),
        PlanState::PuttingBack(_)
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => false,
    }
}
