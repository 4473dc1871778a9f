//! A book over a journal by script, with what was seen of it so far.

use crate::operations::{Operation, Signed, Snap, Step, at};
use failure_book::{
    Answer, Begun, Book, BookId, Cleared, Failure, FailureBook, Freed, Grant, Granted, Kept,
    MemoryJournal, NotBegun, Recorded, Rules, Snapshot, Time, Unsaved,
};
use std::convert::Infallible;

/// A book, its journal, its clock, and those who look at it.
#[derive(Debug)]
pub(crate) struct World {
    book: Option<FailureBook<MemoryJournal>>,
    /// Counts the opens and the rotations, and makes each identity another.
    identities: u8,
    seconds: i64,
    /// Every snapshot that the book gave.
    pub(crate) snapshots: Vec<Snapshot>,
    /// Every grant that could have been signed for what the book published.
    pub(crate) published: Vec<Grant>,
}

/// What came of a step, in words that a model can have too.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) word: String,
    pub(crate) error: Option<Unsaved>,
}

impl World {
    /// A new book over an empty journal.
    pub(crate) fn new() -> Self {
        Self::over(MemoryJournal::new())
    }

    /// The book that a journal holds.
    pub(crate) fn over(journal: MemoryJournal) -> Self {
        let mut world = Self {
            book: None,
            identities: 0,
            seconds: 20,
            snapshots: Vec::new(),
            published: Vec::new(),
        };
        world.open(journal);
        world
    }

    pub(crate) fn book(&self) -> &Book {
        self.book.as_ref().unwrap().book()
    }

    pub(crate) fn journal(&self) -> &MemoryJournal {
        self.book.as_ref().unwrap().journal()
    }

    /// What is on the disk.
    pub(crate) fn on_disk(&self) -> Option<Kept> {
        failure_book::Journal::load(&mut self.journal().clone()).unwrap()
    }

    /// The identity that was drawn last, or would have been.
    pub(crate) fn last_identity(&self) -> String {
        BookId::from_random([self.identities; 16]).to_string()
    }

    pub(crate) fn now(&self) -> Time {
        at(self.seconds)
    }

    fn open(&mut self, journal: MemoryJournal) {
        self.identities += 1;
        let fresh = || Ok::<_, Infallible>(BookId::from_random([self.identities; 16]));
        let opened = FailureBook::open(journal, self.now(), fresh, Rules::default());
        self.book = Some(opened.unwrap());
    }

    /// What a grant is for, as it is to be handed in.
    pub(crate) fn sign(&self, signed: &Signed) -> Option<Grant> {
        let book = self.book().id();
        match signed {
            Signed::Published(_) if self.published.is_empty() => None,
            Signed::Published(index) => Some(index.get(&self.published).clone()),
            Signed::Fitting { build, host } => {
                let generation = self.book().restriction_generation(build, host)?;
                Some(Grant { build: build.clone(), host: host.clone(), book, generation })
            }
            Signed::MadeUp { build, host, generation } => {
                let generation = *generation;
                Some(Grant { build: build.clone(), host: host.clone(), book, generation })
            }
        }
    }

    pub(crate) fn snapshot(&self, snap: &Snap) -> Option<Snapshot> {
        match snap {
            Snap::Taken(index) if !self.snapshots.is_empty() => Some(*index.get(&self.snapshots)),
            Snap::Taken(_) | Snap::None => None,
        }
    }

    /// Makes one step; `None` when it was nothing.
    pub(crate) fn step(&mut self, step: &Step) -> Option<Outcome> {
        self.seconds += 1;
        let journal = self.book.as_mut().unwrap().journal_mut();
        journal.forget_faults();
        for (place, fault) in step.faults.iter().enumerate() {
            if let Some(fault) = *fault {
                journal.fault_after(place as u64, fault);
            }
        }
        let outcome = self.run(&step.operation);
        self.book.as_mut().unwrap().journal_mut().forget_faults();
        self.look();
        outcome
    }

    /// Makes one step on a disk without faults.
    pub(crate) fn well(&mut self, operation: Operation) -> Outcome {
        self.step(&Step { operation, faults: [None, None] }).unwrap()
    }

    /// Takes a snapshot, and notes what is published.
    fn look(&mut self) {
        self.snapshots.extend(self.book().snapshot());
        let all = crate::restrictions::everywhere();
        let published = all.filter_map(|(build, host)| {
            let generation = self.book().published_generation(&build, &host)?;
            Some(Grant { build, host, book: self.book().id(), generation })
        });
        // The last ones would only be the same again.
        let last = self.published.len().saturating_sub(50);
        let new: Vec<_> =
            published.filter(|grant| !self.published[last..].contains(grant)).collect();
        self.published.extend(new);
    }

    fn run(&mut self, operation: &Operation) -> Option<Outcome> {
        let now = self.now();
        let grant = operation.grant().map(|signed| self.sign(signed));
        let snapshot = operation.snap().and_then(|snap| self.snapshot(snap));
        if let Operation::Crash = operation {
            let journal = self.book.take().unwrap().into_journal();
            self.open(journal);
            return Some(Outcome { word: "opened".to_owned(), error: None });
        }
        if let Operation::RotateIdentity = operation {
            self.identities += 1;
        }
        let id = BookId::from_random([self.identities; 16]);
        let over = self.book.as_mut().unwrap();
        Some(match operation {
            Operation::Record { failure, .. } => {
                let failure = Failure { snapshot, ..failure.clone() };
                said(over.run(|book| book.record(failure, now)), recorded)
            }
            Operation::Mark { host, ran } => {
                said(over.run(|book| book.mark_hold_ran(host, ran.clone(), now)), nothing)
            }
            Operation::Begin { host, intent } => {
                said(over.run(|book| book.begin(host, intent.clone())), begun)
            }
            Operation::End { host, id } => said(over.run(|book| book.end(host, id)), nothing),
            Operation::ClearHoldRan { host } => {
                said(over.run(|book| book.clear_hold_ran(host)), cleared)
            }
            Operation::ClearHoldRanBefore { host, .. } => {
                said(over.run(|book| book.clear_hold_ran_before(host, snapshot)), cleared)
            }
            Operation::ClearHoldRanOnPointer { host, app, promoted_at } => {
                let clear =
                    |book: &mut Book| book.clear_hold_ran_on_pointer(host, app, *promoted_at);
                said(over.run(clear), cleared)
            }
            Operation::RetryHost { build, host } => {
                said(over.run(|book| book.retry_host(build, host)), cleared)
            }
            Operation::RetryHostAt { .. } => said(over.retry_host_at(&grant??), granted),
            Operation::ClearOnPointer { build, promoted_at } => {
                said(over.run(|book| book.clear_on_pointer(build, *promoted_at)), cleared)
            }
            Operation::Prune { installed } => said(over.run(|book| book.prune(installed)), nothing),
            Operation::Flush => said(over.run(Book::flush), nothing),
            Operation::SaveIfDirty => said(over.run(Book::save_if_dirty), nothing),
            Operation::RotateIdentity => said(over.run(|book| book.rotate_identity(id)), nothing),
            Operation::Crash => return None,
        })
    }
}

fn said<A>(answer: Answer<A>, word: impl FnOnce(A) -> String) -> Outcome {
    let Answer { value, error } = answer;
    Outcome { word: word(value), error }
}

fn nothing((): ()) -> String {
    String::new()
}

fn recorded(recorded: Recorded) -> String {
    match recorded {
        Recorded::Recorded => "recorded",
        Recorded::Merged => "merged",
        Recorded::Unchanged => "unchanged",
        Recorded::PreRetry => "pre_retry",
    }
    .to_owned()
}

fn cleared(cleared: Cleared) -> String {
    match cleared {
        Cleared::Yes => "cleared",
        Cleared::No => "not cleared",
    }
    .to_owned()
}

fn begun(begun: Begun) -> String {
    match begun {
        Begun::MayExecute => "may execute",
        Begun::No(NotBegun::IntentStands { .. }) => "intent stands",
        Begun::No(NotBegun::Exhausted) => "exhausted",
        Begun::No(NotBegun::NotLanded) => "not landed",
    }
    .to_owned()
}

fn granted(granted: Granted) -> String {
    match granted.freed {
        Freed::Nothing(_) => "freed nothing",
        Freed::Record => "freed of the record",
        Freed::Marker => "freed of the marker",
        Freed::RecordAndMarker => "freed of both",
    }
    .to_owned()
}
