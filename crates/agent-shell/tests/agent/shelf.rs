//! A failure book whose rows outlive the agent that wrote them, as on a disk.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use agent_shell::KeptBook;
use failure_book::{BookId, Change, Journal, Kept, MemoryJournal, MemoryJournalError};
use host::Host;

/// A handle on the rows; all clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<MemoryJournal>>);

impl Shelf {
    /// The book of these rows, opened anew.
    pub(crate) fn book(&self, host: &impl Host) -> KeptBook<Self> {
        let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
        KeptBook::load(self.clone(), host.clock().wall, fresh)
    }
}

impl Journal for Shelf {
    type Error = MemoryJournalError;

    fn load(&mut self) -> Result<Option<Kept>, MemoryJournalError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).load()
    }

    fn land(&mut self, change: &Change) -> Result<(), MemoryJournalError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).land(change)
    }
}
