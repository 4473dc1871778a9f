//! A queued plan begins: when it may, where its first wave goes, and what would be put back.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use inventory::{Machine, Role};
use names::{BuildId, MachineName, ModuleName};

use crate::{
    facts,
    first_machine::{Candidate, Preference, explain, rank},
    plan::{Asked, Place, Plan, PlanState, Tier},
    state::State,
    step::Step,
    waves::{bring_forward, share_out},
};

/// What a queued plan waits for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Waits {
    /// Another plan moves one of its modules.
    #[error("it waits for plan {plan}, which moves {module}")]
    Module {
        /// The other plan.
        plan: names::PlanId,
        /// The module.
        module: ModuleName,
    },
    /// What an earlier plan moved is still being put back.
    #[error("it waits for plan {plan}, which is put back")]
    PuttingBack {
        /// The other plan.
        plan: names::PlanId,
    },
    /// Another plan is under way on one of its machines.
    #[error("it waits for plan {plan}, which is under way on {machine}")]
    Machine {
        /// The other plan.
        plan: names::PlanId,
        /// The machine.
        machine: MachineName,
    },
    /// A person holds one of its modules.
    #[error("{module} is held by {by}: {why}")]
    Held {
        /// The module.
        module: ModuleName,
        /// Who holds it.
        by: String,
        /// Why.
        why: String,
    },
    /// The controller has just started, and a machine that is well would be heard within seconds.
    #[error("the controller has just started and listens for {machine}")]
    Listening {
        /// The first machine that was not heard yet.
        machine: MachineName,
    },
    /// None of its modules runs anywhere.
    #[error("no machine is assigned any of its modules; assign one with `controller assign`")]
    NoMachine,
}

/// Begins the oldest queued plan that may begin.
pub(crate) fn begin(state: &State, now: DateTime<Utc>) -> Option<Step> {
    let queued = state.records.plans.values().filter(|plan| plan.state == PlanState::Queued);
    let plan = queued.into_iter().find(|plan| waits(state, plan, now).is_none())?;
    if let Some(module) = condemned(state, plan) {
        let mut plan = plan.clone();
        let by = format!(
            "the rule that a condemned build is not sent: {module} was condemned while the plan waited"
        );
        plan.state = PlanState::Stopped { by, place: None };
        let mut step = Step::new(format!("plan {} asks for a condemned build", plan.id));
        step.put(plan);
        return Some(step);
    }
    Some(begun(state, now, plan))
}

/// What a plan that has not begun waits for; `None` when it may begin.
pub(crate) fn waits(state: &State, plan: &Plan, now: DateTime<Utc>) -> Option<Waits> {
    let machines = machines_of(state, plan);
    if machines.is_empty() {
        return Some(Waits::NoMachine);
    }
    let is_awaited = |machine: &&MachineName| {
        let sighting = state.sightings.get(*machine);
        sighting.is_some_and(|sighting| sighting.heard.is_none() && !sighting.is_overdue(now))
    };
    if let Some(machine) = machines.iter().find(is_awaited) {
        return Some(Waits::Listening { machine: machine.clone() });
    }
    for it in plan.moves() {
        let module = state.records.modules.get(&it.module);
        if let Some(hold) = module.and_then(|module| module.hold.as_ref()) {
            return Some(Waits::Held {
                module: it.module.clone(),
                by: hold.by.clone(),
                why: hold.why.clone(),
            });
        }
    }
    if let Some(other) = put_back_first(state, plan, now) {
        return Some(Waits::PuttingBack { plan: other.id.clone() });
    }
    let others =
        state.records.plans.values().filter(|other| other.is_moving() && other.id != plan.id);
    for other in others {
        if let Some(shared) = plan.moves().find(|it| other.move_of(&it.module).is_some()) {
            return Some(Waits::Module { plan: other.id.clone(), module: shared.module.clone() });
        }
        if let Some(shared) = machines_of(state, other).intersection(&machines).next() {
            return Some(Waits::Machine { plan: other.id.clone(), machine: shared.clone() });
        }
    }
    asked_before(state, plan)
}

/// A plan of one of these modules that was asked for earlier and has not begun: the builds of a module move in the order in
/// which they were asked for, so that an older one never takes the place of a newer.
fn asked_before(state: &State, plan: &Plan) -> Option<Waits> {
    if plan.at_once.is_some() {
        return None;
    }
    let earlier = state.records.plans.values().take_while(|earlier| earlier.id < plan.id);
    let mut queued = earlier.filter(|earlier| earlier.state == PlanState::Queued);
    queued.find_map(|earlier| {
        let shared = plan.moves().find(|it| earlier.move_of(&it.module).is_some())?;
        Some(Waits::Module { plan: earlier.id.clone(), module: shared.module.clone() })
    })
}

/// A plan of one of these modules that is being put back by machines that are there. Those that are silent keep nobody
/// waiting, and neither does anything keep a plan that cannot wait.
fn put_back_first<'a>(state: &'a State, plan: &Plan, now: DateTime<Utc>) -> Option<&'a Plan> {
    let mut others = state.records.plans.values().filter(|_| plan.at_once.is_none());
    others.find(|other| match &other.state {
        PlanState::PuttingBack(put_back) => {
            plan.moves().any(|it| other.move_of(&it.module).is_some())
                && put_back.awaited().is_none_or(|awaited| {
                    awaited.iter().any(|machine| state.is_heard(machine, now))
                })
        }
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => false,
    })
}

fn machines_of(state: &State, plan: &Plan) -> BTreeSet<MachineName> {
    let modules = plan.moves().filter_map(|it| state.records.modules.get(&it.module));
    let assigned = modules.flat_map(|module| state.assigned(module));
    assigned.map(|machine| machine.name.clone()).chain(plan.sent.keys().cloned()).collect()
}

/// A module whose build was condemned after the plan was asked for; a retry asks for such builds on purpose.
fn condemned<'a>(state: &State, plan: &'a Plan) -> Option<&'a ModuleName> {
    match plan.asked {
        Asked::Retry { .. } => None,
        Asked::Release => {
            plan.moves().find(|it| state.records.is_condemned(&it.to)).map(|it| &it.module)
        }
    }
}

fn begun(state: &State, now: DateTime<Utc>, plan: &Plan) -> Step {
    let mut plan = plan.clone();
    let mut step = Step::new(format!("plan {} begins", plan.id));
    for it in plan.tiers.iter_mut().flat_map(|tier| &mut tier.moves) {
        it.from = put_back_target(state, &it.module, &it.to);
        it.trial = state.records.trial(&it.to);
    }
    plan.state = match share_next(state, now, &mut plan, 0) {
        Some(place) => PlanState::Sending { place },
        None => PlanState::Stopped {
            by: "the rule that an empty gate never passes: no machine may be sent any of it".into(),
            place: None,
        },
    };
    step.put(plan);
    step
}

/// The build that would be put back: the registered one when it has passed, since that is what runs there; else the last
/// other one that passed. Where the build that is to be sent is the only one that ever passed, it is its own: nothing is
/// better. Only where none has ever passed it is what every machine runs, unless that was condemned: nothing unproven is
/// put onto a machine that did not run it before.
pub(crate) fn put_back_target(state: &State, module: &ModuleName, to: &BuildId) -> Option<BuildId> {
    let records = &state.records;
    let module = records.modules.get(module)?;
    let registered = module.registered.as_ref();
    let is_proven = |build: &&BuildId| records.is_proven(build);
    let runs_everywhere = |build: &&BuildId| {
        let runs =
            |machine: &Machine| records.declared_build(&machine.name, &module.name) == Some(*build);
        !records.is_condemned(build) && *build != to && state.assigned(module).all(runs)
    };
    let proven = || records.last_proven_before(&module.name, Some(to)).map(|build| &build.id);
    let build = registered.filter(is_proven).or_else(proven);
    build.or(Some(to).filter(is_proven)).or(registered.filter(runs_everywhere)).cloned()
}

/// Shares out the next tier that has anywhere to go, from this one on, and answers its first wave. One whose modules are
/// assigned nowhere has no gate to pass, and nothing to send.
pub(crate) fn share_next(
    state: &State,
    now: DateTime<Utc>,
    plan: &mut Plan,
    from: usize,
) -> Option<Place> {
    for (nth, tier) in plan.tiers.iter_mut().enumerate().skip(from) {
        share(state, now, tier);
        if !tier.waves.is_empty() {
            return Some(Place { tier: nth, wave: 0 });
        }
    }
    None
}

/// Shares out a tier's machines into waves, as they are now. A machine that a person holds is left out.
pub(crate) fn share(state: &State, now: DateTime<Utc>, tier: &mut Tier) {
    let modules: Vec<_> =
        tier.moves.iter().filter_map(|it| state.records.modules.get(&it.module)).collect();
    let assigned: BTreeSet<&MachineName> = modules
        .iter()
        .flat_map(|module| state.assigned(module))
        .map(|machine| &machine.name)
        .collect();
    let machines = assigned.into_iter().filter_map(|name| state.records.machines.get(name));
    let mut candidates: Vec<_> = machines
        .filter(|machine| machine.hold.is_none())
        .map(|machine| candidate(state, now, tier, machine))
        .collect();
    rank(&mut candidates);
    tier.first = explain(&candidates);
    let (here, away): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .map(|candidate| candidate.machine)
        .partition(|machine| state.is_heard(machine, now));
    // Of several modules the one with the most waves is the most careful, and decides for all.
    let waves = modules.iter().map(|module| &module.waves).max_by_key(|waves| waves.sizes().len());
    tier.waves = waves.map(|waves| share_out(waves, &here, &away)).unwrap_or_default();
    for it in &tier.moves {
        bring_forward(&mut tier.waves, |machine| state.is_assigned(&it.module, machine));
    }
}

fn candidate(state: &State, now: DateTime<Utc>, tier: &Tier, machine: &Machine) -> Candidate {
    let name = &machine.name;
    let healthy =
        state.sightings.get(name).is_some_and(|sighting| facts::is_healthy(sighting, now));
    let labelled = machine
        .labels
        .iter()
        .any(|(key, value)| key.as_str() == "bellwether" && value.as_str() == "true");
    let meets = Preference::ALL.into_iter().filter(|preference| match preference {
        Preference::Labelled => labelled,
        Preference::Healthy => healthy,
        Preference::NoCondition => facts::baseline(state, name).conditions.is_empty(),
        Preference::RunsAll => tier.moves.iter().all(|it| state.is_assigned(&it.module, name)),
        Preference::NotLead => !machine.roles.contains(&Role::LeadMachine),
        Preference::NotBus => !machine.roles.contains(&Role::Bus),
    });
    let declared = state.records.declared.get(name);
    let load = declared.into_iter().flat_map(|declared| declared.declaration.modules.values());
    Candidate {
        machine: name.clone(),
        meets: meets.collect(),
        load: load.map(|module| module.instances.len()).sum(),
    }
}
