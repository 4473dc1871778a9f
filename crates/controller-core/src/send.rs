//! A wave is sent: the tier's builds are registered, each machine of the wave is declared them, and a gate opens.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use gate_judge::{Gate, Opening, Pair, Sent, SentTo};
use inventory::Module;
use names::{BuildId, MachineName, ModuleName};

use crate::{
    facts,
    plan::{Place, Plan, PlanState},
    state::State,
    step::{Effect, Step},
};

/// Sends the wave of a plan that is to be sent.
pub(crate) fn send(state: &State, now: DateTime<Utc>) -> Option<Step> {
    state.records.plans.values().find_map(|plan| match plan.state {
        PlanState::Sending { place } => sent(state, now, plan, place),
        PlanState::Queued
        | PlanState::Judging { .. }
        | PlanState::PuttingBack(_)
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => None,
    })
}

fn sent(state: &State, now: DateTime<Utc>, plan: &Plan, place: Place) -> Option<Step> {
    let tier = plan.tiers.get(place.tier)?;
    let wave = tier.waves.get(place.wave)?;
    let mut plan = plan.clone();
    let mut step = Step::new(format!("wave {} of plan {} is sent", place.wave, plan.id));
    let moved: BTreeMap<ModuleName, BuildId> =
        tier.moves.iter().map(|it| (it.module.clone(), it.to.clone())).collect();
    for it in &tier.moves {
        let module = state.records.modules.get(&it.module);
        if let Some(module) = module.filter(|module| module.registered.as_ref() != Some(&it.to)) {
            step.put(Module { registered: Some(it.to.clone()), ..module.clone() });
        }
    }
    for machine in &wave.machines {
        let held = state.records.declared.get(machine);
        let (number, at) = match (state.compose(machine, &moved, now), held) {
            (Some(next), _) => {
                let number = next.number;
                state.declare(&mut step, now, next);
                (number, now)
            }
            // A machine that holds all this already was sent it when it was declared, and has reported on it since. Sent
            // once more, it is tried at once where it could not be tried before.
            (None, Some(held)) => {
                step.then.push(Effect::Send(Box::new(held.declaration.clone())));
                (held.declaration.number, held.at)
            }
            (None, None) => continue,
        };
        plan.baseline.entry(machine.clone()).or_insert_with(|| facts::baseline(state, machine));
        plan.sent.insert(machine.clone(), SentTo { declaration: number.0, at });
    }
    plan.state = match Gate::open(opening(state, now, &plan, place)?, &state.rules.gate) {
        Ok(gate) => PlanState::Judging { place, gate: Box::new(gate) },
        // Nobody runs the tier's modules any more, so there is nothing that could be judged.
        Err(gate_judge::NothingToJudge) => PlanState::Stopped {
            by: "the rule that an empty gate never passes: no machine runs the modules any more"
                .into(),
            place: Some(place),
        },
    };
    step.put(plan);
    Some(step)
}

/// A gate judges all that the plan has moved so far, so that machines of earlier waves and tiers stay watched: the first
/// module of the tier is its own, everything else is carried.
fn opening(state: &State, now: DateTime<Utc>, plan: &Plan, place: Place) -> Option<Opening> {
    let first = plan.tiers.get(place.tier)?.moves.first()?;
    let mut machines = Vec::new();
    let mut carried = Vec::new();
    for (module, machine) in touched(state, plan, place) {
        if *module == first.module {
            machines.push(machine.to_string());
        } else {
            carried.push(Pair { module: module.to_string(), machine: machine.to_string() });
        }
    }
    let commit = |build: &BuildId| {
        let found = state.records.builds.get(build);
        found.map_or_else(|| build.to_string(), |build| build.commit.to_string())
    };
    let machine_sent = |(machine, sent): (&MachineName, &SentTo)| (machine.to_string(), *sent);
    let builds = plan.moves().map(|it| (it.module.to_string(), it.to.to_string()));
    Some(Opening {
        module: first.module.to_string(),
        machines,
        carried,
        from: first.from.as_ref().map(commit),
        to: commit(&first.to),
        since: now,
        sent: Sent {
            machines: plan.sent.iter().map(machine_sent).collect(),
            builds: builds.collect(),
        },
    })
}

/// What a plan has moved, up to and with this wave: each module on each machine, in the order of the sends. A machine that
/// was away is not among them.
pub(crate) fn touched<'a>(
    state: &'a State,
    plan: &'a Plan,
    place: Place,
) -> impl Iterator<Item = (&'a ModuleName, &'a MachineName)> {
    let tiers = plan.tiers.iter().enumerate().take(place.tier + 1);
    tiers.flat_map(move |(nth, tier)| {
        let last = if nth == place.tier { place.wave } else { usize::MAX - 1 };
        let machines = tier.waves.iter().take(last + 1).flat_map(|wave| &wave.machines);
        let modules = move |machine: &'a MachineName| {
            let here = move |module: &&ModuleName| state.is_assigned(module, machine);
            tier.moves.iter().map(|it| &it.module).filter(here).map(move |module| (module, machine))
        };
        machines.flat_map(modules)
    })
}
