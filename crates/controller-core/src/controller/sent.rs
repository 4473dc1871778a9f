//! What was sent to machines, and what they answered.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use inventory::DeclarationNumber;
use names::{MachineName, WordId};
use wire::{DeclareReply, WordReply};

use super::Controller;
use crate::{
    sighting::{Delivery, Handed},
    step::{Effect, Handing, Step},
};

impl Controller {
    /// The effects of a step are on their way.
    pub fn carried_out(&mut self, now: DateTime<Utc>, step: &Step) {
        for effect in &step.then {
            match effect {
                Effect::Tell(_) => self.told.number = self.state.records.last_event(),
                Effect::Hand(handing) => {
                    let Handing { machine, id, .. } = &**handing;
                    let sighting = self.state.sightings.entry(machine.clone()).or_default();
                    let kept = self.state.records.pointers.values();
                    let kept: BTreeSet<_> = kept.map(|kept| &kept.pointer.id).collect();
                    sighting.pointers.retain(|id, _| kept.contains(id));
                    sighting.pointers.insert(id.clone(), Handed::At(now));
                }
                Effect::Send(declaration) => {
                    let sighting =
                        self.state.sightings.entry(declaration.machine.clone()).or_default();
                    let number = declaration.number;
                    let tries = match &sighting.delivery {
                        Delivery::Trying { number: before, tries, .. } if *before == number => {
                            tries.saturating_add(1)
                        }
                        Delivery::Trying { .. }
                        | Delivery::NotTried
                        | Delivery::Taken { .. }
                        | Delivery::Refused { .. } => 1,
                    };
                    sighting.delivery = Delivery::Trying { number, at: now, tries };
                }
            }
        }
    }

    /// A machine answered a declaration that was sent, or did not (`None`).
    pub fn delivered(
        &mut self,
        now: DateTime<Utc>,
        machine: &MachineName,
        number: DeclarationNumber,
        reply: Option<DeclareReply>,
    ) {
        let Some(sighting) = self.state.sightings.get_mut(machine) else { return };
        match reply {
            // The pause before the next try began when it was sent.
            None => {}
            Some(DeclareReply::Taken) => {
                sighting.heard = Some(now);
                sighting.delivery = Delivery::Taken { number };
            }
            Some(DeclareReply::Refused(why)) => {
                sighting.heard = Some(now);
                sighting.delivery = Delivery::Refused { number, why, at: now };
            }
        }
    }

    /// A machine answered a pointer that it was handed, or did not (`None`): then it is handed it again at its next hello.
    pub fn handed(
        &mut self,
        now: DateTime<Utc>,
        machine: &MachineName,
        id: &WordId,
        reply: Option<WordReply>,
    ) {
        let Some(sighting) = self.state.sightings.get_mut(machine) else { return };
        match reply {
            None => drop(sighting.pointers.remove(id)),
            Some(reply) => {
                sighting.heard = Some(now);
                sighting.pointers.insert(id.clone(), Handed::Answered(reply));
            }
        }
    }
}
