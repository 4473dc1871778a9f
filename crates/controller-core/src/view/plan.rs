//! Plans, as people see them.

use chrono::{DateTime, Utc};
use conditions::Rollback;
use gate_judge::End;
use names::BuildId;
use wire::api::{MoveView, PlanView, WaveState, WaveView};

use super::gate::gate_of;
use crate::{
    begin,
    plan::{Move, Place, Plan, PlanState},
    put_back::PutBack,
    state::State,
};

/// Every plan, the newest first.
pub(crate) fn plans(state: &State, now: DateTime<Utc>) -> Vec<PlanView> {
    state.records.plans.values().rev().map(|it| plan(state, it, now)).collect()
}

/// One plan.
pub(crate) fn plan(state: &State, plan: &Plan, now: DateTime<Utc>) -> PlanView {
    let tiers = plan.tiers.iter().enumerate();
    let moves = tiers.clone().flat_map(|(nth, tier)| tier.moves.iter().map(move |it| (nth, it)));
    let waves = tiers.flat_map(|(tier, it)| {
        it.waves.iter().enumerate().map(move |(wave, it)| (Place { tier, wave }, it))
    });
    PlanView {
        plan: plan.id.clone(),
        by: plan.by.clone(),
        at: plan.at,
        state: plan_word(&plan.state).into(),
        note: plan_note(state, plan, now),
        moves: moves.map(|(tier, it)| a_move(state, plan, tier, it)).collect(),
        waves: waves
            .map(|(place, wave)| WaveView {
                tier: place.tier + 1,
                wave: place.wave,
                machines: wave.machines.clone(),
                away: wave.away.clone(),
                state: wave_state(&plan.state, place),
            })
            .collect(),
        first: plan.tiers.iter().find_map(|tier| tier.first.as_ref()).map(ToString::to_string),
        gate: gate_of(state, plan),
        ended: has_ended(&plan.state),
    }
}

/// One word, or two, for how far a plan is.
pub(crate) fn plan_word(state: &PlanState) -> &'static str {
    match state {
        PlanState::Queued => "queued",
        PlanState::Sending { .. } => "sending",
        PlanState::Judging { .. } => "judging",
        PlanState::PuttingBack(_) => "putting back",
        PlanState::Done { .. } => "done",
        PlanState::Failed(put_back) => match could_tell(put_back) {
            true => "failed",
            false => "cannot tell",
        },
        PlanState::Stopped { .. } => "stopped",
        PlanState::Superseded { .. } => "superseded",
    }
}

fn could_tell(put_back: &PutBack) -> bool {
    !matches!(put_back.gate.ended().map(|ended| &ended.end), Some(End::CannotTell(_)))
}

fn has_ended(state: &PlanState) -> bool {
    match state {
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::PuttingBack(_) => false,
        PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => true,
    }
}

/// What a plan waits for, or how it ended.
pub(crate) fn plan_note(state: &State, plan: &Plan, now: DateTime<Utc>) -> String {
    match &plan.state {
        PlanState::Queued => match begin::waits(state, plan, now) {
            Some(waits) => waits.to_string(),
            None => "it begins now".into(),
        },
        PlanState::Sending { place } => format!("{} is sent", wave_name(*place)),
        PlanState::Judging { place, gate } => {
            let last = gate.last_miss().map(|miss| miss.cause.to_string());
            let passes = gate.row().map_or(0, |row| row.passes.get());
            match last {
                Some(wanting) => format!("{} is judged: {wanting}", wave_name(*place)),
                None => {
                    format!("{} is judged: {passes} passes in a row so far", wave_name(*place))
                }
            }
        }
        PlanState::PuttingBack(put_back) => {
            format!("{}; what it moved is being put back", end(put_back))
        }
        PlanState::Failed(put_back) => format!("{}; {}", end(put_back), what_came_of_it(put_back)),
        PlanState::Done { pending, .. } if pending.is_empty() => "every machine passed".into(),
        PlanState::Done { pending, .. } => {
            let away: Vec<_> = pending.iter().map(names::MachineName::as_str).collect();
            format!(
                "every machine that was here passed, {} pending: {}",
                pending.len(),
                away.join(", ")
            )
        }
        PlanState::Stopped { by, place: None } => format!("ended by {by} before anything was sent"),
        PlanState::Stopped { by, place: Some(_) } => {
            format!("ended by {by}; {}", stopped(state, plan))
        }
        PlanState::Superseded { by, place: None } => {
            format!("plan {by} took its place before anything was sent")
        }
        PlanState::Superseded { by, place: Some(_) } => {
            format!("plan {by} took its place; its builds stay unproven")
        }
    }
}

fn wave_name(place: Place) -> String {
    match place.tier {
        0 => format!("wave {}", place.wave),
        tier => format!("wave {} of tier {}", place.wave, tier + 1),
    }
}

fn end(put_back: &PutBack) -> String {
    let word = if could_tell(put_back) { "the gate failed" } else { "the gate cannot tell" };
    let wave = wave_name(put_back.place);
    let handled = put_back.handling.handled();
    let why = handled.first().map(|it| it.gate.ended.why.as_str());
    why.map_or_else(|| format!("{word} at {wave}"), |why| format!("{word} at {wave}: {why}"))
}

fn what_came_of_it(put_back: &PutBack) -> String {
    let handled = put_back.handling.handled();
    let words = handled.iter().map(|it| match (&it.rollback, &it.not_back) {
        (_, Some(not_back)) => format!("{} was not put back: {}", it.module, not_back.words()),
        (Some(Rollback::RolledBack), None) => format!("{} was put back", it.module),
        (Some(Rollback::Unchanged), None) => format!("{} had not changed", it.module),
        (
            Some(Rollback::RollingBack | Rollback::NotRolledBack | Rollback::Other(_)) | None,
            None,
        ) => {
            format!("{} was handled before", it.module)
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Of a stopped plan's moves, what goes back and what had nothing before it, or nothing that could follow it.
fn stopped(state: &State, plan: &Plan) -> String {
    let (back, stay): (Vec<_>, Vec<_>) =
        plan.moves().partition(|it| it.from.is_some() && state.may_be_followed(&it.to));
    let names = |moves: Vec<&Move>| {
        moves.iter().map(|it| it.module.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (back.is_empty(), stay.is_empty()) {
        (false, true) => format!("{} goes back to what ran before", names(back)),
        (true, _) => {
            format!("nothing older can run in place of {}, so it is left as it is", names(stay))
        }
        (false, false) => {
            format!(
                "{} goes back to what ran before, {} is left, since nothing older can run in its place",
                names(back),
                names(stay)
            )
        }
    }
}

fn wave_state(state: &PlanState, place: Place) -> WaveState {
    let at = |now: Place, present: WaveState| match place.cmp(&now) {
        std::cmp::Ordering::Less => WaveState::Passed,
        std::cmp::Ordering::Equal => present,
        std::cmp::Ordering::Greater => WaveState::Waiting,
    };
    match state {
        PlanState::Queued => WaveState::Waiting,
        PlanState::Sending { place } => at(*place, WaveState::Waiting),
        PlanState::Judging { place, .. } => at(*place, WaveState::Judging),
        PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) => {
            at(put_back.place, WaveState::NotPassed)
        }
        PlanState::Stopped { place, .. } | PlanState::Superseded { place, .. } => match place {
            None => WaveState::Waiting,
            Some(place) => at(*place, WaveState::NotPassed),
        },
        PlanState::Done { .. } => WaveState::Passed,
    }
}

fn a_move(state: &State, plan: &Plan, tier: usize, it: &Move) -> MoveView {
    let commit =
        |build: &BuildId| state.records.builds.get(build).map(|build| build.commit.clone());
    let handled = match &plan.state {
        PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) => {
            let mut handled = put_back.handling.handled().into_iter();
            handled
                .find(|handled| handled.module == it.module.as_str())
                .map(|handled| (handled, could_tell(put_back)))
        }
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Done { .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => None,
    };
    let end = match &handled {
        Some((_, true)) => "failed",
        Some((_, false)) => "cannot tell",
        None if has_passed(state, it) => "passed",
        None => "unproven",
    };
    MoveView {
        tier: tier + 1,
        module: it.module.clone(),
        from: it
            .from
            .as_ref()
            .map(|from| commit(from).map_or_else(|| from.to_string(), |commit| commit.to_string())),
        to: it.to.clone(),
        commit: commit(&it.to),
        end: end.into(),
        rollback: handled
            .and_then(|(handled, _)| handled.rollback)
            .map(|rollback| rollback.as_str().to_owned()),
    }
}

fn has_passed(state: &State, it: &Move) -> bool {
    let content = state.records.content(&it.to);
    let verdict = content
        .and_then(|content| state.records.verdicts.get(content, it.trial, inventory::Stage::First));
    verdict.is_some_and(|verdict| matches!(verdict.end, inventory::End::Passed))
}
