//! Whether a declaration that is offered is taken: one check, in one place.

use inventory::Declaration;
use names::MachineName;
use wire::RefusedDeclaration;

/// What a declaration is to a machine that holds another one, or none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Newer than what is held.
    New,
    /// What is held already.
    Held,
}

/// Weighs what is offered against what is held. An epoch that is over is told before a number, since whoever composed
/// under it cannot know which numbers were given since.
pub(crate) fn weigh(
    machine: &MachineName,
    held: Option<&Declaration>,
    offered: &Declaration,
) -> Result<Offer, RefusedDeclaration> {
    if offered.machine != *machine {
        return Err(RefusedDeclaration::OtherMachine { named: offered.machine.clone() });
    }
    let Some(held) = held else { return Ok(Offer::New) };
    if offered.epoch < held.epoch {
        let (held, offered) = (held.epoch, offered.epoch);
        return Err(RefusedDeclaration::OlderEpoch { held, offered });
    }
    if offered.number < held.number {
        let (held, offered) = (held.number, offered.number);
        return Err(RefusedDeclaration::OlderNumber { held, offered });
    }
    if offered.number > held.number {
        return Ok(Offer::New);
    }
    if offered == held {
        return Ok(Offer::Held);
    }
    Err(RefusedDeclaration::OtherContent { number: held.number })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use inventory::{DeclarationNumber, Epoch};
    use names::MachineName;

    use super::*;

    fn declaration(machine: &str, epoch: u64, number: u64, withdrawn: &[&str]) -> Declaration {
        let withdrawn = withdrawn.iter().map(|name| name.parse().unwrap());
        Declaration {
            machine: MachineName::new(machine).unwrap(),
            number: DeclarationNumber(number),
            epoch: Epoch(epoch),
            modules: BTreeMap::new(),
            withdrawn: BTreeSet::from_iter(withdrawn),
        }
    }

    #[test]
    fn what_is_taken_and_what_is_refused() {
        let held = declaration("box-1", 2, 7, &[]);
        let machine = held.machine.clone();
        let cases = [
            (declaration("box-1", 2, 8, &[]), "New"),
            (declaration("box-1", 3, 8, &["blog"]), "New"),
            (declaration("box-1", 2, 7, &[]), "Held"),
            (declaration("box-2", 2, 8, &[]), "it is for machine `box-2`"),
            (declaration("box-1", 2, 6, &[]), "number 7 is held here, newer than 6"),
            (declaration("box-1", 1, 8, &[]), "epoch 1 is over; 2 has been seen here"),
            (declaration("box-1", 1, 6, &[]), "epoch 1 is over; 2 has been seen here"),
            (declaration("box-1", 2, 7, &["blog"]), "number 7 is held here with other content"),
            (declaration("box-1", 3, 7, &[]), "number 7 is held here with other content"),
        ];
        for (offered, expected) in cases {
            let found = match weigh(&machine, Some(&held), &offered) {
                Ok(offer) => format!("{offer:?}"),
                Err(refused) => refused.to_string(),
            };
            assert_eq!(found, expected);
        }
        assert_eq!(weigh(&machine, None, &held), Ok(Offer::New));
        let elsewhere = declaration("box-2", 1, 1, &[]);
        assert!(weigh(&machine, None, &elsewhere).is_err());
    }
}
