//! What is known, told in the gate's words.

use std::collections::BTreeMap;

use gate_judge as gate;
use names::MachineName;
use wire::{ModuleOutcome, ModuleReport, ResourceState, ResourceStatement};

use crate::{
    plan::Plan,
    record::KeptReport,
    sighting::{Sighting, Stated},
    state::State,
};

/// The facts about the machines that were sent anything for a plan, as of now.
///
/// No machine serves tools yet, so nothing is known of any, and the controller's rules do not ask for it.
pub(crate) fn gather(state: &State, plan: &Plan) -> gate::Facts {
    let mut reports = BTreeMap::new();
    let mut engines = BTreeMap::new();
    let mut statements = BTreeMap::new();
    let mut baselines = BTreeMap::new();
    for (machine, sent) in &plan.sent {
        let name = machine.to_string();
        if let Some(kept) = state.records.reports.get(machine) {
            reports.insert(name.clone(), report(kept, sent));
        }
        if let Some(sighting) = state.sightings.get(machine) {
            if let Some(hello) = &sighting.hello {
                engines.insert(name.clone(), hello.agent.clone());
            }
            if let Some(stated) = &sighting.statement {
                statements.insert(name.clone(), statement(stated));
            }
        }
        if let Some(before) = plan.baseline.get(machine) {
            baselines.insert(name, before.clone());
        }
    }
    gate::Facts {
        reports,
        engines,
        served: Ok(BTreeMap::new()),
        conditions: gate::Conditions::Open(
            state.records.conditions.open().map(condition).collect(),
        ),
        rolled_back: BTreeMap::new(),
        lease: Ok(None),
        statements: Ok(statements),
        baseline: baselines,
    }
}

/// What is wanting on a machine before it is sent anything.
pub(crate) fn baseline(state: &State, machine: &MachineName) -> gate::Baseline {
    let on_machine = |condition: &&conditions::Condition| {
        let subject = &condition.subject;
        let named = subject.machine.iter().chain(&subject.also);
        named.map(String::as_str).any(|on| on == machine.as_str())
    };
    let open = state.records.conditions.open().filter(on_machine);
    let stated = state.sightings.get(machine).and_then(|sighting| sighting.statement.as_ref());
    let resources = stated.into_iter().flat_map(|stated| &stated.statement.resources);
    let wanting = resources.filter(|it| it.state != ResourceState::Healthy);
    gate::Baseline {
        conditions: open.map(|condition| condition.key.to_string()).collect(),
        resources: wanting.map(resource_name).collect(),
    }
}

/// The manifest of a build, as far as it is judged.
pub(crate) fn manifest(manifest: &inventory::Manifest) -> gate::Manifest {
    gate::Manifest {
        tools: manifest.tools.iter().map(|tool| tool.name.to_string()).collect(),
        resources: manifest.resources.iter().map(|resource| resource.name.to_string()).collect(),
        delivered: Vec::new(),
    }
}

fn report(kept: &KeptReport, sent: &gate::SentTo) -> gate::Report {
    let modules = &kept.report.modules;
    let outcomes = modules.values().map(|module| &module.outcome);
    gate::Report {
        at: Some(kept.at),
        current: kept.report.declaration.0 == sent.declaration,
        outcome: outcomes
            .max_by_key(|outcome| weight(outcome))
            .map(outcome)
            .unwrap_or(gate::Outcome::Applied),
        declaration: Some(kept.report.declaration.0),
        modules: modules
            .iter()
            .map(|(name, module)| (name.to_string(), module_report(module)))
            .collect(),
    }
}

fn module_report(report: &ModuleReport) -> gate::ModuleReport {
    gate::ModuleReport {
        outcome: outcome(&report.outcome),
        build: report.build.as_ref().map(ToString::to_string),
        executions: report.executions.values().map(ToString::to_string).collect(),
    }
}

fn outcome(outcome: &ModuleOutcome) -> gate::Outcome {
    match outcome {
        ModuleOutcome::Applied => gate::Outcome::Applied,
        ModuleOutcome::Failed { .. } => gate::Outcome::Failed,
        ModuleOutcome::Refused { .. } => gate::Outcome::Refused,
        ModuleOutcome::Unable { .. } => gate::Outcome::Unable,
    }
}

/// How much of a whole declaration's outcome is one module's: the worst of them speaks for all.
fn weight(outcome: &ModuleOutcome) -> u8 {
    match outcome {
        ModuleOutcome::Applied => 0,
        ModuleOutcome::Unable { .. } => 1,
        ModuleOutcome::Refused { .. } => 2,
        ModuleOutcome::Failed { .. } => 3,
    }
}

fn statement(Stated { heard, statement }: &Stated) -> gate::Statement {
    gate::Statement {
        heard: *heard,
        resources: statement.resources.iter().map(resource).collect(),
        declaration: statement.declaration.map(|number| number.0),
    }
}

fn resource(stated: &ResourceStatement) -> gate::Resource {
    gate::Resource {
        module: stated.module.to_string(),
        resource: stated.resource.to_string(),
        state: match stated.state {
            ResourceState::Healthy => gate::ResourceState::Healthy,
            ResourceState::Starting => gate::ResourceState::Starting,
            ResourceState::Failed => gate::ResourceState::Failed,
            ResourceState::Unhealthy | ResourceState::Stopped => {
                gate::ResourceState::Other(stated.state.to_string())
            }
        },
        why: stated.why.clone().unwrap_or_default(),
        instance: Some(stated.instance.to_string()),
        build: Some(stated.build.to_string()),
        execution: stated.execution.as_ref().map(ToString::to_string),
    }
}

fn resource_name(stated: &ResourceStatement) -> gate::ResourceName {
    gate::ResourceName {
        module: stated.module.to_string(),
        resource: stated.resource.to_string(),
        instance: Some(stated.instance.to_string()),
    }
}

fn condition(open: &conditions::Condition) -> gate::Condition {
    gate::Condition {
        key: open.key.to_string(),
        kind: open.kind.to_string(),
        source: open.source.to_string(),
        raised: open.raised,
        summary: open.summary.text.clone(),
        subject: gate::Subject {
            scope: open.subject.scope.to_string(),
            id: about(&open.subject).to_owned(),
            machine: open.subject.machine.clone().unwrap_or_default(),
            also: open.subject.also.clone(),
        },
    }
}

/// What a condition is about, without its machine, which is named beside it: a machine may have the name of a module, and
/// what is wrong with the machine is no evidence against that module.
fn about(subject: &conditions::Subject) -> &str {
    let Some(machine) = subject.machine.as_deref() else { return &subject.id };
    if subject.id == machine {
        return "";
    }
    let rest = subject.id.strip_suffix(machine).and_then(|rest| rest.strip_suffix('.'));
    rest.unwrap_or(&subject.id)
}

/// Whether a machine is heard and all that it states is healthy; one that states nothing runs nothing that could be ill.
pub(crate) fn is_healthy(sighting: &Sighting, now: chrono::DateTime<chrono::Utc>) -> bool {
    let resources = sighting.statement.iter().flat_map(|stated| &stated.statement.resources);
    sighting.is_heard(now) && resources.clone().all(|it| it.state == ResourceState::Healthy)
}
