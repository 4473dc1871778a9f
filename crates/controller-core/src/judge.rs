//! A wave at its gate: judged, and what its end leads to.

use chrono::{DateTime, Utc};
use gate_judge::{Catalogue, End, Found, Gate, Policy};
use inventory::{Stage, Verdict, Wave, Why};
use names::ModuleName;

use crate::{
    begin::share_next,
    facts, moved,
    plan::{Move, Place, Plan, PlanState},
    put_back::PutBack,
    state::State,
    step::Step,
};

/// What judging a plan's gate came to.
pub(crate) enum Judged {
    /// Something that has to be kept.
    Step(Box<Step>),
    /// Only what people see of it: what is wanting, and since when.
    Seen(Box<Gate>),
}

/// Judges the gate of a plan; `None` when the plan is at none.
pub(crate) fn judge(state: &State, now: DateTime<Utc>, plan: &Plan) -> Option<Judged> {
    let PlanState::Judging { place, gate } = &plan.state else { return None };
    let rules = rules(state, plan, *place);
    let mut judged = gate.clone();
    let facts = facts::gather(state, plan);
    let judging = judged.judge(&facts.index(), &catalogue(state, plan), now, &rules);
    match judging.found {
        Found::Ended => Some(Judged::Step(Box::new(ended(state, now, plan, *place, judged)))),
        // A restart counts on from here: the row of passes, and that it was broken.
        Found::Counted => Some(kept(plan, *place, judged, "a pass counts")),
        Found::Wanting if gate.row().is_some() => {
            Some(kept(plan, *place, judged, "the row of passes ends"))
        }
        Found::Wanting
        | Found::NotCounted(_)
        | Found::Unread(_)
        | Found::EndedBefore
        | Found::TooEarly
        | Found::BeforeSend => Some(Judged::Seen(judged)),
    }
}

/// The rules that a wave's gate goes by: where several modules move together, the most demanding of each.
pub(crate) fn rules(state: &State, plan: &Plan, place: Place) -> gate_judge::Rules {
    let moves = plan.tiers.get(place.tier).map(|tier| tier.moves.as_slice()).unwrap_or_default();
    let builds = moves.iter().filter_map(|it| state.records.builds.get(&it.to));
    let wanted = builds.map(|build| build.manifest.gate.over_defaults());
    let policy = wanted.reduce(|a, b| Policy {
        passes: a.passes.max(b.passes),
        every: a.every.max(b.every),
        settle: a.settle.max(b.settle),
        bound: a.bound.max(b.bound),
    });
    // What each alone could pass, all together can too.
    let policy = policy.map(|it| Policy { bound: it.bound.max(it.every * it.passes), ..it });
    policy.map_or(state.rules.gate, |policy| state.rules.gate.with_policy(policy))
}

fn catalogue(state: &State, plan: &Plan) -> Catalogue {
    let builds = plan.moves().filter_map(|it| Some((it, state.records.builds.get(&it.to)?)));
    builds.map(|(it, build)| (it.module.to_string(), facts::manifest(&build.manifest))).collect()
}

fn kept(plan: &Plan, place: Place, gate: Box<Gate>, why: &str) -> Judged {
    let mut step = Step::new(format!("plan {}: {why}", plan.id));
    step.put(Plan { state: PlanState::Judging { place, gate }, ..plan.clone() });
    Judged::Step(Box::new(step))
}

fn ended(state: &State, now: DateTime<Utc>, plan: &Plan, place: Place, gate: Box<Gate>) -> Step {
    match gate.ended().map(|ended| &ended.end) {
        Some(End::Failed(_) | End::CannotTell(_)) => not_passed(state, now, plan, place, gate),
        Some(End::Passed { .. }) | None => passed(state, now, plan, place, gate),
    }
}

fn not_passed(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    place: Place,
    gate: Box<Gate>,
) -> Step {
    let mut step = Step::new(format!("the gate of plan {} did not pass", plan.id));
    let put_back = PutBack::new(state, now, plan, place, gate);
    let plan = Plan { state: PlanState::PuttingBack(Box::new(put_back)), ..plan.clone() };
    state.tell(&mut step, moved::event(state, now, &plan));
    step.put(plan);
    step
}

/// The pass lands together with what comes next, and that is only sent by a later step: never before the pass.
fn passed(state: &State, now: DateTime<Utc>, plan: &Plan, place: Place, gate: Box<Gate>) -> Step {
    let mut step = Step::new(format!("wave {} of plan {} passed", place.wave, plan.id));
    let mut plan = plan.clone();
    let moves = plan.tiers.get(place.tier).map(|tier| tier.moves.as_slice()).unwrap_or_default();
    for it in moves {
        if let Some(verdict) = proof(state, now, &plan, it, place, &gate) {
            step.put(verdict);
        }
    }
    plan.state = next(state, now, &mut plan, place, gate);
    state.tell(&mut step, moved::event(state, now, &plan));
    step.put(plan);
    step
}

fn next(
    state: &State,
    now: DateTime<Utc>,
    plan: &mut Plan,
    place: Place,
    gate: Box<Gate>,
) -> PlanState {
    let waves = plan.tiers.get(place.tier).map_or(0, |tier| tier.waves.len());
    if place.wave + 1 < waves {
        return PlanState::Sending { place: Place { wave: place.wave + 1, ..place } };
    }
    if let Some(place) = share_next(state, now, plan, place.tier + 1) {
        return PlanState::Sending { place };
    }
    let away = plan.tiers.iter().flat_map(|tier| &tier.waves).flat_map(|wave| &wave.away);
    PlanState::Done { pending: away.cloned().collect(), gate: Some(gate) }
}

/// What a pass proves of a move: once for each trial, and nothing where no machine of the gate runs the module.
fn proof(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    it: &Move,
    place: Place,
    gate: &Gate,
) -> Option<Verdict> {
    let ended = gate.ended()?;
    let content = state.records.content(&it.to)?;
    let machines = judged_machines(gate, &it.module);
    if machines.is_empty() || state.records.verdicts.get(content, it.trial, Stage::First).is_some()
    {
        return None;
    }
    Some(Verdict {
        module: it.module.clone(),
        build: it.to.clone(),
        content: content.clone(),
        plan: plan.id.clone(),
        wave: Wave(u32::try_from(place.wave).unwrap_or(u32::MAX)),
        trial: it.trial,
        stage: Stage::First,
        end: inventory::End::Passed,
        why: Why { code: "passes".into(), text: ended.end.to_string() },
        at: now,
        machines,
    })
}

/// The machines on which a gate judges a module.
pub(crate) fn judged_machines(gate: &Gate, module: &ModuleName) -> Vec<names::MachineName> {
    let opening = gate.opening();
    let own =
        (opening.module == module.as_str()).then_some(&opening.machines).into_iter().flatten();
    let carried = opening.carried.iter().filter(|pair| pair.module == module.as_str());
    // They were names before they were the gate's texts.
    own.chain(carried.map(|pair| &pair.machine))
        .filter_map(|machine| machine.parse().ok())
        .collect()
}
