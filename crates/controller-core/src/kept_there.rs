//! The builds that a machine must keep on its disk beside what it runs: whatever may have to be put back there.

use std::collections::BTreeSet;

use names::{BuildId, MachineName, ModuleName};
use wire::BuildsKept;

use crate::{
    begin::put_back_target,
    plan::{Move, PlanState},
    state::State,
};

/// What a machine is told of the builds on its disk; `None` when it was never declared anything.
///
/// Of each module that has to do with it these are named: what it was declared, states and has reported; the registered
/// build; what plans that have not ended move, and what they would put back; what the newest plan came from; and of the
/// proven builds the newest two, so that the target of any plan to come is among them too.
pub(crate) fn kept_there(state: &State, machine: &MachineName) -> Option<BuildsKept> {
    let under = state.records.declared.get(machine)?.declaration.number;
    let modules = modules_of(state, machine).into_iter();
    let builds = modules.map(|module| (module.clone(), of_module(state, machine, module)));
    Some(BuildsKept { under, builds: builds.collect() })
}

fn modules_of<'a>(state: &'a State, machine: &MachineName) -> BTreeSet<&'a ModuleName> {
    let records = &state.records;
    let declared = records.declared.get(machine).into_iter();
    let declared = declared.flat_map(|declared| declared.declaration.modules.keys());
    let assigned = records.modules.keys().filter(|module| state.is_assigned(module, machine));
    let open = records.plans.values().filter(|plan| plan.is_open());
    let sent = open.filter(|plan| plan.sent.contains_key(machine));
    let sent = sent.flat_map(|plan| plan.moves().map(|it| &it.module));
    let runs = running(state, machine).map(|(module, _)| module);
    declared.chain(assigned).chain(sent).chain(runs).collect()
}

fn of_module(state: &State, machine: &MachineName, module: &ModuleName) -> BTreeSet<BuildId> {
    let records = &state.records;
    let mut builds = BTreeSet::new();
    builds.extend(records.declared_build(machine, module).cloned());
    builds
        .extend(running(state, machine).filter(|(of, _)| *of == module).map(|(_, it)| it.clone()));
    builds.extend(records.modules.get(module).and_then(|module| module.registered.clone()));
    let proven = records.last_proven(module).map(|build| &build.id);
    let proven_before = records.last_proven_before(module, proven).map(|build| &build.id);
    builds.extend(proven.into_iter().chain(proven_before).cloned());
    let plans = || records.plans.values().rev();
    let moves = || plans().filter_map(|plan| Some((plan, plan.move_of(module)?)));
    builds.extend(moves().next().and_then(|(_, newest)| newest.from.clone()));
    for (plan, Move { from, to, .. }) in moves().filter(|(plan, _)| plan.is_open()) {
        // What a plan would put back is decided when it begins.
        let is_queued = plan.state == PlanState::Queued;
        let back = if is_queued { put_back_target(state, module, to) } else { from.clone() };
        builds.extend(back.into_iter().chain([to.clone()]));
    }
    builds
}

/// What a machine says that it runs, in its newest statement and its newest report.
fn running<'a>(
    state: &'a State,
    machine: &MachineName,
) -> impl Iterator<Item = (&'a ModuleName, &'a BuildId)> {
    let stated = state.sightings.get(machine).and_then(|sighting| sighting.statement.as_ref());
    let stated = stated.into_iter().flat_map(|stated| &stated.statement.resources);
    let reported = state.records.reports.get(machine).into_iter();
    let reported = reported.flat_map(|kept| &kept.report.modules);
    let reported = reported.filter_map(|(module, report)| Some((module, report.build.as_ref()?)));
    stated.map(|resource| (&resource.module, &resource.build)).chain(reported)
}
