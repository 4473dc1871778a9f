//! The port: where a book's rows are kept.

use crate::change::Change;
use crate::kept::Kept;
use core::error::Error;

/// Where the rows of one book are kept.
///
/// A journal belongs to one book, and nobody else writes to it. It may well be a tree of keyed
/// entries: [`Change::entries`] is one small batch for it, and [`Kept::from_entries`] reads all of
/// it back. A change has as many rows as the operation touched, whatever the book holds.
///
/// Every implementation runs the checks of `contract` (feature of the same name) in its tests.
pub trait Journal {
    /// Why the journal could not be read, or did not say that a change landed.
    type Error: Error + 'static;

    /// All that landed; `None` when nothing ever did.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or not all of it: that is never an empty book.
    fn load(&mut self) -> Result<Option<Kept>, Self::Error>;

    /// Lands a change: all its rows, or none.
    ///
    /// `Ok` means on the disk: no crash and no loss of power takes it away any more. An empty
    /// change is written through too, as a proof that the journal takes writes.
    ///
    /// # Errors
    ///
    /// When it is not known to have landed. It may have all the same, and the same rows are landed
    /// again with the next change.
    fn land(&mut self, change: &Change) -> Result<(), Self::Error>;
}

impl<J: Journal + ?Sized> Journal for &mut J {
    type Error = J::Error;

    fn load(&mut self) -> Result<Option<Kept>, Self::Error> {
        (**self).load()
    }

    fn land(&mut self, change: &Change) -> Result<(), Self::Error> {
        (**self).land(change)
    }
}
