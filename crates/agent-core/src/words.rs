//! Signed words that a machine is handed: whether each counts, and what is to be done with one that does.

use chrono::{DateTime, Utc};
use failure_book::{Generation, Grant};
use names::MachineName;
use wire::signed::{
    Accepted, Floors, Pointer, RetryGrant, Rotation, Signed, TrustedKeys, UsedGrants, Verified,
    verify,
};
use wire::{RefusedBecause, Word, WordReply};

use crate::failures;
use crate::kept::Kept;

/// What a word comes to.
#[derive(Debug)]
pub(crate) enum Weighed {
    /// It is answered so, and nothing follows.
    Answered(WordReply),
    /// This is to be kept first; then, for a pointer, the book is told of it.
    Keep(Box<Kept>, Option<Box<Pointer>>),
    /// It was kept before, and the book is told of it again: that may have been cut off.
    Point(Box<Pointer>),
    /// The book is asked whether it frees what it names.
    Free(Box<Verified<RetryGrant>>, Grant),
}

/// Whose words count: those of the machine's own file, as they were replaced since.
pub(crate) fn trusted(
    listed: &TrustedKeys,
    rotations: &[Signed],
    now: DateTime<Utc>,
) -> TrustedKeys {
    let mut trusted = listed.clone();
    for signed in rotations {
        // One that is signed by a key that is not listed any more replaces nothing.
        if let Ok(rotation) = verify::<Rotation>(signed, &trusted, now)
            && let Ok(rotated) = trusted.rotated(&rotation)
        {
            trusted = rotated;
        }
    }
    trusted
}

/// Weighs a word.
pub(crate) fn weigh(
    word: &Word,
    machine: &MachineName,
    listed: &TrustedKeys,
    kept: Option<&Kept>,
    now: DateTime<Utc>,
) -> Weighed {
    let Some(kept) = kept else {
        let why =
            "nothing was declared on this machine yet, so there is nothing that it could free";
        return refused(RefusedBecause::NotHeld, why);
    };
    let trusted = trusted(listed, &kept.rotations, now);
    let weighed = match word {
        Word::Grant(signed) => grant(signed, machine, &trusted, kept, now),
        Word::Pointer(signed) => pointer(signed, &trusted, kept, now),
        Word::Rotation(signed) => rotation(signed, &trusted, kept, now),
    };
    weighed.unwrap_or_else(Weighed::Answered)
}

fn pointer(
    signed: &Signed,
    trusted: &TrustedKeys,
    kept: &Kept,
    now: DateTime<Utc>,
) -> Result<Weighed, WordReply> {
    let pointer = verify::<Pointer>(signed, trusted, now);
    let pointer = pointer.map_err(|error| WordReply::refused(&error))?;
    let mut floors: Floors = kept.floors.clone();
    let accepted = floors.accept(&pointer).map_err(|error| WordReply::refused(&error))?;
    let pointer = Box::new(pointer.into_word());
    Ok(match accepted {
        Accepted::Repeat => Weighed::Point(pointer),
        Accepted::Newer => Weighed::Keep(Box::new(Kept { floors, ..kept.clone() }), Some(pointer)),
    })
}

fn rotation(
    signed: &Signed,
    trusted: &TrustedKeys,
    kept: &Kept,
    now: DateTime<Utc>,
) -> Result<Weighed, WordReply> {
    if kept.rotations.contains(signed) {
        return Ok(Weighed::Answered(WordReply::Taken { freed: Vec::new() }));
    }
    let rotation = verify::<Rotation>(signed, trusted, now);
    let rotation = rotation.map_err(|error| WordReply::refused(&error))?;
    trusted.rotated(&rotation).map_err(|error| WordReply::refused(&error))?;
    let mut rotations = kept.rotations.clone();
    rotations.push(signed.clone());
    Ok(Weighed::Keep(Box::new(Kept { rotations, ..kept.clone() }), None))
}

fn grant(
    signed: &Signed,
    machine: &MachineName,
    trusted: &TrustedKeys,
    kept: &Kept,
    now: DateTime<Utc>,
) -> Result<Weighed, WordReply> {
    let granted = verify::<RetryGrant>(signed, trusted, now);
    let granted = granted.map_err(|error| WordReply::refused(&error))?;
    if granted.machine != *machine {
        let why =
            format!("the grant is for the machine {}, and this is {machine}", granted.machine);
        return Err(WordReply::Refused { because: RefusedBecause::OtherMachine, why });
    }
    let mut used: UsedGrants = kept.used.clone();
    used.spend(&granted, now).map_err(|error| WordReply::refused(&error))?;
    let asked = || {
        Some(Grant {
            build: failure_book::Build::new(
                granted.account.as_str(),
                granted.module.as_str(),
                granted.build.as_str(),
            )
            .ok()?,
            host: failures::host(&granted.instance)?,
            book: granted.book.as_str().parse().ok()?,
            generation: Generation::new(granted.generation.0.get())?,
        })
    };
    match asked() {
        Some(asked) => Ok(Weighed::Free(Box::new(granted), asked)),
        None => {
            let why = "the failure book cannot carry the names that the grant has".to_owned();
            Err(WordReply::Refused { because: RefusedBecause::NotHeld, why })
        }
    }
}

fn refused(because: RefusedBecause, why: &str) -> Weighed {
    Weighed::Answered(WordReply::Refused { because, why: why.to_owned() })
}
