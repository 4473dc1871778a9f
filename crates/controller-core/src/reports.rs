//! What machines report of single modules.

use inventory::Declaration;
use names::BuildId;
use wire::{HeldBy, HeldInstance, ModuleOutcome, ModuleReport, ResourceState, retry_command};

use crate::{
    failure::{self, Awaited, HeldBack, Refusal, Reported},
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
            ModuleOutcome::Refused { rule } => Reported::Refused(refusal(module, rule)),
            ModuleOutcome::Unable { why, .. } => Reported::Other { said: why.clone() },
        },
    })
}

/// Whether it is the machine's failure book that refuses, which a signed word can free, or another rule.
fn refusal(report: &ModuleReport, rule: &str) -> Refusal {
    let held = holding(report).map(|held| HeldBack {
        instance: held.instance.to_string(),
        build: held.build.to_string(),
        rule: held.rule.to_string(),
    });
    let instances: Vec<_> = held.collect();
    match instances.is_empty() {
        true => Refusal::Rule { rule: rule.to_owned() },
        false => Refusal::Held { instances },
    }
}

/// What the machine's failure book holds against the build that was declared. A book tells all that it holds of a module, and
/// what is recorded of another build keeps nobody from this one.
pub(crate) fn holding(report: &ModuleReport) -> impl Iterator<Item = &HeldInstance> {
    let wanted = report.build.as_ref();
    report.held.iter().flatten().filter(move |held| is_against(held, wanted))
}

fn is_against(held: &HeldInstance, wanted: Option<&BuildId>) -> bool {
    let is_wanted = Some(&held.build) == wanted;
    match held.rule {
        HeldBy::Record => is_wanted,
        // A newer build was at the data, so it is every other build that is not started.
        HeldBy::Marker => !is_wanted,
        // That too, and it failed as well.
        HeldBy::HeldDown | HeldBy::Other => true,
    }
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
    match report.map(|report| (report, &report.outcome)) {
        Some((_, ModuleOutcome::Failed { instance, why })) => {
            return Some(format!("{instance}: {why}"));
        }
        Some((report, ModuleOutcome::Refused { rule })) => {
            return Some(refused(machine, report, rule));
        }
        Some((_, ModuleOutcome::Unable { why, .. })) => return Some(why.clone()),
        Some((_, ModuleOutcome::Applied)) | None => {}
    }
    let stated = state.sightings.get(machine)?.statement.as_ref()?;
    let resources = stated.statement.resources.iter().filter(|it| it.module.as_str() == module);
    let ill = resources.filter(|it| it.state != ResourceState::Healthy);
    ill.filter_map(|it| it.why.clone()).next()
}

/// The rule, with the commands that free what the machine's failure book holds, where that is it.
fn refused(machine: &str, report: &ModuleReport, rule: &str) -> String {
    let frees =
        |held: &HeldInstance| retry_command(machine, held.instance.as_str(), held.build.as_str());
    let mut commands: Vec<_> = holding(report).map(frees).collect();
    commands.dedup();
    match commands.is_empty() {
        true => rule.to_owned(),
        false => format!("{rule}; to let it be tried there again: {}", commands.join(", ")),
    }
}
