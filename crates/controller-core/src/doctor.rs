//! The probes: what is wrong now, seen from all that is known. They change nothing.

mod troubles;

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use conditions::{
    Event as ConditionEvent, Keeper, Kind, Observation, Resolver, Scope, Severity, Source, Subject,
    Summary,
};
use names::{BuildId, MachineName, ModuleName};
use serde_json::json;
use wire::{Event, ModuleOutcome, ResourceState};

use crate::{
    plan::{Plan, PlanState},
    sighting::{Delivery, Stated},
    state::State,
    step::Step,
};

/// How long a machine that is heard may take to keep a declaration or to report on it before that is a condition.
const ANSWER_WITHIN: TimeDelta = TimeDelta::seconds(60);

/// Runs all probes but that of statements.
pub(crate) fn examine(state: &State, now: DateTime<Utc>) -> (Keeper, Vec<ConditionEvent>) {
    let mut keeper = state.records.conditions.clone();
    let mut events = keeper.run(&Source::GATE, now, gates(state));
    events.extend(keeper.run(&Source::new("machines"), now, silent(state, now)));
    events.extend(keeper.run(&Source::new("declarations"), now, unanswered(state, now)));
    events.extend(keeper.run(&Source::new("builds"), now, previous_fails(state)));
    (keeper, events)
}

/// Takes one machine's newest statement into the conditions. Each machine is a source of its own, so that a condition which
/// needs to be seen twice needs two statements, and a machine that falls silent clears nothing.
pub(crate) fn take_statement(
    keeper: &mut Keeper,
    state: &State,
    now: DateTime<Utc>,
    machine: &MachineName,
) -> Vec<ConditionEvent> {
    let stated = state.sightings.get(machine).and_then(|sighting| sighting.statement.as_ref());
    let Some(stated) = stated else { return Vec::new() };
    let source = Source::new(format!("statements.{machine}"));
    let mut seen = unhealthy(machine, stated);
    seen.extend(drift(state, machine, stated));
    seen.extend(troubles::seen(machine, &stated.statement, keeper));
    keeper.run(&source, now, seen)
}

/// Makes conditions and what changed of them into a step; `None` when nothing did.
pub(crate) fn step(
    state: &State,
    now: DateTime<Utc>,
    keeper: Keeper,
    events: &[ConditionEvent],
) -> Option<Step> {
    if events.is_empty() {
        return None;
    }
    let mut step = Step::new("conditions changed");
    step.put(keeper);
    for event in events {
        state.tell(&mut step, told(now, event));
    }
    Some(step)
}

/// What is told of a change of a condition.
pub(crate) fn told(now: DateTime<Utc>, event: &ConditionEvent) -> Event {
    let kind = match event {
        ConditionEvent::Raised { .. } => "condition-raised",
        ConditionEvent::Changed { .. } => "condition-changed",
        ConditionEvent::Cleared { .. } => "condition-cleared",
    };
    let condition = event.condition();
    let mut fields = serde_json::Map::new();
    fields.insert("condition".into(), json!(condition));
    Event { at: now, kind: kind.into(), summary: condition.summary.text.clone(), fields }
}

/// The newest end of each module that was no pass, until a newer plan of it passes.
fn gates(state: &State) -> Vec<Observation> {
    let ends = newest_ends(state).into_iter();
    let seen = ends.flat_map(|(plan, module)| {
        let of_module = not_passed(plan).into_iter();
        of_module.filter(|(name, _)| *name == module.as_str()).map(|(_, observation)| observation)
    });
    seen.collect()
}

/// The newest plan of each module that came to an end of its own: not one that a person or a newer plan ended.
fn newest_ends(state: &State) -> Vec<(&Plan, &ModuleName)> {
    let ended = state.records.plans.values().rev().filter(|plan| match plan.state {
        PlanState::PuttingBack(_) | PlanState::Failed(_) | PlanState::Done { .. } => true,
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => false,
    });
    let mut met = BTreeSet::new();
    let mut newest = Vec::new();
    for plan in ended {
        let modules = plan.moves().map(|it| &it.module);
        newest.extend(modules.filter(|it| met.insert(*it)).map(|it| (plan, it)));
    }
    newest
}

fn not_passed(plan: &Plan) -> Vec<(String, Observation)> {
    match &plan.state {
        PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) => {
            put_back.handling.observations()
        }
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Done { .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => Vec::new(),
    }
}

fn silent(state: &State, now: DateTime<Utc>) -> Vec<Observation> {
    let silent = state.records.machines.keys().filter(|machine| {
        let sighting = state.sightings.get(*machine);
        sighting.is_some_and(|sighting| sighting.is_overdue(now))
    });
    silent
        .map(|machine| {
            let heard = state.sightings.get(machine).and_then(|sighting| sighting.heard);
            let since = heard.map_or_else(
                || "the controller started".into(),
                |heard| heard.format("%H:%M:%S UTC").to_string(),
            );
            about_machine(
                machine,
                Kind::SILENT,
                Severity::Warning,
                format!("{machine} has not been heard since {since}"),
            )
        })
        .collect()
}

fn unanswered(state: &State, now: DateTime<Utc>) -> Vec<Observation> {
    let declared = state.records.declared.iter();
    let seen = declared.filter_map(|(machine, declared)| {
        let sighting = state.sightings.get(machine)?;
        let number = declared.declaration.number;
        if let Delivery::Refused { number: refused, why, .. } = &sighting.delivery
            && *refused == number
        {
            let text = format!("{machine} refuses declaration {number}: {why}");
            return Some(about_machine(
                machine,
                Kind::new("declaration-refused"),
                Severity::Urgent,
                text,
            ));
        }
        let reported = state.records.reports.get(machine).map(|kept| kept.report.declaration);
        let late = now - declared.at > ANSWER_WITHIN && sighting.is_heard(now);
        (late && reported < Some(number)).then(|| {
            let text = format!("{machine} is heard, and has not reported on declaration {number}");
            about_machine(machine, Kind::new("unanswered"), Severity::Warning, text)
        })
    });
    seen.collect()
}

/// A build that was put back and fails too: nothing goes further back by itself, so a person has to know.
fn previous_fails(state: &State) -> Vec<Observation> {
    let mut seen = Vec::new();
    for (plan, module) in newest_ends(state) {
        let (PlanState::PuttingBack(put_back) | PlanState::Failed(put_back)) = &plan.state else {
            continue;
        };
        let handled = put_back.handling.handled().into_iter();
        let back = handled.filter(|it| it.module == module.as_str());
        let from = plan.move_of(module).and_then(|it| it.from.as_ref());
        for machine in back.flat_map(|it| it.gate.machines) {
            let Ok(machine) = machine.parse::<MachineName>() else { continue };
            let declared = state.records.declared_build(&machine, module);
            let Some(build) = declared.filter(|build| Some(*build) == from) else { continue };
            let Some(why) = fails(state, &machine, module, build) else { continue };
            let commit = state.records.builds.get(build).map(|build| build.commit.as_str());
            let text = format!(
                "{module} {} was put back on {machine} and fails too ({why}); nothing goes further back by itself: the \
                 machine or what the build needs is at fault, or release a build that works",
                commit.unwrap_or(build.as_str()),
            );
            seen.push(on_machine(
                Scope::BUILD,
                module.as_str(),
                &machine,
                "previous-fails-too",
                Severity::Urgent,
                text,
            ));
        }
    }
    seen
}

/// Why a build that a machine is declared fails there: by its report, or by what it states.
fn fails(
    state: &State,
    machine: &MachineName,
    module: &ModuleName,
    build: &BuildId,
) -> Option<String> {
    let declared = state.records.declared.get(machine)?.declaration.number;
    let kept =
        state.records.reports.get(machine).filter(|kept| kept.report.declaration == declared);
    let report = kept.and_then(|kept| kept.report.modules.get(module));
    match report.map(|report| &report.outcome) {
        Some(ModuleOutcome::Failed { instance, why }) => Some(format!("{instance}: {why}")),
        Some(
            ModuleOutcome::Applied | ModuleOutcome::Refused { .. } | ModuleOutcome::Unable { .. },
        )
        | None => given_up(state, machine, module, build),
    }
}

fn given_up(
    state: &State,
    machine: &MachineName,
    module: &ModuleName,
    build: &BuildId,
) -> Option<String> {
    let stated = state.sightings.get(machine)?.statement.as_ref()?;
    let failed = stated.statement.resources.iter().find(|it| {
        it.module == *module && it.build == *build && it.state == ResourceState::Failed
    })?;
    Some(failed.why.clone().unwrap_or_else(|| format!("{} was given up", failed.resource)))
}

fn unhealthy(machine: &MachineName, stated: &Stated) -> Vec<Observation> {
    let resources = stated.statement.resources.iter();
    let ill =
        resources.filter(|it| matches!(it.state, ResourceState::Unhealthy | ResourceState::Failed));
    ill.map(|it| {
        let why = it.why.as_deref().unwrap_or("no reason was stated");
        let text = format!("{} of {} on {machine} is {}: {why}", it.resource, it.module, it.state);
        on_machine(
            Scope::MODULE,
            it.module.as_str(),
            machine,
            Kind::UNHEALTHY.as_str(),
            Severity::Warning,
            text,
        )
    })
    .collect()
}

/// A machine that holds the declaration and runs another build than it names.
fn drift(state: &State, machine: &MachineName, stated: &Stated) -> Vec<Observation> {
    let Some(declared) = state.records.declared.get(machine) else { return Vec::new() };
    let reported = state.records.reports.get(machine).map(|kept| &kept.report);
    let number = declared.declaration.number;
    let settled = stated.statement.declaration == Some(number)
        && reported.is_some_and(|report| report.declaration == number);
    let resources = stated.statement.resources.iter();
    let drifted = resources.filter(|it| {
        let wanted = declared.declaration.modules.get(&it.module);
        let applied = reported.and_then(|report| report.modules.get(&it.module));
        let applied = applied.is_some_and(|report| report.outcome == ModuleOutcome::Applied);
        settled && applied && wanted.is_some_and(|wanted| wanted.build != it.build)
    });
    drifted
        .map(|it| {
            let commit = state
                .records
                .builds
                .get(&it.build)
                .map_or(it.build.as_str(), |build| build.commit.as_str());
            let text = format!(
                "{machine} said that it applied declaration {number}, and runs {} {commit}",
                it.module
            );
            on_machine(Scope::MODULE, it.module.as_str(), machine, "drift", Severity::Urgent, text)
        })
        .collect()
}

fn about_machine(
    machine: &MachineName,
    kind: Kind,
    severity: Severity,
    text: String,
) -> Observation {
    Observation {
        subject: Subject {
            scope: Scope::MACHINE,
            id: machine.to_string(),
            machine: Some(machine.to_string()),
            also: Vec::new(),
        },
        token: kind.as_str().to_owned(),
        summary: Summary { code: kind.as_str().to_owned().into(), text },
        kind,
        severity,
        source: None,
        resolver: Resolver::System,
        show: "controller machines".into(),
        resolve: Vec::new(),
    }
}

fn on_machine(
    scope: Scope,
    id: &str,
    machine: &MachineName,
    kind: &str,
    severity: Severity,
    text: String,
) -> Observation {
    let subject = Subject {
        scope,
        id: format!("{id}.{machine}"),
        ..about_machine(machine, Kind::new(kind), severity, String::new()).subject
    };
    Observation { subject, ..about_machine(machine, Kind::new(kind), severity, text) }
}
