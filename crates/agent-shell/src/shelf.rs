//! The failure book of the machine: handed over when the agent starts, and its journal, written before anything follows.

use std::error::Error;

use agent_core::FoundBook;
use failure_book::{Book, BookId, Change, Journal, Rules, Time};

use crate::work::words;

/// The failure book of a machine, as whoever starts its agent has found it.
#[derive(Debug)]
pub enum KeptBook<J> {
    /// It was opened. What the open owes is landed by the agent, before it does anything.
    Open {
        /// The book.
        book: Box<Book>,
        /// Where it is kept, and where nobody else writes.
        journal: J,
    },
    /// It cannot be read: the agent looks after what runs, and tries nothing.
    Unreadable {
        /// Why, in words, with what to do.
        why: String,
    },
}

impl<J: Journal> KeptBook<J> {
    /// Reads the book of a journal. One that cannot be read is said to be so; it is never taken for an empty one.
    ///
    /// `fresh` draws an identity from the operating system's secure source; it is asked only when the book has none.
    pub fn load<I: Error + 'static>(
        mut journal: J,
        now: Time,
        fresh: impl FnOnce() -> Result<BookId, I>,
    ) -> Self {
        let kept = match journal.load() {
            Ok(kept) => kept,
            Err(error) => return Self::Unreadable { why: words(&error) },
        };
        match Book::open(kept, now, fresh, Rules::default()) {
            Ok(book) => Self::Open { book: Box::new(book), journal },
            Err(error) => Self::Unreadable {
                why: format!("no identity can be drawn for it: {}", words(&error)),
            },
        }
    }
}

/// Where the changes of the book go.
#[derive(Debug)]
pub(crate) struct Shelf<J>(Option<J>);

impl<J: Journal + Send + 'static> Shelf<J> {
    pub(crate) fn open(kept: KeptBook<J>) -> (Self, FoundBook) {
        match kept {
            KeptBook::Open { book, journal } => (Self(Some(journal)), FoundBook::Open(book)),
            KeptBook::Unreadable { why } => (Self(None), FoundBook::Unreadable { why }),
        }
    }

    /// Returns once the change is on the disk; an error says, in words, why that is not known. A journal waits for its disk
    /// on the thread that asks it, so it is asked on one that nobody else waits for.
    pub(crate) async fn land(&mut self, change: &Change) -> Result<(), String> {
        let Some(mut journal) = self.0.take() else {
            return Err("the failure book has no journal".to_owned());
        };
        let change = change.clone();
        let landing = tokio::task::spawn_blocking(move || {
            let how = journal.land(&change).map_err(|error| words(&error));
            (journal, how)
        });
        match landing.await {
            Ok((journal, how)) => {
                self.0 = Some(journal);
                how
            }
            Err(error) => Err(format!("the failure book's journal broke off: {error}")),
        }
    }
}
