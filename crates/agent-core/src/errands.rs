//! What has to be on the disk before something goes on: asked for in order, landed one after the other.

use std::collections::{BTreeSet, VecDeque};

use failure_book::{
    Answer, Begun, Book, Change, Cleared, ExecutionId, Failure, HoldRan, Host, Intent, Landing,
    NotBegun, Recorded, Snapshot, Step, Then,
};

use names::BuildId;

use wire::signed::{RetryGrant, Verified};

use crate::applying::{Applied, Applying, WordStep, WordTicket};
use crate::failures::FoundBook;
use crate::placement::{Place, Placement};
use crate::time::Now;

/// One thing that has to land.
#[derive(Debug)]
pub(crate) enum Errand {
    /// An execution is announced, before anything of it runs.
    Begin { place: Place, host: Host, intent: Intent },
    /// A failure is recorded.
    Record { place: Place, failure: Box<Failure> },
    /// A hold ran on the instance and was not brought to its end.
    MarkHoldRan { host: Host, ran: HoldRan },
    /// What ran on the instance passed: what an earlier hold left there is disproved.
    Disprove { host: Host, snapshot: Option<Snapshot> },
    /// The outcome of the execution is written: its intent goes.
    End { place: Place, host: Host, id: ExecutionId },
    /// Something else is to be kept of what serves the instance.
    Keep { place: Place, serves: Serves },
    /// A signed word is applied.
    Apply(Applying),
    /// A grant is to be known as used.
    Spend(Box<Verified<RetryGrant>>),
    /// What the book owes is tried again.
    Save,
}

/// What is to be kept of what serves an instance.
#[derive(Debug)]
pub(crate) enum Serves {
    /// This is what serves it from now on, and what it has outlived.
    Good { good: Placement, outlived: BTreeSet<BuildId> },
    /// A build that was outlived runs there once more.
    Reopened { build: BuildId },
}

/// What an instance is told of its errands.
#[derive(Debug)]
pub(crate) enum Told {
    /// Whether the execution may run.
    Begun(Result<(), NotBegun>),
    /// Whether it is on the disk that what the execution does counts anew.
    Reopened(Result<(), String>),
    /// What the failure came to.
    Recorded(Recorded),
    /// The intent is gone: everything about the execution is written, or owed and written with whatever lands next.
    Ended,
    /// Whether what serves the instance is on the disk.
    GoodKept(Result<(), String>),
}

/// How far an errand comes by itself.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It is done, and nobody waits to be told.
    Quiet,
    /// It is done.
    Told(Place, Told),
    /// This has to land.
    Land(Change, Ticket),
    /// This is to be kept of what serves an instance.
    Keep(Place, Serves),
    /// A signed word was applied.
    Applied(Applied),
    /// This grant is to be kept as used.
    Spend(Box<Verified<RetryGrant>>),
}

/// What the landing of a change of the book is the answer to.
#[derive(Debug)]
pub(crate) enum Ticket {
    Begin(Place, Then<Begun>),
    Record(Place, Then<Recorded>),
    Cleared(Then<Cleared>),
    End(Place, Then<()>),
    Word(WordTicket),
    Quiet(Then<()>),
}

/// Whom the end of a landing is to be told.
#[derive(Debug)]
pub(crate) enum Ended {
    Nobody,
    Instance(Place, Told),
    Word(Applied),
}

impl Serves {
    /// What the instance is told when that was landed, or was not.
    pub(crate) fn told(&self, how: Result<(), String>) -> Told {
        match self {
            Self::Good { .. } => Told::GoodKept(how),
            Self::Reopened { .. } => Told::Reopened(how),
        }
    }
}

/// The errands that wait.
#[derive(Debug, Default)]
pub(crate) struct Errands(VecDeque<Errand>);

impl Errands {
    pub(crate) fn push(&mut self, errand: Errand) {
        self.0.push_back(errand);
    }

    /// Takes the next one up; `None` when none waits.
    pub(crate) fn take_up(&mut self, found: &mut FoundBook, now: Now) -> Option<Progress> {
        let errand = self.0.pop_front()?;
        Some(match (found, errand) {
            (_, Errand::Keep { place, serves }) => Progress::Keep(place, serves),
            (_, Errand::Spend(granted)) => Progress::Spend(granted),
            (FoundBook::Unreadable { why }, Errand::Apply(word)) => {
                Progress::Applied(word.without_book(why))
            }
            (FoundBook::Open(book), errand) => of_book(book, errand, now),
            // Nothing is begun under a book that cannot be read, so there is nothing to write of it either.
            (FoundBook::Unreadable { .. }, Errand::Begin { place, .. }) => {
                Progress::Told(place, Told::Begun(Err(NotBegun::NotLanded)))
            }
            (FoundBook::Unreadable { .. }, Errand::End { place, .. }) => {
                Progress::Told(place, Told::Ended)
            }
            (
                FoundBook::Unreadable { .. },
                Errand::Record { .. }
                | Errand::MarkHoldRan { .. }
                | Errand::Disprove { .. }
                | Errand::Save,
            ) => Progress::Quiet,
        })
    }
}

fn of_book(book: &mut Book, errand: Errand, now: Now) -> Progress {
    match errand {
        Errand::Begin { place, host, intent } => match book.begin(&host, intent) {
            Step::Done(answer) => Progress::Told(place, begun(answer)),
            Step::Land(change, then) => Progress::Land(change, Ticket::Begin(place, then)),
        },
        Errand::Record { place, failure } => match book.record(*failure, now.wall) {
            Step::Done(answer) => Progress::Told(place, Told::Recorded(answer.value)),
            Step::Land(change, then) => Progress::Land(change, Ticket::Record(place, then)),
        },
        Errand::MarkHoldRan { host, ran } => quiet(book.mark_hold_ran(&host, ran, now.wall)),
        Errand::Disprove { host, snapshot } => match book.clear_hold_ran_before(&host, snapshot) {
            Step::Done(_) => Progress::Quiet,
            Step::Land(change, then) => Progress::Land(change, Ticket::Cleared(then)),
        },
        Errand::End { place, host, id } => match book.end(&host, &id) {
            Step::Done(_) => Progress::Told(place, Told::Ended),
            Step::Land(change, then) => Progress::Land(change, Ticket::End(place, then)),
        },
        Errand::Keep { place, serves } => Progress::Keep(place, serves),
        Errand::Spend(granted) => Progress::Spend(granted),
        Errand::Apply(word) => match word.to(book) {
            WordStep::Applied(applied) => Progress::Applied(applied),
            WordStep::Land(change, ticket) => Progress::Land(change, Ticket::Word(ticket)),
        },
        Errand::Save => quiet(book.save_if_dirty()),
    }
}

fn quiet(step: Step<()>) -> Progress {
    match step {
        Step::Done(_) => Progress::Quiet,
        Step::Land(change, then) => Progress::Land(change, Ticket::Quiet(then)),
    }
}

fn begun(answer: Answer<Begun>) -> Told {
    Told::Begun(match answer.value {
        Begun::MayExecute => Ok(()),
        Begun::No(why) => Err(why),
    })
}

impl Ticket {
    /// Ends what was landed, and says whom that is to be told. Whatever did not land is owed, and memory has it.
    pub(crate) fn landed(self, book: &mut Book, how: Landing) -> Ended {
        match self {
            Self::Begin(place, then) => Ended::Instance(place, begun(book.landed(then, how))),
            Self::Record(place, then) => {
                Ended::Instance(place, Told::Recorded(book.landed(then, how).value))
            }
            Self::Word(ticket) => Ended::Word(ticket.landed(book, how)),
            Self::End(place, then) => {
                let Answer { value: (), error: _ } = book.landed(then, how);
                Ended::Instance(place, Told::Ended)
            }
            Self::Cleared(then) => {
                let Answer { .. } = book.landed(then, how);
                Ended::Nobody
            }
            Self::Quiet(then) => {
                let Answer { .. } = book.landed(then, how);
                Ended::Nobody
            }
        }
    }
}
