//! Modules and builds, as people see them.

use inventory::{Build, Module, Standing};
use names::{BuildId, ModuleName};
use wire::api::{BuildView, ModuleView};

use crate::state::State;

/// Every module.
pub(crate) fn modules(state: &State) -> Vec<ModuleView> {
    state.records.modules.values().map(|it| module(state, it)).collect()
}

/// Every kept build, of one module or of all.
pub(crate) fn builds(state: &State, module: Option<&ModuleName>) -> Vec<BuildView> {
    let builds = state.records.builds.values().rev();
    let wanted = builds.filter(|build| module.is_none_or(|module| build.module() == module));
    wanted.map(|it| build(state, it)).collect()
}

fn module(state: &State, module: &Module) -> ModuleView {
    let records = &state.records;
    let registered = module.registered.as_ref().and_then(|build| records.builds.get(build));
    ModuleView {
        module: module.name.clone(),
        registered: registered.map(|it| build(state, it)),
        proven: records.last_proven(&module.name).map(|it| build(state, it)),
        assigned: module.assignments.iter().map(|assignment| assignment.to.to_string()).collect(),
        machines: state.assigned(module).map(|machine| machine.name.clone()).collect(),
        plan: records.moving(&module.name).map(|plan| plan.id.clone()),
    }
}

fn build(state: &State, build: &Build) -> BuildView {
    let (standing, why) = match state.records.standing(&build.id) {
        Standing::Unproven => ("unproven", None),
        Standing::Proven(_) => ("proven", None),
        Standing::Condemned(verdict) => ("condemned", Some(verdict.why.text.clone())),
    };
    let declared = state.records.declared.iter();
    let runs = |build: &BuildId, module: &inventory::DeclaredModule| module.build == *build;
    let machines = declared.filter(|(_, declared)| {
        declared
            .declaration
            .modules
            .get(build.module())
            .is_some_and(|module| runs(&build.id, module))
    });
    BuildView {
        module: build.module().clone(),
        build: build.id.clone(),
        commit: build.commit.clone(),
        standing: standing.into(),
        why,
        registered_at: build.registered_at,
        machines: machines.map(|(machine, _)| machine.clone()).collect(),
    }
}
