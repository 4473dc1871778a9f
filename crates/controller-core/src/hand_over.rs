//! Signed pointers go to every machine of their module: to those that are heard at once, to the others when they say hello.
//!
//! Who has one already is not stored: a pointer can be taken twice, so after a restart each machine is handed it once more.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use names::{MachineName, ModuleName};
use wire::{RefusedBecause, WordReply};

use crate::{
    record::KeptPointer,
    sighting::Handed,
    state::State,
    step::{Effect, Handing, Step},
};

/// A step is full with so many; the last machine is handed all of its own.
const HANDINGS_MIN: usize = 256;

/// How long a machine has to answer before it is handed the same again, at its next hello.
const ANSWER_WITHIN: TimeDelta = TimeDelta::seconds(10);

/// Hands these machines what they have not heard, and takes them out of the set.
pub(crate) fn hand_over(
    state: &State,
    now: DateTime<Utc>,
    machines: &mut BTreeSet<MachineName>,
) -> Option<Step> {
    let mut step = Step::new("pointers are handed over");
    while step.then.len() < HANDINGS_MIN
        && let Some(machine) = machines.pop_first()
    {
        let due = state.records.pointers.values().filter(|kept| is_due(state, now, &machine, kept));
        step.then.extend(due.map(|kept| {
            let (machine, id) = (machine.clone(), kept.pointer.id.clone());
            Effect::Hand(Box::new(Handing { machine, id, pointer: kept.signed.clone() }))
        }));
    }
    (!step.then.is_empty()).then_some(step)
}

fn is_due(state: &State, now: DateTime<Utc>, machine: &MachineName, kept: &KeptPointer) -> bool {
    let Some(sighting) = state.sightings.get(machine).filter(|it| it.is_heard(now)) else {
        return false;
    };
    let open = match sighting.pointers.get(&kept.pointer.id) {
        None => true,
        Some(Handed::At(at)) => now - *at >= ANSWER_WITHIN,
        Some(Handed::Answered(WordReply::Taken { .. })) => false,
        Some(Handed::Answered(WordReply::Refused { because, .. })) => may_change(*because),
    };
    open && is_of(state, &kept.pointer.module, machine)
}

/// Whether a module concerns a machine: it is assigned there, or still declared.
pub(crate) fn is_of(state: &State, module: &ModuleName, machine: &MachineName) -> bool {
    state.is_assigned(module, machine) || state.records.declared_build(machine, module).is_some()
}

/// Whether what was refused may be taken later: its disk takes writes again, its clock is set, its owner lists the key.
fn may_change(because: RefusedBecause) -> bool {
    match because {
        RefusedBecause::NotKept | RefusedBecause::NotTrusted | RefusedBecause::NotYet => true,
        RefusedBecause::Signature
        | RefusedBecause::Unreadable
        | RefusedBecause::Expired
        | RefusedBecause::OtherMachine
        | RefusedBecause::Used
        | RefusedBecause::Older
        | RefusedBecause::OtherContent
        | RefusedBecause::OtherBook
        | RefusedBecause::OtherGeneration
        | RefusedBecause::NotHeld
        | RefusedBecause::Other => false,
    }
}
