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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use inventory::{Assignment, Epoch, Instances, Machine, Module, Release};
    use names::WordId;
    use wire::{
        BootId, EngineNonce, Hello,
        signed::{Pointer, PointerKind, Signature, Signed},
    };

    use super::*;
    use crate::{controller::Controller, record::Record, records::Records, state::Rules};

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
    }

    fn pointer() -> KeptPointer {
        let pointer = Pointer {
            id: ID.parse().unwrap(),
            account: Default::default(),
            module: "blog".parse().unwrap(),
            channel: Default::default(),
            build: ID.parse().unwrap(),
            promoted_at: at(0),
            kind: PointerKind::Promote,
        };
        let by = "OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS".parse().unwrap();
        let signed = Signed { by, payload: "{}".into(), signature: Signature([0; 64]) };
        KeptPointer { pointer, signed, by: "tester".into(), at: at(0) }
    }

    /// Three machines, of which box-1 and box-2 are assigned `blog`, and a pointer of it.
    fn controller() -> Controller {
        let machine = |name: &str| Machine {
            name: name.parse().unwrap(),
            labels: BTreeMap::new(),
            public_key: None,
            enrolled_at: at(0),
            roles: Default::default(),
            hold: None,
        };
        let to = "box-1,box-2".parse().unwrap();
        let module = Module {
            account: Default::default(),
            name: "blog".parse().unwrap(),
            registered: None,
            assignments: vec![Assignment { to, instances: Instances::default() }],
            release: Release::Automatic,
            hold: None,
            waves: Default::default(),
        };
        let machines = ["box-1", "box-2", "box-3"].map(|name| Record::from(machine(name)));
        let rest = [Record::from(module), Record::from(pointer())];
        let records = Records::load(machines.into_iter().chain(rest));
        Controller::restore(Rules::default(), Epoch(1), records, at(0), TimeDelta::zero())
    }

    fn says_hello(controller: &mut Controller, name: &str, now: DateTime<Utc>) {
        let hello = Hello {
            machine: name.parse().unwrap(),
            agent: "test".into(),
            boot: BootId("boot".into()),
            engine: EngineNonce("engine".into()),
            held: None,
            clock: now,
        };
        controller.hear_hello(now, hello).unwrap();
    }

    /// The machines that are handed the pointer now.
    fn handed(controller: &mut Controller, now: DateTime<Utc>) -> Vec<String> {
        let anchor = crate::Anchor { at: now, ..anchor() };
        let mut handed = Vec::new();
        while let Some(step) = controller.next(&anchor) {
            controller.landed(now, &step);
            controller.carried_out(now, &step);
            handed.extend(step.then.iter().filter_map(|effect| match effect {
                Effect::Hand(handing) => Some(handing.machine.to_string()),
                Effect::Send(_) | Effect::Tell(_) => None,
            }));
        }
        handed
    }

    fn anchor() -> crate::Anchor {
        let reading = crate::Reading { wall: at(0), since_boot_ms: 0, boot: "boot".into() };
        crate::Timeline::begin(None, &reading).0.anchor(&reading)
    }

    fn answers(controller: &mut Controller, name: &str, now: i64, reply: Option<WordReply>) {
        let id: WordId = ID.parse().unwrap();
        controller.handed(at(now), &name.parse().unwrap(), &id, reply);
    }

    #[test]
    fn each_machine_of_the_module_is_handed_it_when_it_says_hello_until_it_has_it() {
        let mut controller = controller();
        assert_eq!(handed(&mut controller, at(0)), [""; 0], "nobody was heard yet");
        for name in ["box-1", "box-3"] {
            says_hello(&mut controller, name, at(1));
        }
        assert_eq!(handed(&mut controller, at(1)), ["box-1"], "box-3 does not run it");
        says_hello(&mut controller, "box-1", at(2));
        assert_eq!(handed(&mut controller, at(2)), [""; 0], "it is on its way");
        answers(&mut controller, "box-1", 3, None);
        assert_eq!(handed(&mut controller, at(3)), [""; 0], "nobody hurries a machine");
        says_hello(&mut controller, "box-1", at(4));
        assert_eq!(handed(&mut controller, at(4)), ["box-1"], "it did not answer");
        answers(&mut controller, "box-1", 5, Some(WordReply::Taken { freed: Vec::new() }));
        for name in ["box-1", "box-2"] {
            says_hello(&mut controller, name, at(6));
        }
        assert_eq!(handed(&mut controller, at(6)), ["box-2"], "box-1 has it");
    }

    #[test]
    fn what_was_refused_is_handed_over_again_only_if_that_may_change() {
        for (because, again) in [
            (RefusedBecause::NotKept, true),
            (RefusedBecause::NotTrusted, true),
            (RefusedBecause::NotYet, true),
            (RefusedBecause::Older, false),
            (RefusedBecause::Signature, false),
            (RefusedBecause::Other, false),
        ] {
            let mut controller = controller();
            says_hello(&mut controller, "box-1", at(1));
            assert_eq!(handed(&mut controller, at(1)), ["box-1"]);
            let refused = WordReply::Refused { because, why: "so".into() };
            answers(&mut controller, "box-1", 2, Some(refused));
            says_hello(&mut controller, "box-1", at(30));
            assert_eq!(!handed(&mut controller, at(30)).is_empty(), again, "{because:?}");
        }
    }
}
