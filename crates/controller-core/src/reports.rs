//! What machines report of single modules.

use inventory::Declaration;
use wire::{ModuleOutcome, ResourceState};

use crate::{
    failure::{self, Awaited, Refusal, Reported},
    record::KeptReport,
    state::State,
};

/// What a machine has reported of one module that was put back there; `None` while it has reported nothing that counts.
///
/// A report on a later declaration counts too, as long as it speaks of the same build: a machine that was away may be
/// declared something else besides before it answers.
pub(crate) fn of(state: &State, awaited: &Awaited<'_>) -> Option<failure::Report> {
    let kept = state.records.reports.get(awaited.machine)?;
    let declared = &state.records.declared.get(awaited.machine)?.declaration;
    let Some(wanted) = declared.modules.get(awaited.module) else {
        return withdrawn(awaited, kept, declared);
    };
    let module = kept.report.modules.get(awaited.module)?;
    if kept.report.declaration.0 < awaited.declaration
        || module.build.as_ref() != Some(&wanted.build)
    {
        return None;
    }
    Some(failure::Report {
        machine: awaited.machine.to_owned(),
        module: awaited.module.to_owned(),
        declaration: awaited.declaration,
        outcome: match &module.outcome {
            ModuleOutcome::Applied => Reported::Applied,
            ModuleOutcome::Failed { instance, why } => {
                Reported::Failed { why: format!("{instance}: {why}") }
            }
            ModuleOutcome::Refused { rule } => {
                Reported::Refused(Refusal::Rule { rule: rule.clone() })
            }
            ModuleOutcome::Unable { why, .. } => Reported::Other { said: why.clone() },
        },
    })
}

/// A person took the assignment back meanwhile, so nothing is put back there: all there is to wait for is that the machine
/// has stopped it.
fn withdrawn(
    awaited: &Awaited<'_>,
    kept: &KeptReport,
    declared: &Declaration,
) -> Option<failure::Report> {
    (kept.report.declaration >= declared.number).then(|| failure::Report {
        machine: awaited.machine.to_owned(),
        module: awaited.module.to_owned(),
        declaration: awaited.declaration,
        outcome: Reported::Other { said: "it is assigned there no longer, and was stopped".into() },
    })
}

/// What a machine says of a module that does not do well there: in its report, else of the first resource that is ill.
pub(crate) fn said(state: &State, machine: &str, module: &str) -> Option<String> {
    let report =
        state.records.reports.get(machine).and_then(|kept| kept.report.modules.get(module));
    match report.map(|report| &report.outcome) {
        Some(ModuleOutcome::Failed { instance, why }) => return Some(format!("{instance}: {why}")),
        Some(ModuleOutcome::Refused { rule }) => return Some(rule.clone()),
        Some(ModuleOutcome::Unable { why, .. }) => return Some(why.clone()),
        Some(ModuleOutcome::Applied) | None => {}
    }
    let stated = state.sightings.get(machine)?.statement.as_ref()?;
    let resources = stated.statement.resources.iter().filter(|it| it.module.as_str() == module);
    let ill = resources.filter(|it| it.state != ResourceState::Healthy);
    ill.filter_map(|it| it.why.clone()).next()
}
