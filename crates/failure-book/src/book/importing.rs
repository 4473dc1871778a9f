//! Importing: a book goes on with what a document brought along.

use super::Book;
use crate::change::RowKey;
use crate::entries::Time;
use crate::identity::BookId;
use crate::kept::Kept;
use crate::step::{Answer, Step};
use alloc::vec::Vec;

/// Why nothing was imported. The book is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotImported {
    /// The book holds something, which would be lost where the document does not have it.
    #[error(
        "the failure book holds {records} records, {markers} markers and {intents} intents, and \
         only an empty book takes a document"
    )]
    NotEmpty {
        /// How many records it holds.
        records: usize,
        /// How many markers.
        markers: usize,
        /// How many intents.
        intents: usize,
    },
    /// The book has no numbers left, so nothing could be saved.
    #[error("the failure book has no numbers left")]
    Exhausted,
}

impl Book {
    /// Takes over what a document holds, under a new identity: no grant that was signed for the
    /// document's book, or for this one, clears anything of it.
    ///
    /// Intents in the document become failures, as at an open. The counter goes on from the larger
    /// of the two.
    pub fn import(&mut self, kept: Kept, now: Time, id: BookId) -> Step<Result<(), NotImported>> {
        if let Some(why) = self.takes_no_document() {
            return Step::Done(Answer { value: Err(why), error: None });
        }
        let before: Vec<RowKey> =
            self.kept().rows().map(|row| row.key()).chain(self.owed.rows(0).cloned()).collect();
        let seq = kept.seq.max(self.counter.last());
        let imported = Self::assemble(Kept { seq, ..kept }, id, now, self.rules);
        let owed = core::mem::take(&mut self.owed);
        *self = Self { owed, ..imported };
        for key in before.into_iter().chain(self.kept().rows().map(|row| row.key())) {
            self.owed.touch(key);
        }
        self.settle(Ok(()))
    }

    fn takes_no_document(&self) -> Option<NotImported> {
        let [records, markers, intents] =
            [self.records.len(), self.markers.len(), self.intents.len()];
        if records + markers + intents > 0 {
            return Some(NotImported::NotEmpty { records, markers, intents });
        }
        self.is_exhausted().then_some(NotImported::Exhausted)
    }
}
