//! A gate did not pass: the handling of that, one durable step after another.
//!
//! What has to be done and in which order is known by [`Handling`]; here its questions are answered from the records, and its
//! writes and sends become steps. Each step lands the handling as it is *after* the write that goes with it, so a restart
//! asks for the next thing, or for the same thing once more.

mod failed;
mod look_up;
mod verdict;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use conditions::Source;
use gate_judge::Gate;
use names::{BuildId, MachineName, ModuleName};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wire::Event;

use self::{
    failed::failed_module,
    look_up::{compare, failed_build, move_of, previous_build},
    verdict::{keep_verdict, kept_verdict, set_rollback},
};
use crate::{
    doctor,
    failure::{self, Answer, Awaited, Handling, Need},
    moved,
    plan::{Place, Plan, PlanState},
    reports,
    state::State,
    step::Step,
};

/// What becomes of a plan whose gate did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PutBack {
    /// The wave that did not pass.
    pub place: Place,
    /// Its gate, ended.
    pub gate: Box<Gate>,
    /// The handling, as far as it got.
    pub handling: Handling,
}

impl PutBack {
    /// The machines that it waits for, where all that is left is to hear from them.
    pub(crate) fn awaited(&self) -> Option<Vec<MachineName>> {
        let Need::Reports { awaited } = self.handling.need() else { return None };
        Some(awaited.iter().filter_map(|it| it.machine.parse().ok()).collect())
    }

    /// Begins: only the modules that were wanting go back. One that was good stays, neither passed nor condemned.
    pub(crate) fn new(
        state: &State,
        now: DateTime<Utc>,
        plan: &Plan,
        place: Place,
        gate: Box<Gate>,
    ) -> Self {
        let failing = gate.failing().iter();
        let moves =
            failing.filter_map(|module| plan.moves().find(|it| it.module.as_str() == module));
        let modules = moves.map(|it| failed_module(state, it, &gate)).collect();
        let handling = Handling::new(state.rules.failure, plan.id.as_str(), now, modules);
        Self { place, gate, handling }
    }
}

/// The next step of a plan that is being put back, or that has failed and hears more of it; `None` while it waits for reports, or when nothing of it is left.
pub(crate) fn advance(state: &State, now: DateTime<Utc>, plan: &Plan) -> Option<Step> {
    let put_back = match &plan.state {
        PlanState::PuttingBack(put_back) => put_back,
        PlanState::Failed(put_back) if put_back.handling.need() == Need::Done => {
            return late(state, now, plan, put_back);
        }
        PlanState::Failed(put_back) => put_back,
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Done { .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => return None,
    };
    let mut handling = put_back.handling.clone();
    // Each answer moves it one step, and a handling has a bounded number of them.
    loop {
        let mut step = Step::new(String::new());
        let Some(answer) = answer(state, now, plan, put_back, &handling, &mut step) else {
            return end(state, now, plan, put_back, handling);
        };
        // The answer is of the kind that was needed, by the match that made it.
        handling.answer(now, answer).ok()?;
        if !step.land.is_empty() || step.why == SAVED {
            step.why = format!("plan {}: {}", plan.id, step.why);
            let put_back = PutBack { handling, ..PutBack::clone(put_back) };
            step.put(Plan { state: going_on(plan, put_back), ..plan.clone() });
            return Some(step);
        }
    }
}

/// The plan with its handling one step further. One that has failed and hears of it once more stays ended: nothing waits for
/// it.
fn going_on(plan: &Plan, put_back: PutBack) -> PlanState {
    match plan.state {
        PlanState::Failed(_) => PlanState::Failed(Box::new(put_back)),
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::PuttingBack(_)
        | PlanState::Done { .. }
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => PlanState::PuttingBack(Box::new(put_back)),
    }
}

/// A machine that was not back when the plan ended reports that it is: somebody freed what its book held, or what was in
/// the way is gone. How the rollback ended is then kept and said anew.
fn late(state: &State, now: DateTime<Utc>, plan: &Plan, put_back: &PutBack) -> Option<Step> {
    let mut stuck = put_back.handling.stuck();
    stuck.retain(|it| goes_back(state, plan, it) && !is_overtaken(state, plan, it.module));
    let reports = stuck.iter().filter_map(|it| reports::of(state, it)).collect();
    let mut handling = put_back.handling.clone();
    if !handling.take_late(now, reports) {
        return None;
    }
    let mut step =
        Step::new(format!("plan {}: a machine reports late on what was put back", plan.id));
    let put_back = PutBack { handling, ..put_back.clone() };
    step.put(Plan { state: PlanState::Failed(Box::new(put_back)), ..plan.clone() });
    Some(step)
}

/// Whether a machine is still declared the build that the plan would put back there.
fn goes_back(state: &State, plan: &Plan, awaited: &Awaited<'_>) -> bool {
    let declared = state.records.declared.get(awaited.machine);
    let declared = declared.and_then(|it| it.declaration.modules.get(awaited.module));
    let target = move_of(plan, awaited.module).and_then(|it| it.from.as_ref());
    declared.is_some_and(|declared| Some(&declared.build) == target)
}

/// A step that writes nothing but the plan itself.
const SAVED: &str = "the plan is saved as failed";

fn end(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    put_back: &PutBack,
    handling: Handling,
) -> Option<Step> {
    if handling.need() != Need::Done {
        return None;
    }
    let mut step =
        Step::new(format!("plan {} has failed, and nothing of it is left to do", plan.id));
    let put_back = PutBack { handling, ..put_back.clone() };
    let plan = Plan { state: PlanState::Failed(Box::new(put_back)), ..plan.clone() };
    state.tell(&mut step, moved::event(state, now, &plan));
    step.put(plan);
    Some(step)
}

/// The answer to what a handling needs, with what has to land before it is true; `None` while there is no answer.
fn answer(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    put_back: &PutBack,
    handling: &Handling,
    step: &mut Step,
) -> Option<Answer> {
    Some(match handling.need() {
        Need::SourceFingerprints { module, .. } => {
            Answer::SourceFingerprints(compare(state, plan, module, |build| {
                build.source_fingerprint.clone()
            }))
        }
        Need::ArtifactFingerprints { module, .. } => {
            Answer::ArtifactFingerprints(compare(state, plan, module, |build| {
                Some(build.content().0)
            }))
        }
        Need::FailedBuild { module, .. } => Answer::FailedBuild(failed_build(state, plan, module)),
        Need::PreviousBuild { module, .. } => {
            Answer::PreviousBuild(previous_build(state, plan, module))
        }
        Need::RecordVerdict(record) => {
            Answer::Verdict(keep_verdict(state, now, plan, put_back, &record, step))
        }
        Need::KeptVerdict { module, .. } => Answer::KeptVerdict(kept_verdict(state, plan, module)),
        Need::RestoreModule { module, target } => {
            let target = target.build.parse().ok()?;
            let module = state.records.modules.get(module);
            if let Some(module) = module {
                step.put(inventory::Module { registered: Some(target), ..module.clone() });
            }
            step.why = "the registered build goes back".into();
            Answer::ModuleRestored(
                module.map_or(failure::Wrote::Failed, |_| failure::Wrote::Landed),
            )
        }
        Need::SavePlan { .. } => {
            step.why = SAVED.into();
            Answer::PlanSaved(failure::Wrote::Landed)
        }
        Need::Send { machines, modules } => {
            step.why = "the previous builds are sent".into();
            Answer::Sent(send(state, now, &machines, &modules, step))
        }
        Need::Reports { awaited } => reported(state, plan, &awaited)?,
        Need::SetRollback(record) => {
            set_rollback(state, plan, &record, step);
            Answer::RollbackSet(failure::Wrote::Landed)
        }
        Need::RaiseCondition { observation, .. } => {
            step.why = "the condition is raised".into();
            let mut keeper = state.records.conditions.clone();
            if let Some(event) = keeper.sight(&Source::GATE, now, observation.clone()) {
                state.tell(step, doctor::told(now, &event));
            }
            step.put(keeper);
            Answer::ConditionRaised
        }
        Need::PublishEvent(event) => {
            step.why = "the event is published".into();
            state.tell(step, published(now, &event));
            Answer::EventPublished
        }
        Need::Done => return None,
    })
}

/// Every machine is sent all that goes back there in one declaration: an ordinary one, which lifts nothing that the machine
/// itself holds against it.
fn send(
    state: &State,
    now: DateTime<Utc>,
    machines: &[&str],
    modules: &[failure::PutBack<'_>],
    step: &mut Step,
) -> failure::Sent {
    let back: BTreeMap<ModuleName, BuildId> = modules
        .iter()
        .filter_map(|it| Some((it.module.parse().ok()?, it.target.build.parse().ok()?)))
        .collect();
    let mut accepted = BTreeMap::new();
    for machine in machines.iter().filter_map(|machine| machine.parse::<MachineName>().ok()) {
        let next = state.compose(&machine, &back, now);
        let declared =
            state.records.declared.get(&machine).map(|declared| declared.declaration.number);
        let Some(number) = next.as_ref().map(|next| next.number).or(declared) else { continue };
        accepted.insert(machine.to_string(), number.0);
        if let Some(declaration) = next {
            state.declare(step, now, declaration);
        }
    }
    if accepted.is_empty() { failure::Sent::Refused } else { failure::Sent::Accepted(accepted) }
}

/// Whether a newer plan moves the module, or did.
fn is_overtaken(state: &State, plan: &Plan, module: &str) -> bool {
    let mut plans = state.records.plans.values();
    plans.any(|other| {
        other.id > plan.id && other.state != PlanState::Queued && move_of(other, module).is_some()
    })
}

/// What the awaited machines have reported. A newer plan of a module ends the waiting for it: what is on its machines is
/// that plan's concern from then on.
fn reported(state: &State, plan: &Plan, awaited: &[Awaited<'_>]) -> Option<Answer> {
    if awaited.iter().any(|it| is_overtaken(state, plan, it.module)) {
        return Some(Answer::ReportsEnded);
    }
    let reports: Vec<_> = awaited.iter().filter_map(|it| reports::of(state, it)).collect();
    (!reports.is_empty()).then_some(Answer::Reports(reports))
}

fn published(now: DateTime<Utc>, event: &failure::RollbackEvent) -> Event {
    // A struct becomes an object and nothing else.
    let fields = json!(event).as_object().cloned().unwrap_or_default();
    let module = &event.module;
    let machines = event.machines.join(", ");
    let summary = match &event.not_why {
        None => format!("{module} was put back on {machines}: {}", event.why),
        Some(not_why) => format!("{module} was not put back on {machines}: {not_why}"),
    };
    Event { at: now, kind: failure::RollbackEvent::NAME.into(), summary, fields }
}
