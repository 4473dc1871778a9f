//! Declarations that their machines do not hold yet are sent again, with a growing pause, until they are taken.

use chrono::{DateTime, TimeDelta, Utc};
use inventory::DeclarationNumber;

use crate::{
    sighting::{Delivery, Sighting},
    state::State,
    step::{Effect, Step},
};

/// The longest pause between two tries; the first is a second and each next one twice as long.
const PAUSE_MAX_S: i64 = 30;

/// How many declarations go out in one step.
const SENDS_MAX: usize = 256;

/// Sends what is due. A machine that is not heard is left alone: it says hello when it is back, and is answered with it.
pub(crate) fn deliver(state: &State, now: DateTime<Utc>) -> Option<Step> {
    let declared = state.records.declared.iter();
    let due = declared.filter(|(machine, declared)| {
        let sighting = state.sightings.get(*machine);
        sighting.is_some_and(|sighting| is_due(sighting, declared.declaration.number, now))
    });
    let sends = due
        .take(SENDS_MAX)
        .map(|(_, declared)| Effect::Send(Box::new(declared.declaration.clone())));
    let step =
        Step { why: "declarations are sent again".into(), land: Vec::new(), then: sends.collect() };
    (!step.then.is_empty()).then_some(step)
}

fn is_due(sighting: &Sighting, declared: DeclarationNumber, now: DateTime<Utc>) -> bool {
    if !sighting.is_heard(now) {
        return false;
    }
    match &sighting.delivery {
        Delivery::NotTried => true,
        Delivery::Taken { number } => *number != declared,
        Delivery::Trying { number, at, tries } => *number != declared || now - *at >= pause(*tries),
        Delivery::Refused { number, at, .. } => {
            *number != declared || now - *at >= TimeDelta::seconds(PAUSE_MAX_S)
        }
    }
}

fn pause(tries: u32) -> TimeDelta {
    let doubled = 1_i64.checked_shl(tries.saturating_sub(1)).unwrap_or(PAUSE_MAX_S);
    TimeDelta::seconds(doubled.clamp(1, PAUSE_MAX_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_half_a_minute() {
        let pauses: Vec<_> =
            [0, 1, 2, 3, 4, 5, 6, 100].map(|tries| pause(tries).num_seconds()).into();
        assert_eq!(pauses, [1, 1, 2, 4, 8, 16, 30, 30]);
    }
}
