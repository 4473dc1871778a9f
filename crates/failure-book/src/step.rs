//! Steps: what an operation answers, now or when its change has landed.

use crate::change::Change;
use crate::entries::Intent;
use crate::names::Host;
use alloc::boxed::Box;

/// What an operation comes to.
#[derive(Debug)]
#[must_use = "a change has to land before its answer holds"]
pub enum Step<A> {
    /// There is nothing to land: this is the answer.
    Done(Answer<A>),
    /// The change has to land first. Then [`Book::landed`](crate::Book::landed) gives the answer
    /// for the ticket.
    Land(Change, Then<A>),
}

/// A ticket for the answer of an operation whose change is being landed.
///
/// To lose it is safe: the change then stays owed.
#[derive(Debug)]
#[must_use = "hand it to `Book::landed` with how the landing went"]
pub struct Then<A> {
    pub(crate) value: A,
    pub(crate) up_to: u64,
    pub(crate) seq: u64,
    pub(crate) unless_landed: Option<Box<Undo<A>>>,
}

/// What is taken back when a change did not land. Only an intent is.
#[derive(Debug)]
pub(crate) struct Undo<A> {
    pub(crate) host: Host,
    pub(crate) begun: Intent,
    pub(crate) before: Option<Intent>,
    pub(crate) value: A,
}

/// How the landing of a change went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// It is on the disk, all of it.
    Landed,
    /// It is not known to be.
    Failed,
}

/// The answer of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an answer may say that it is not on the disk"]
pub struct Answer<A> {
    /// What came of it. An error beside it does not undo it: memory is the truth, and the save is
    /// owed. Only a [`begin`](crate::Book::begin) is taken back.
    pub value: A,
    /// Why it is not on the disk, if it is not.
    pub error: Option<Unsaved>,
}

/// Why an answer is not on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsaved {
    /// The change is not known to have landed. It is owed, and tried again with the next.
    #[error("the change of the failure book is not known to be on the disk; it is tried again")]
    Failed,
    /// The book is exhausted: there are no numbers left to order its events by, so nothing of it
    /// is saved or published any more.
    #[error("the failure book has no numbers left, so nothing of it is saved any more")]
    Exhausted,
}
