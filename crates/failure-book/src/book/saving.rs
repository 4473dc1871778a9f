//! Saves: what is to be landed, and what follows when it has landed or not.

use super::Book;
use crate::change::{Change, Row, RowChange, RowKey};
use crate::identity::BookId;
use crate::step::{Answer, Landing, Step, Then, Undo, Unsaved};
use alloc::boxed::Box;

impl Book {
    /// Saves now, owed or not: a proof that the journal takes writes.
    pub fn flush(&mut self) -> Step<()> {
        self.land((), None)
    }

    /// Saves when a save is owed.
    pub fn save_if_dirty(&mut self) -> Step<()> {
        self.settle(())
    }

    /// Gives the book another identity, so that no grant that was signed before clears anything.
    ///
    /// For a data folder that was cloned, or restored from an older copy: the book cannot know
    /// that, and another machine may have the same one, or may have published what this one has
    /// forgotten.
    pub fn rotate_identity(&mut self, id: BookId) -> Step<()> {
        self.id = id;
        self.owed.touch(RowKey::Book);
        self.settle(())
    }

    /// Ends an operation whose change was landed, or was not.
    ///
    /// *Failed* means not known to have landed. The change stays owed then, in absolute values, so
    /// that landing it again is harmless.
    pub fn landed<A>(&mut self, then: Then<A>, how: Landing) -> Answer<A> {
        let Then { value, up_to, seq, unless_landed } = then;
        match how {
            Landing::Landed => {
                self.owed.landed(up_to, seq);
                Answer { value, error: None }
            }
            Landing::Failed => {
                self.owed.failed();
                let value = match unless_landed {
                    Some(undo) => self.take_back(*undo),
                    None => value,
                };
                Answer { value, error: Some(Unsaved::Failed) }
            }
        }
    }

    /// The step of an operation: it lands what is owed, its own changes and those from before. One
    /// that changed nothing tries an owed save again all the same.
    pub(super) fn settle<A>(&mut self, value: A) -> Step<A> {
        if self.owed.is_save() {
            self.land(value, None)
        } else {
            Step::Done(Answer { value, error: None })
        }
    }

    /// The step that lands what is owed, also when nothing is. An exhausted book lands nothing.
    pub(super) fn land<A>(&mut self, value: A, unless_landed: Option<Box<Undo<A>>>) -> Step<A> {
        if self.counter.is_exhausted() {
            return Step::Done(Answer { value, error: Some(Unsaved::Exhausted) });
        }
        let seq = self.counter.last();
        let change = Change::new(self.owed.rows(seq).map(|key| self.row(key)).collect());
        Step::Land(change, Then { value, up_to: self.owed.last_touch(), seq, unless_landed })
    }

    /// What is to be kept of a row now.
    fn row(&self, key: &RowKey) -> RowChange {
        let row = match key {
            RowKey::Book => Some(Row::Book { id: self.id, seq: self.counter.last() }),
            RowKey::Generation(app) => self
                .apps
                .kept_generation(app.as_str())
                .map(|generation| Row::Generation(app.clone(), generation)),
            RowKey::Record(ordinal) => {
                self.records.at(*ordinal).map(|record| Row::Record(*ordinal, record.clone()))
            }
            RowKey::Marker(host) => {
                self.markers.get(host).map(|marker| Row::Marker(host.clone(), marker.clone()))
            }
            RowKey::Intent(host) => {
                self.intents.get(host).map(|intent| Row::Intent(host.clone(), intent.clone()))
            }
        };
        row.map_or_else(|| RowChange::Drop(key.clone()), RowChange::Put)
    }
}
