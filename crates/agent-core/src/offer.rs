//! Whether a declaration that is offered is taken: one check, in one place.

use inventory::Declaration;
use names::MachineName;
use wire::{Held, RefusedDeclaration};

/// What a declaration is to a machine that holds another one, or none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Newer than what is held.
    New,
    /// What is held already.
    Held,
}

/// Weighs what is offered against what is held, and against the newest that was ever seen: what is held may have been lost,
/// or been put back to an older one, and even then nothing older than that is taken. An epoch that is over is told before a
/// number, since whoever composed under it cannot know which numbers were given since.
pub(crate) fn weigh(
    machine: &MachineName,
    held: Option<&Held>,
    seen: Option<&Held>,
    offered: &Declaration,
) -> Result<Offer, RefusedDeclaration> {
    if offered.machine != *machine {
        return Err(RefusedDeclaration::OtherMachine { named: offered.machine.clone() });
    }
    let Some(newest) = held.into_iter().chain(seen).max_by_key(|one| one.number) else {
        return Ok(Offer::New);
    };
    if offered.epoch < newest.epoch {
        let (held, offered) = (newest.epoch, offered.epoch);
        return Err(RefusedDeclaration::OlderEpoch { held, offered });
    }
    if offered.number < newest.number {
        let (held, offered) = (newest.number, offered.number);
        return Err(RefusedDeclaration::OlderNumber { held, offered });
    }
    if offered.number > newest.number {
        return Ok(Offer::New);
    }
    if offered.digest() != newest.digest {
        return Err(RefusedDeclaration::OtherContent { number: newest.number });
    }
    let is_held = held.is_some_and(|held| held.number == offered.number);
    Ok(if is_held { Offer::Held } else { Offer::New })
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
            composed_at: None,
            modules: BTreeMap::new(),
            withdrawn: BTreeSet::from_iter(withdrawn),
        }
    }

    fn held_of(declaration: &Declaration) -> Held {
        let Declaration { number, epoch, .. } = *declaration;
        Held { number, epoch, digest: declaration.digest() }
    }

    fn told(weighed: Result<Offer, RefusedDeclaration>) -> String {
        match weighed {
            Ok(offer) => format!("{offer:?}"),
            Err(refused) => refused.to_string(),
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
            let weighed = weigh(&machine, Some(&held_of(&held)), None, &offered);
            assert_eq!(told(weighed), expected);
        }
        assert_eq!(weigh(&machine, None, None, &held), Ok(Offer::New));
        let elsewhere = declaration("box-2", 1, 1, &[]);
        assert!(weigh(&machine, None, None, &elsewhere).is_err());
    }

    #[test]
    fn what_was_seen_counts_also_when_what_was_held_is_lost_or_put_back() {
        let seen = declaration("box-1", 2, 7, &[]);
        let machine = seen.machine.clone();
        let put_back = held_of(&declaration("box-1", 2, 5, &[]));
        let newer = held_of(&declaration("box-1", 2, 8, &[]));
        let cases = [
            (None, declaration("box-1", 2, 7, &[]), "New"),
            (None, declaration("box-1", 2, 8, &[]), "New"),
            (None, declaration("box-1", 2, 6, &[]), "number 7 is held here, newer than 6"),
            (None, declaration("box-1", 1, 8, &[]), "epoch 1 is over; 2 has been seen here"),
            (
                None,
                declaration("box-1", 2, 7, &["blog"]),
                "number 7 is held here with other content",
            ),
            (Some(&put_back), declaration("box-1", 2, 7, &[]), "New"),
            (
                Some(&put_back),
                declaration("box-1", 2, 6, &[]),
                "number 7 is held here, newer than 6",
            ),
            (Some(&newer), declaration("box-1", 2, 8, &[]), "Held"),
            (Some(&newer), declaration("box-1", 2, 7, &[]), "number 8 is held here, newer than 7"),
        ];
        for (held, offered, expected) in cases {
            let weighed = weigh(&machine, held, Some(&held_of(&seen)), &offered);
            assert_eq!(told(weighed), expected, "{held:?} {offered:?}");
        }
    }
}
