//! A release is asked for: which builds, in which order, and what it takes the place of.

use std::collections::BTreeSet;

use inventory::{Build, Standing};
use names::{ModuleName, PlanId};
use wire::api::{Answer, BuildRef, Pace, Refusal, RefusalKind, Released, Run};

use super::{Asking, Decided, end_plan, rule, unknown};
use crate::{
    begin,
    plan::{Asked, Move, Plan, PlanState, Tier},
    record::RecordKey,
    state::State,
    step::{Step, Write},
    supersede, view,
};

pub(super) fn release(
    state: &State,
    asking: Asking<'_>,
    builds: &[BuildRef],
    pace: Pace,
    run: Run,
) -> Decided {
    let builds =
        builds.iter().map(|wanted| resolve(state, wanted)).collect::<Result<Vec<_>, _>>()?;
    for build in &builds {
        check(state, build)?;
    }
    if builds.iter().all(|build| runs_everywhere(state, build)) {
        let names: Vec<_> =
            builds.iter().map(|build| format!("{} {}", build.module(), build.commit)).collect();
        return Ok((
            Step::default(),
            Answer::Done(format!("nothing to do: every machine runs {}", names.join(", "))),
        ));
    }
    let tiers = tiers(state, builds)?;
    let at_once = match &pace {
        Pace::InTurn => None,
        Pace::Now { why } => Some(why.clone()),
    };
    let plan = Plan { at_once, ..new(asking, Asked::Release, tiers)? };
    match run {
        Run::Dry => Ok((
            Step::default(),
            Answer::Released(Box::new(Released { plan: told(state, asking, plan), dry: true })),
        )),
        Run::Real => make(state, asking, plan),
    }
}

/// Asks again for what an ended plan moved, also where that was condemned: a person's word, and the only one that does.
pub(super) fn retry(state: &State, asking: Asking<'_>, plan: &PlanId) -> Decided {
    let ended = end_plan::find(state, plan)?;
    match ended.state {
        PlanState::Failed(_) | PlanState::Stopped { .. } | PlanState::Superseded { .. } => {}
        PlanState::Done { .. } => {
            return Err(rule(
                format!("plan {plan} is done; there is nothing to try again"),
                "see `controller plans`",
            ));
        }
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::PuttingBack(_) => {
            return Err(rule(
                format!("plan {plan} has not ended"),
                format!("wait, or end it with `controller plans stop {plan}`"),
            ));
        }
    }
    let again = |it: &Move| match state.records.builds.contains_key(&it.to) {
        true => Ok(Move { from: None, trial: state.records.trial(&it.to), ..it.clone() }),
        false => Err(unknown(
            format!("build {} of {} is not kept any more", it.to, it.module),
            "register it again with `controller builds add`",
        )),
    };
    let mut tiers = Vec::new();
    for tier in &ended.tiers {
        let moves = tier.moves.iter().map(again).collect::<Result<Vec<_>, _>>()?;
        tiers.push(Tier { moves, waves: Vec::new(), first: None });
    }
    make(state, asking, new(asking, Asked::Retry { plan: plan.clone() }, tiers)?)
}

fn resolve<'a>(state: &'a State, wanted: &BuildRef) -> Result<&'a Build, Refusal> {
    if !state.records.modules.contains_key(&wanted.module) {
        return Err(unknown(
            format!("there is no module `{}`", wanted.module),
            "register a build of it with `controller builds add`",
        ));
    }
    let mut builds = state.records.builds_of(&wanted.module).rev();
    let found = builds.find(|build| wanted.means(&build.id, &build.commit));
    found.ok_or_else(|| {
        let hint = format!("see `controller builds {}`", wanted.module);
        unknown(format!("there is no build `{wanted}`"), hint)
    })
}

fn check(state: &State, build: &Build) -> Result<(), Refusal> {
    if let Standing::Condemned(verdict) = state.records.standing(&build.id) {
        return Err(rule(
            format!(
                "{} {} is condemned: it failed its gate in plan {}: {}",
                build.module(),
                build.commit,
                verdict.plan,
                verdict.why.text
            ),
            format!(
                "release another build; or ask for it once more with `controller plans retry {}`",
                verdict.plan
            ),
        ));
    }
    let module = state.records.modules.get(build.module());
    if module.is_none_or(|module| state.assigned(module).next().is_none()) {
        let hint = format!("say where it runs: controller assign {} --to MACHINES", build.module());
        return Err(rule(format!("{} is assigned to no machine", build.module()), hint));
    }
    Ok(())
}

fn runs_everywhere(state: &State, build: &Build) -> bool {
    let Some(module) = state.records.modules.get(build.module()) else { return false };
    let declared = |machine: &inventory::Machine| {
        state.records.declared_build(&machine.name, &module.name) == Some(&build.id)
    };
    state.records.is_proven(&build.id)
        && state.records.moving(&module.name).is_none()
        && state.assigned(module).all(declared)
}

/// Modules that others want to move after come in earlier tiers.
fn tiers(state: &State, builds: Vec<&Build>) -> Result<Vec<Tier>, Refusal> {
    let mut left: Vec<&Build> = builds;
    let mut tiers = Vec::new();
    let names: BTreeSet<&ModuleName> = left.iter().map(|build| build.module()).collect();
    if names.len() < left.len() {
        return Err(Refusal {
            kind: RefusalKind::Usage,
            why: "a release names a module once".into(),
            hint: None,
        });
    }
    while !left.is_empty() {
        let waiting: BTreeSet<&ModuleName> = left.iter().map(|build| build.module()).collect();
        let (now, later): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|build| build.manifest.after.iter().all(|before| !waiting.contains(before)));
        if now.is_empty() {
            let names: Vec<_> = waiting.into_iter().map(ModuleName::as_str).collect();
            return Err(rule(
                format!("the manifests of {} want to move after each other", names.join(", ")),
                "break the circle of `after` in the manifests, or release them one by one",
            ));
        }
        let moves = now.into_iter().map(|build| Move {
            module: build.module().clone(),
            from: None,
            to: build.id.clone(),
            trial: state.records.trial(&build.id),
        });
        tiers.push(Tier { moves: moves.collect(), waves: Vec::new(), first: None });
        left = later;
    }
    Ok(tiers)
}

fn new(asking: Asking<'_>, asked: Asked, tiers: Vec<Tier>) -> Result<Plan, Refusal> {
    let id = PlanId::new(asking.fresh).map_err(|error| Refusal {
        kind: RefusalKind::Usage,
        why: error.to_string(),
        hint: None,
    })?;
    Ok(Plan {
        id,
        by: asking.sender.to_owned(),
        at: asking.now,
        asked,
        at_once: None,
        tiers,
        sent: Default::default(),
        baseline: Default::default(),
        state: PlanState::Queued,
    })
}

/// The plan as it would begin now, for people to look at.
fn told(state: &State, asking: Asking<'_>, mut plan: Plan) -> wire::api::PlanView {
    for tier in &mut plan.tiers {
        for it in &mut tier.moves {
            it.from = begin::put_back_target(state, &it.module, &it.to);
        }
        begin::share(state, asking.now, tier);
    }
    view::plan(state, &plan, asking.now)
}

/// How many ended plans are kept for people to look at.
const ENDED_KEPT: usize = 100;

/// The oldest ended plans make room. One that made a registered build everybody's says so for as long as it is.
fn forget_old(state: &State, step: &mut Step) {
    let is_registered = |it: &Move| {
        let module = state.records.modules.get(&it.module);
        module.is_some_and(|module| module.registered.as_ref() == Some(&it.to))
    };
    let ended = state.records.plans.values().filter(|plan| match plan.state {
        PlanState::Failed(_) | PlanState::Stopped { .. } | PlanState::Superseded { .. } => true,
        PlanState::Done { .. } => !plan.moves().any(is_registered),
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::PuttingBack(_) => false,
    });
    let old = ended.rev().skip(ENDED_KEPT);
    step.land.extend(old.map(|plan| Write::Delete(RecordKey::Plan(plan.id.clone()))));
}

/// Keeps a plan. Whose place it takes is found when it is looked at what begins: each of those ends by a write of its own.
fn make(state: &State, asking: Asking<'_>, plan: Plan) -> Decided {
    let mut others = state.records.plans.values().filter(|other| other.is_moving());
    let is_torn = |other: &&Plan| {
        other.moves().any(|it| plan.move_of(&it.module).is_some())
            && !supersede::takes_place(&plan, other)
    };
    if plan.at_once.is_some()
        && let Some(other) = others.find(is_torn)
    {
        return Err(rule(
            format!("plan {} moves other modules too, which nobody would watch any more", other.id),
            format!("end it first: controller plans stop {}", other.id),
        ));
    }
    let mut step = Step::new(format!("{} asks for plan {}", asking.sender, plan.id));
    let view = view::plan(state, &plan, asking.now);
    step.put(plan);
    forget_old(state, &mut step);
    Ok((step, Answer::Released(Box::new(Released { plan: view, dry: false }))))
}
