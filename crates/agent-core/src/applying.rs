//! Words that count, applied to the failure book: what each frees, answered once that is on the disk.

use failure_book::{
    Answer, Book, Build, Freed as FreedByBook, Grant, Granted, Host, Landing, NotFreed, Step, Then,
    Time,
};
use names::{InstanceName, ModuleName};
use wire::signed::{Pointer, RetryGrant, Verified};
use wire::{Freed, Lifted, RefusedBecause, WordReply};

use crate::draws::AskId;
use crate::failures::is_lifted;

/// A word that is to be applied.
#[derive(Debug)]
pub(crate) enum Applying {
    /// A grant, and what it is to the book.
    Grant { ask: AskId, granted: Box<Verified<RetryGrant>>, asked: Grant },
    /// A pointer, and the instances whose good build it names.
    Pointer { ask: AskId, pointer: Box<Pointer>, instances: Vec<InstanceName> },
}

/// A word that was applied, with its answer.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) ask: AskId,
    /// The module whose instances may be free now.
    pub(crate) module: ModuleName,
    pub(crate) reply: WordReply,
    /// The grant, if it is used up.
    pub(crate) spent: Option<Box<Verified<RetryGrant>>>,
}

/// What the landing of an applied word answers.
#[derive(Debug)]
pub(crate) enum WordTicket {
    Granted { ask: AskId, granted: Box<Verified<RetryGrant>>, then: Then<Granted> },
    Pointed { ask: AskId, pointer: Box<Pointer>, freed: Vec<Freed>, then: Then<()> },
}

/// How far a word comes by itself.
#[derive(Debug)]
pub(crate) enum WordStep {
    Applied(Applied),
    Land(failure_book::Change, WordTicket),
}

impl Applying {
    /// Applies it to a book.
    pub(crate) fn to(self, book: &mut Book) -> WordStep {
        match self {
            Self::Grant { ask, granted, asked } => match book.retry_host_at(&asked) {
                Step::Done(answer) => WordStep::Applied(of_grant(ask, granted, &answer)),
                Step::Land(change, then) => {
                    WordStep::Land(change, WordTicket::Granted { ask, granted, then })
                }
            },
            Self::Pointer { ask, pointer, instances } => {
                let freed = point(book, &pointer, &instances);
                match book.save_if_dirty() {
                    Step::Done(_) => WordStep::Applied(of_pointer(ask, &pointer, freed, Ok(()))),
                    Step::Land(change, then) => {
                        WordStep::Land(change, WordTicket::Pointed { ask, pointer, freed, then })
                    }
                }
            }
        }
    }

    /// Answers it where there is no book that it could be applied to.
    pub(crate) fn without_book(self, why: &str) -> Applied {
        let (ask, module) = match self {
            Self::Grant { ask, granted, .. } => (ask, granted.module.clone()),
            Self::Pointer { ask, pointer, .. } => (ask, pointer.module),
        };
        let why = format!("the failure book of this machine cannot be read: {why}");
        let reply = WordReply::Refused { because: RefusedBecause::NotKept, why };
        Applied { ask, module, reply, spent: None }
    }
}

impl WordTicket {
    /// Ends what was landed.
    pub(crate) fn landed(self, book: &mut Book, how: Landing) -> Applied {
        match self {
            Self::Granted { ask, granted, then } => {
                let answer = book.landed(then, how);
                of_grant(ask, granted, &answer)
            }
            Self::Pointed { ask, pointer, freed, then } => {
                let Answer { value: (), error } = book.landed(then, how);
                of_pointer(ask, &pointer, freed, error.map_or(Ok(()), Err))
            }
        }
    }
}

/// Tells the book of a pointer; answers what that freed.
fn point(book: &mut Book, pointer: &Pointer, instances: &[InstanceName]) -> Vec<Freed> {
    let (account, module) = (pointer.account.as_str(), pointer.module.as_str());
    let Ok(build) = Build::new(account, module, pointer.build.as_str()) else { return Vec::new() };
    let stamp: Option<Time> = Some(pointer.promoted_at);
    let freed = |build: &Build, instance: Option<&InstanceName>, lifted| {
        Some(Freed {
            account: pointer.account.clone(),
            module: pointer.module.clone(),
            build: build.name().parse().ok()?,
            instance: instance.cloned(),
            lifted,
        })
    };
    let app = build.app();
    let mut all = Vec::new();
    let stood = book.lookup(&build).is_some();
    // What each owes is in the one change that is landed in the end.
    drop(book.clear_on_pointer(&build, stamp));
    if stood && book.lookup(&build).is_none() {
        all.extend(freed(&build, None, Lifted::Record));
    }
    for instance in instances {
        let Ok(host) = Host::new(instance.as_str()) else { continue };
        let marked = book.hold_ran_on(&host).map(|marker| marker.build.clone());
        drop(book.clear_hold_ran_on_pointer(&host, &app, stamp));
        if let Some(by) = marked.filter(|_| book.hold_ran_on(&host).is_none()) {
            all.extend(freed(&by, Some(instance), Lifted::Marker));
        }
        let lifted = book.for_app(&app).filter(|record| {
            record.build != build
                && record.holds_down(&host)
                && is_lifted(record, Some(pointer.promoted_at))
        });
        all.extend(lifted.filter_map(|one| freed(&one.build, Some(instance), Lifted::HoldDown)));
    }
    all
}

fn of_pointer(
    ask: AskId,
    pointer: &Pointer,
    freed: Vec<Freed>,
    landed: Result<(), failure_book::Unsaved>,
) -> Applied {
    let reply = match landed {
        Ok(()) => WordReply::Taken { freed },
        Err(error) => not_kept(&error.to_string()),
    };
    Applied { ask, module: pointer.module.clone(), reply, spent: None }
}

fn of_grant(ask: AskId, granted: Box<Verified<RetryGrant>>, answer: &Answer<Granted>) -> Applied {
    let module = granted.module.clone();
    let lifted = match answer.value.freed {
        FreedByBook::Nothing(why) => {
            let because = match why {
                NotFreed::SaveOwed => RefusedBecause::NotKept,
                NotFreed::OtherBook => RefusedBecause::OtherBook,
                NotFreed::NotRestricted => RefusedBecause::NotHeld,
                NotFreed::OtherGeneration { .. } => RefusedBecause::OtherGeneration,
            };
            let reply = WordReply::Refused { because, why: why.to_string() };
            return Applied { ask, module, reply, spent: None };
        }
        FreedByBook::Record => Lifted::Record,
        FreedByBook::Marker => Lifted::Marker,
        FreedByBook::RecordAndMarker => Lifted::RecordAndMarker,
    };
    let reply = match &answer.error {
        Some(error) => not_kept(&error.to_string()),
        None => WordReply::Taken {
            freed: vec![Freed {
                account: granted.account.clone(),
                module: module.clone(),
                build: granted.build.clone(),
                instance: Some(granted.instance.clone()),
                lifted,
            }],
        },
    };
    Applied { ask, module, reply, spent: Some(granted) }
}

fn not_kept(why: &str) -> WordReply {
    WordReply::Refused { because: RefusedBecause::NotKept, why: why.to_owned() }
}
