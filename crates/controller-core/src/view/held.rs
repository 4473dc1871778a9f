//! Instances with what holds them, and pointers with who has them, as people see them.

use chrono::{DateTime, Utc};
use inventory::DeclaredModule;
use names::{BuildId, Commit, InstanceName, MachineName, ModuleName};
use wire::{
    ResourceState, ResourceStatement,
    api::{InstanceView, PointedView, PointerView, ReportPlace, RunView},
    signed::PointerKind,
};

use super::machine::heard;
use crate::{
    hand_over::is_of,
    record::{Declared, KeptPointer},
    sighting::Handed,
    state::State,
};

/// Every declared instance, of one module and machine or of all.
pub(crate) fn instances(
    state: &State,
    now: DateTime<Utc>,
    module: Option<&ModuleName>,
    machine: Option<&MachineName>,
) -> Vec<InstanceView> {
    let declared = state.records.declared.iter();
    let declared = declared.filter(|(name, _)| machine.is_none_or(|machine| machine == *name));
    let each = declared.flat_map(|(machine, declared)| {
        let modules = declared.declaration.modules.iter();
        let modules = modules.filter(move |(name, _)| module.is_none_or(|module| module == *name));
        modules.flat_map(move |(name, module)| {
            let instances = module.instances.keys();
            instances.map(move |it| instance(state, now, (machine, declared), (name, module), it))
        })
    });
    each.collect()
}

fn instance(
    state: &State,
    now: DateTime<Utc>,
    (machine, declared): (&MachineName, &Declared),
    (name, module): (&ModuleName, &DeclaredModule),
    instance: &InstanceName,
) -> InstanceView {
    let kept = state.records.reports.get(machine).map(|kept| &kept.report);
    let report = kept.and_then(|report| report.modules.get(name));
    let is_newest = kept.is_some_and(|it| it.declaration == declared.declaration.number);
    let held = report.and_then(|report| report.held.as_ref());
    InstanceView {
        machine: machine.clone(),
        heard: heard(state, now, machine),
        module: name.clone(),
        instance: instance.clone(),
        build: module.build.clone(),
        commit: commit(state, &module.build),
        runs: runs(state, machine, name, instance),
        outcome: report.filter(|_| is_newest).map(|report| report.outcome.clone()),
        report: kept.map(|it| ReportPlace { declaration: it.declaration, revision: it.revision }),
        held: held.map(|held| held.iter().filter(|it| it.instance == *instance).cloned().collect()),
    }
}

fn commit(state: &State, build: &BuildId) -> Option<Commit> {
    state.records.builds.get(build).map(|build| build.commit.clone())
}

fn runs(
    state: &State,
    machine: &MachineName,
    module: &ModuleName,
    instance: &InstanceName,
) -> Option<RunView> {
    let stated = state.sightings.get(machine)?.statement.as_ref()?;
    let resources = stated.statement.resources.iter();
    let worst = resources
        .filter(|it| it.module == *module && it.instance == *instance)
        .max_by_key(|it| badness(it))?;
    Some(RunView {
        build: worst.build.clone(),
        commit: commit(state, &worst.build),
        state: worst.state,
        why: worst.why.clone(),
    })
}

fn badness(stated: &ResourceStatement) -> u8 {
    match stated.state {
        ResourceState::Healthy => 0,
        ResourceState::Starting => 1,
        ResourceState::Stopped => 2,
        ResourceState::Unhealthy => 3,
        ResourceState::Failed => 4,
    }
}

/// Every pointer that is kept, of one module or of all.
pub(crate) fn pointers(
    state: &State,
    now: DateTime<Utc>,
    module: Option<&ModuleName>,
) -> Vec<PointerView> {
    let kept = state.records.pointers.values();
    let wanted = kept.filter(|kept| module.is_none_or(|module| *module == kept.pointer.module));
    wanted.map(|kept| pointer(state, now, kept)).collect()
}

/// One pointer, and who has it.
pub(crate) fn pointer(state: &State, now: DateTime<Utc>, kept: &KeptPointer) -> PointerView {
    let pointer = &kept.pointer;
    let machines = state.records.machines.keys();
    let machines: Vec<_> =
        machines.filter(|machine| is_of(state, &pointer.module, machine)).collect();
    let pointed = machines.iter().map(|machine| PointedView {
        machine: (*machine).clone(),
        heard: heard(state, now, machine),
        reply: state.sightings.get(*machine).and_then(|it| match it.pointers.get(&pointer.id)? {
            Handed::At(_) => None,
            Handed::Answered(reply) => Some(reply.clone()),
        }),
    });
    PointerView {
        id: pointer.id.clone(),
        account: pointer.account.clone(),
        module: pointer.module.clone(),
        channel: pointer.channel.clone(),
        build: pointer.build.clone(),
        commit: commit(state, &pointer.build),
        kind: pointer.kind,
        promoted_at: pointer.promoted_at,
        signed_by: kept.signed.by.clone(),
        by: kept.by.clone(),
        machines: pointed.collect(),
        moves: moves(state, kept, &machines),
    }
}

/// What moves machines onto the build: a release, or for a build that was condemned the retry of the plan that did.
fn moves(state: &State, kept: &KeptPointer, machines: &[&MachineName]) -> Option<String> {
    let (module, build) = (&kept.pointer.module, &kept.pointer.build);
    let declared =
        |machine: &&MachineName| state.records.declared_build(machine, module) == Some(build);
    if machines.iter().all(declared) {
        return None;
    }
    if let inventory::Standing::Condemned(verdict) = state.records.standing(build) {
        return Some(format!("controller plans retry {} --wait", verdict.plan));
    }
    Some(match kept.pointer.kind {
        PointerKind::Promote | PointerKind::PromoteRetry => {
            format!("controller release {module}@{build} --wait")
        }
        PointerKind::Rollback => {
            format!("controller release {module}@{build} --now --reason 'rolled back' --wait")
        }
    })
}
