//! A book with its journal: for whoever wants the answer in one call.

use crate::book::{Book, Freed, Grant, Granted, NotFreed};
use crate::entries::Time;
use crate::identity::BookId;
use crate::journal::Journal;
use crate::rules::Rules;
use crate::step::{Answer, Landing, Step};
use core::error::Error;

/// A failure book over a journal.
///
/// Questions go to the [`book`](FailureBook::book), operations to [`run`](FailureBook::run):
///
/// ```
/// # use failure_book::{Book, FailureBook, Journal};
/// # fn one<J: Journal>(mut book: FailureBook<J>) {
/// let answer = book.run(Book::save_if_dirty);
/// # }
/// ```
#[derive(Debug)]
pub struct FailureBook<J: Journal> {
    book: Book,
    journal: J,
    failure: Option<J::Error>,
}

/// Why a book could not be opened. The journal is as it was.
#[derive(Debug, thiserror::Error)]
pub enum OpenError<J: Error + 'static, I: Error + 'static> {
    /// The journal cannot be read. It is never taken for an empty one.
    #[error("the failure book cannot be read")]
    Journal(#[source] J),
    /// The book needs an identity, and none could be drawn.
    #[error("no identity could be drawn for a new failure book")]
    Identity(#[source] I),
}

impl<J: Journal> FailureBook<J> {
    /// Opens the book that a journal holds. Nothing is written: what is owed after that is to be
    /// landed before anything is done, with [`Book::save_if_dirty`].
    ///
    /// `fresh` draws an identity from the operating system's secure source. It is asked only when
    /// the book has none yet.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub fn open<I: Error + 'static>(
        mut journal: J,
        now: Time,
        fresh: impl FnOnce() -> Result<BookId, I>,
        rules: Rules,
    ) -> Result<Self, OpenError<J::Error, I>> {
        let kept = journal.load().map_err(OpenError::Journal)?;
        let book = Book::open(kept, now, fresh, rules).map_err(OpenError::Identity)?;
        Ok(Self { book, journal, failure: None })
    }

    /// The book, for questions.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Runs an operation, and lands its change before it answers.
    pub fn run<A>(&mut self, operation: impl FnOnce(&mut Book) -> Step<A>) -> Answer<A> {
        match operation(&mut self.book) {
            Step::Done(answer) => answer,
            Step::Land(change, then) => {
                let landed = self.journal.land(&change);
                let how = if landed.is_ok() { Landing::Landed } else { Landing::Failed };
                self.failure = landed.err();
                self.book.landed(then, how)
            }
        }
    }

    /// Frees what a signed grant names, if it is still what the grant was signed for. An owed save
    /// is tried first; while it fails, the grant frees nothing, and can be handed in again.
    pub fn retry_host_at(&mut self, grant: &Grant) -> Answer<Granted> {
        if self.book.save_owed() {
            let generation = self.book.restriction_generation(&grant.build, &grant.host);
            let saved = self.run(Book::save_if_dirty);
            if saved.error.is_some() {
                let freed = Freed::Nothing(NotFreed::SaveOwed);
                return Answer { value: Granted { freed, generation }, error: saved.error };
            }
        }
        self.run(|book| book.retry_host_at(grant))
    }

    /// What the journal answered when a change did not land; `None` once one has.
    pub fn failure(&self) -> Option<&J::Error> {
        self.failure.as_ref()
    }

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The journal, to script it in a test. Whoever writes to it makes the book wrong.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// Lets the book go, with all that did not land: what a crash does.
    pub fn into_journal(self) -> J {
        self.journal
    }
}
