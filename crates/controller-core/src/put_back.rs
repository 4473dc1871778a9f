//! A gate did not pass: the handling of that, one durable step after another.
//!
//! What has to be done and in which order is known by [`Handling`]; here its questions are answered from the records, and its
//! writes and sends become steps. Each step lands the handling as it is *after* the write that goes with it, so a restart
//! asks for the next thing, or for the same thing once more.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use conditions::{End, Source};
use gate_judge::Gate;
use inventory::{Reversal, RollbackWord, Stage, Why};
use names::{BuildId, MachineName, ModuleName, RollbackId};
use serde::{Deserialize, Serialize};
use serde_json::json;
use wire::Event;

use crate::{
    doctor,
    failure::{self, Answer, Awaited, Handling, Need, VerdictRecord},
    judge::judged_machines,
    plan::{Move, Place, Plan, PlanState},
    record::Cause,
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

fn failed_module(state: &State, it: &Move, gate: &Gate) -> failure::FailedModule {
    let machines: Vec<_> =
        judged_machines(gate, &it.module).iter().map(ToString::to_string).collect();
    let (from, to) = commits(state, it);
    let ended = gate.ended().map(|ended| failure::Ended {
        end: match ended.end {
            gate_judge::End::CannotTell(_) => End::CannotTell,
            gate_judge::End::Failed(_) | gate_judge::End::Passed { .. } => End::Failed,
        },
        why: with_evidence(state, &ended.end),
    });
    let component =
        gate_judge::core_component(it.module.as_str()).map(|core| core.name().to_owned());
    failure::FailedModule {
        module: it.module.to_string(),
        component: component.clone(),
        build: Some(it.to.to_string()),
        commit: Some(to.clone()),
        previous: from.clone(),
        first_sent: Some(gate.opening().since),
        machines: machines.clone(),
        ended: ended.clone().unwrap_or(failure::Ended { end: End::CannotTell, why: String::new() }),
        gate: Some(failure::Gate {
            component,
            machines,
            from,
            to: Some(to),
            since: Some(gate.opening().since),
            ended,
        }),
    }
}

/// Why a gate ended so, with what the machine itself said of it: an exit status and last lines, where it gave any.
fn with_evidence(state: &State, end: &gate_judge::End) -> String {
    let wanting = match end {
        gate_judge::End::Failed(gate_judge::FailedBy::Broken(wanting)) => Some(wanting),
        gate_judge::End::Failed(gate_judge::FailedBy::Bound(cause))
        | gate_judge::End::CannotTell(cause) => cause.pair(),
        gate_judge::End::Passed { .. } => None,
    };
    let said = wanting.and_then(|wanting| reports::said(state, &wanting.machine, &wanting.module));
    match said {
        Some(said) => format!("{end} ({said})"),
        None => end.to_string(),
    }
}

/// The commits of a move. Two builds of one commit that are not the same content are told apart by their ids: a manifest
/// that was changed without a commit is a change all the same.
fn commits(state: &State, it: &Move) -> (Option<String>, String) {
    let build = |id: &BuildId| state.records.builds.get(id);
    let commit =
        |id: &BuildId| build(id).map_or_else(|| id.to_string(), |build| build.commit.to_string());
    let to = commit(&it.to);
    let Some(from_id) = &it.from else { return (None, to) };
    let from = commit(from_id);
    if from == to && state.records.content(from_id) != state.records.content(&it.to) {
        return (Some(format!("{from}@{}", from_id.short())), format!("{to}@{}", it.to.short()));
    }
    (Some(from), to)
}

/// The next step of a plan that is being put back; `None` while it waits for reports, or when nothing of it is left.
pub(crate) fn advance(state: &State, now: DateTime<Utc>, plan: &Plan) -> Option<Step> {
    let PlanState::PuttingBack(put_back) = &plan.state else { return None };
    let mut handling = put_back.handling.clone();
    // Each answer moves it one step, and a handling has a bounded number of them.
    loop {
        let mut step = Step::new(String::new());
        let Some(answer) = answer(state, now, plan, &handling, &mut step) else {
            return end(state, now, plan, put_back, handling);
        };
        // The answer is of the kind that was needed, by the match that made it.
        handling.answer(now, answer).ok()?;
        if !step.land.is_empty() || step.why == SAVED {
            step.why = format!("plan {}: {}", plan.id, step.why);
            let put_back = PutBack { handling, ..PutBack::clone(put_back) };
            step.put(Plan { state: PlanState::PuttingBack(Box::new(put_back)), ..plan.clone() });
            return Some(step);
        }
    }
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
    state.tell(&mut step, crate::moved::event(state, now, &plan));
    step.put(plan);
    Some(step)
}

/// The answer to what a handling needs, with what has to land before it is true; `None` while there is no answer.
fn answer(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
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
            Answer::Verdict(keep_verdict(state, now, plan, &record, step))
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
            Answer::Sent(send(state, now, plan, &machines, &modules, step))
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

fn move_of<'a>(plan: &'a Plan, module: &str) -> Option<&'a Move> {
    plan.moves().find(|it| it.module.as_str() == module)
}

fn compare<T: PartialEq>(
    state: &State,
    plan: &Plan,
    module: &str,
    fingerprint: impl Fn(&inventory::Build) -> Option<T>,
) -> failure::Likeness {
    let of = |build: &BuildId| state.records.builds.get(build).and_then(&fingerprint);
    let both = move_of(plan, module).and_then(|it| Some((of(it.from.as_ref()?)?, of(&it.to)?)));
    match both {
        None => failure::Likeness::Unknown,
        Some((from, to)) if from == to => failure::Likeness::Identical,
        Some(_) => failure::Likeness::Different,
    }
}

fn failed_build(state: &State, plan: &Plan, module: &str) -> failure::FailedBuild {
    let build = move_of(plan, module).and_then(|it| state.records.builds.get(&it.to));
    match build.map(|build| build.manifest.reversal) {
        None => failure::FailedBuild::Missing,
        Some(Reversal::PointOfNoReturn) => failure::FailedBuild::PointOfNoReturn,
        Some(Reversal::Possible) => failure::FailedBuild::Found,
    }
}

fn previous_build(state: &State, plan: &Plan, module: &str) -> failure::PreviousBuild {
    let from = move_of(plan, module).and_then(|it| it.from.as_ref());
    match from {
        Some(build) if state.records.is_condemned(build) => failure::PreviousBuild::Condemned,
        Some(build) if state.records.builds.contains_key(build) => {
            failure::PreviousBuild::Found(build.to_string())
        }
        Some(_) | None => failure::PreviousBuild::NotFound,
    }
}

/// Where the verdict on a plan's move belongs: to the first machines, unless those passed and it takes that back.
fn stage(state: &State, it: &Move) -> Option<(inventory::Content, Stage)> {
    let content = state.records.content(&it.to)?.clone();
    let first = state.records.verdicts.get(&content, it.trial, Stage::First);
    let passed = first.is_some_and(|first| matches!(first.end, inventory::End::Passed));
    Some((content, if passed { Stage::Later } else { Stage::First }))
}

fn keep_verdict(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    record: &VerdictRecord<'_>,
    step: &mut Step,
) -> failure::Recorded {
    let found = move_of(plan, record.module).and_then(|it| Some((it, stage(state, it)?)));
    let place = plan.place();
    let (Some((it, (content, stage))), Some(place)) = (found, place) else {
        return failure::Recorded::Failed;
    };
    if state.records.verdicts.get(&content, it.trial, stage).is_some() {
        return failure::Recorded::KeptAlready;
    }
    let Ok(id) = RollbackId::new(record.rollback_id) else { return failure::Recorded::Failed };
    let word = match record.target.and_then(|target| target.build.parse().ok()) {
        Some(to) => RollbackWord::RollingBack { to },
        None => RollbackWord::NotPutBack { to: None, why: not_back_why(record.not_back) },
    };
    let rollback = inventory::Rollback { id, word };
    step.why = "the verdict is kept".into();
    step.put(inventory::Verdict {
        module: it.module.clone(),
        build: it.to.clone(),
        content,
        plan: plan.id.clone(),
        wave: inventory::Wave(u32::try_from(place.wave).unwrap_or(u32::MAX)),
        trial: it.trial,
        stage,
        end: match record.end {
            End::Failed => inventory::End::Failed { rollback },
            End::CannotTell => inventory::End::CannotTell { rollback },
        },
        why: gate_why(plan, record.why),
        at: now,
        machines: record.machines.iter().filter_map(|machine| machine.parse().ok()).collect(),
    });
    failure::Recorded::Kept
}

fn gate_why(plan: &Plan, text: &str) -> Why {
    let code = match &plan.state {
        PlanState::PuttingBack(put_back) => put_back.gate.ended().map(|ended| match &ended.end {
            gate_judge::End::Passed { .. } => "passes",
            gate_judge::End::Failed(gate_judge::FailedBy::Broken(wanting)) => wanting.reason.code(),
            gate_judge::End::Failed(gate_judge::FailedBy::Bound(cause))
            | gate_judge::End::CannotTell(cause) => cause.code(),
        }),
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::Judging { .. }
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => None,
    };
    Why { code: code.unwrap_or_default().into(), text: text.into() }
}

fn not_back_why(not_back: Option<&failure::NotBack>) -> Why {
    Why {
        code: not_back.map(|not_back| not_back.code().to_owned()).unwrap_or_default(),
        text: not_back.map(failure::NotBack::words).unwrap_or_default(),
    }
}

fn kept_verdict(state: &State, plan: &Plan, module: &str) -> Option<failure::KeptVerdict> {
    let it = move_of(plan, module)?;
    let (content, stage) = stage(state, it)?;
    let rollback = state.records.verdicts.get(&content, it.trial, stage)?.end.rollback()?;
    let target = |build: &BuildId| failure::Target {
        build: build.to_string(),
        commit: commits(state, it).0.unwrap_or_default(),
    };
    let (word, to) = match &rollback.word {
        RollbackWord::RollingBack { to } => (conditions::Rollback::RollingBack, Some(to)),
        RollbackWord::PutBack { to } => (conditions::Rollback::RolledBack, Some(to)),
        RollbackWord::NotPutBack { to, .. } => (conditions::Rollback::NotRolledBack, to.as_ref()),
        RollbackWord::Unchanged => (conditions::Rollback::Unchanged, None),
    };
    Some(failure::KeptVerdict {
        rollback: word,
        rollback_id: Some(rollback.id.to_string()),
        target: to.map(target),
        not_back: None,
    })
}

/// Every machine is sent all that goes back there in one declaration: an ordinary one, which lifts nothing that the machine
/// itself holds against it.
fn send(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    machines: &[&str],
    modules: &[failure::PutBack<'_>],
    step: &mut Step,
) -> failure::Sent {
    let back: BTreeMap<ModuleName, BuildId> = modules
        .iter()
        .filter_map(|it| Some((it.module.parse().ok()?, it.target.build.parse().ok()?)))
        .collect();
    let cause = Cause::Rollback { plan: plan.id.clone(), modules: back.keys().cloned().collect() };
    let mut accepted = BTreeMap::new();
    for machine in machines.iter().filter_map(|machine| machine.parse::<MachineName>().ok()) {
        let next = state.compose(&machine, &back);
        let declared =
            state.records.declared.get(&machine).map(|declared| declared.declaration.number);
        let Some(number) = next.as_ref().map(|next| next.number).or(declared) else { continue };
        accepted.insert(machine.to_string(), number.0);
        if let Some(declaration) = next {
            state.declare(step, now, declaration, cause.clone());
        }
    }
    if accepted.is_empty() { failure::Sent::Refused } else { failure::Sent::Accepted(accepted) }
}

/// What the awaited machines have reported. A newer plan of a module ends the waiting for it: what is on its machines is
/// that plan's concern from then on.
fn reported(state: &State, plan: &Plan, awaited: &[Awaited<'_>]) -> Option<Answer> {
    let newer = state
        .records
        .plans
        .values()
        .filter(|other| other.id > plan.id && other.state != PlanState::Queued);
    let overtaken =
        newer.into_iter().any(|other| awaited.iter().any(|it| move_of(other, it.module).is_some()));
    if overtaken {
        return Some(Answer::ReportsEnded);
    }
    let reports: Vec<_> = awaited.iter().filter_map(|it| reports::of(state, it)).collect();
    (!reports.is_empty()).then_some(Answer::Reports(reports))
}

fn set_rollback(state: &State, plan: &Plan, record: &failure::RollbackRecord<'_>, step: &mut Step) {
    step.why = "how the rollback ended is kept".into();
    let found = move_of(plan, record.module).and_then(|it| Some((it, stage(state, it)?)));
    let verdict = found
        .and_then(|(it, (content, stage))| state.records.verdicts.get(&content, it.trial, stage));
    let Some(verdict) = verdict else { return };
    let mut verdict = verdict.clone();
    if let inventory::End::Failed { rollback } | inventory::End::CannotTell { rollback } =
        &mut verdict.end
        && let RollbackWord::RollingBack { to } = rollback.word.clone()
    {
        rollback.word = match record.not_back {
            None => RollbackWord::PutBack { to },
            Some(not_back) => {
                RollbackWord::NotPutBack { to: Some(to), why: not_back_why(Some(not_back)) }
            }
        };
        step.put(verdict);
    }
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
