//! The verdict of a gate that did not pass, with the rollback that is decided with it.

use chrono::{DateTime, Utc};
use conditions::End;
use gate_judge::{End as GateEnd, FailedBy, Gate};
use inventory::{Content, RollbackWord, Stage, Verdict, Wave, Why};
use names::{BuildId, RollbackId};

use super::{PutBack, failed::commits, look_up::move_of};
use crate::{
    failure::{KeptVerdict, NotBack, Recorded, RollbackRecord, Target, VerdictRecord},
    plan::{Move, Plan},
    state::State,
    step::Step,
};

/// Where the verdict on a plan's move belongs: to the first machines, unless those passed and it takes that back.
fn stage(state: &State, it: &Move) -> Option<(Content, Stage)> {
    let content = state.records.content(&it.to)?.clone();
    let first = state.records.verdicts.get(&content, it.trial, Stage::First);
    let passed = first.is_some_and(|first| matches!(first.end, inventory::End::Passed));
    Some((content, if passed { Stage::Later } else { Stage::First }))
}

/// Keeps the verdict, unless one is kept for this trial already.
pub(super) fn keep_verdict(
    state: &State,
    now: DateTime<Utc>,
    plan: &Plan,
    put_back: &PutBack,
    record: &VerdictRecord<'_>,
    step: &mut Step,
) -> Recorded {
    let found = move_of(plan, record.module).and_then(|it| Some((it, stage(state, it)?)));
    let Some((it, (content, stage))) = found else { return Recorded::Failed };
    if state.records.verdicts.get(&content, it.trial, stage).is_some() {
        return Recorded::KeptAlready;
    }
    let Ok(id) = RollbackId::new(record.rollback_id) else { return Recorded::Failed };
    let word = match record.target.and_then(|target| target.build.parse().ok()) {
        Some(to) => RollbackWord::RollingBack { to },
        None => RollbackWord::NotPutBack { to: None, why: not_back_why(record.not_back) },
    };
    let rollback = inventory::Rollback { id, word };
    step.why = "the verdict is kept".into();
    step.put(Verdict {
        module: it.module.clone(),
        build: it.to.clone(),
        content,
        plan: plan.id.clone(),
        wave: Wave(u32::try_from(put_back.place.wave).unwrap_or(u32::MAX)),
        trial: it.trial,
        stage,
        end: match record.end {
            End::Failed => inventory::End::Failed { rollback },
            End::CannotTell => inventory::End::CannotTell { rollback },
        },
        why: gate_why(&put_back.gate, record.why),
        at: now,
        machines: record.machines.iter().filter_map(|machine| machine.parse().ok()).collect(),
    });
    Recorded::Kept
}

fn gate_why(gate: &Gate, text: &str) -> Why {
    let code = gate.ended().map(|ended| match &ended.end {
        GateEnd::Passed { .. } => "passes",
        GateEnd::Failed(FailedBy::Broken(wanting)) => wanting.reason.code(),
        GateEnd::Failed(FailedBy::Bound(cause)) | GateEnd::CannotTell(cause) => cause.code(),
    });
    Why { code: code.unwrap_or_default().into(), text: text.into() }
}

fn not_back_why(not_back: Option<&NotBack>) -> Why {
    Why {
        code: not_back.map(|not_back| not_back.code().to_owned()).unwrap_or_default(),
        text: not_back.map(NotBack::words).unwrap_or_default(),
    }
}

/// The verdict that is kept for this trial.
pub(super) fn kept_verdict(state: &State, plan: &Plan, module: &str) -> Option<KeptVerdict> {
    let it = move_of(plan, module)?;
    let (content, stage) = stage(state, it)?;
    let rollback = state.records.verdicts.get(&content, it.trial, stage)?.end.rollback()?;
    let target = |build: &BuildId| Target {
        build: build.to_string(),
        commit: commits(state, it).0.unwrap_or_default(),
    };
    let (word, to) = match &rollback.word {
        RollbackWord::RollingBack { to } => (conditions::Rollback::RollingBack, Some(to)),
        RollbackWord::PutBack { to } => (conditions::Rollback::RolledBack, Some(to)),
        RollbackWord::NotPutBack { to, .. } => (conditions::Rollback::NotRolledBack, to.as_ref()),
        RollbackWord::Unchanged => (conditions::Rollback::Unchanged, None),
    };
    Some(KeptVerdict {
        rollback: word,
        rollback_id: Some(rollback.id.to_string()),
        target: to.map(target),
        not_back: None,
    })
}

/// Keeps how the rollback ended: a word that moves on once.
pub(super) fn set_rollback(
    state: &State,
    plan: &Plan,
    record: &RollbackRecord<'_>,
    step: &mut Step,
) {
    step.why = "how the rollback ended is kept".into();
    let found = move_of(plan, record.module).and_then(|it| Some((it, stage(state, it)?)));
    let verdict = found
        .and_then(|(it, (content, stage))| state.records.verdicts.get(&content, it.trial, stage));
    let Some(verdict) = verdict else { return };
    let mut verdict = verdict.clone();
    if let inventory::End::Failed { rollback } | inventory::End::CannotTell { rollback } =
        &mut verdict.end
        && let Some(word) = next_word(&rollback.word, record.not_back)
    {
        rollback.word = word;
        step.put(verdict);
    }
}

/// The word that follows: how the rollback ended, or that what was not put back at first was freed and is back. None: there
/// is nothing more to say.
fn next_word(before: &RollbackWord, not_back: Option<&NotBack>) -> Option<RollbackWord> {
    match (before, not_back) {
        (
            RollbackWord::RollingBack { to } | RollbackWord::NotPutBack { to: Some(to), .. },
            None,
        ) => Some(RollbackWord::PutBack { to: to.clone() }),
        (RollbackWord::RollingBack { to }, Some(_)) => {
            let (to, why) = (Some(to.clone()), not_back_why(not_back));
            Some(RollbackWord::NotPutBack { to, why })
        }
        (
            RollbackWord::NotPutBack { .. }
            | RollbackWord::PutBack { .. }
            | RollbackWord::Unchanged,
            _,
        ) => None,
    }
}
