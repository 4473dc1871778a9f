//! What is owed to the journal: which rows differ from the last landing.

use crate::change::RowKey;
use alloc::collections::BTreeMap;

/// What is owed to the journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Owed {
    /// Each row that differs, with the number of its last touch.
    rows: BTreeMap<RowKey, u64>,
    touches: u64,
    /// The last landing failed. A save is owed then, whether or not a row differs.
    has_failed: bool,
    /// The counter as it landed last. A larger one goes along with the next change, but alone it
    /// owes none: nobody was told of a number that no row has.
    landed_seq: u64,
}

impl Owed {
    /// Nothing is owed of what was loaded with this counter.
    pub(crate) fn nothing_since(landed_seq: u64) -> Self {
        Self { landed_seq, ..Self::default() }
    }

    /// Notes that a row is not as it landed last.
    pub(crate) fn touch(&mut self, row: RowKey) {
        self.touches += 1;
        self.rows.insert(row, self.touches);
    }

    /// Whether a save is owed.
    pub(crate) fn is_save(&self) -> bool {
        self.has_failed || !self.rows.is_empty()
    }

    /// The rows of the next change, when the counter is now at `seq`.
    pub(crate) fn rows(&self, seq: u64) -> impl Iterator<Item = &RowKey> {
        let counter = (seq != self.landed_seq && !self.rows.contains_key(&RowKey::Book))
            .then_some(&RowKey::Book);
        counter.into_iter().chain(self.rows.keys())
    }

    /// The number of the last touch: a change that is made now has all rows up to it.
    pub(crate) fn last_touch(&self) -> u64 {
        self.touches
    }

    /// Notes that a change landed that had all rows up to a touch. What was touched after that is
    /// still owed.
    pub(crate) fn landed(&mut self, up_to: u64, seq: u64) {
        self.rows.retain(|_, touch| *touch > up_to);
        self.has_failed = false;
        self.landed_seq = self.landed_seq.max(seq);
    }

    /// Notes that it is not known whether a change landed.
    pub(crate) fn failed(&mut self) {
        self.has_failed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_pays_for_what_was_touched_before_it() {
        let mut owed = Owed::nothing_since(7);
        assert!(!owed.is_save());
        owed.touch(RowKey::Book);
        let up_to = owed.last_touch();
        owed.landed(up_to, 7);
        assert!(!owed.is_save());

        owed.touch(RowKey::Book);
        let up_to = owed.last_touch();
        owed.touch(RowKey::Book);
        owed.landed(up_to, 7);
        assert!(owed.is_save(), "the row was touched again while it was being landed");
    }

    #[test]
    fn a_failure_owes_a_save_even_of_nothing() {
        let mut owed = Owed::nothing_since(7);
        owed.failed();
        assert!(owed.is_save());
        assert_eq!(owed.rows(7).count(), 0);
        owed.landed(owed.last_touch(), 7);
        assert!(!owed.is_save());
    }

    #[test]
    fn a_larger_counter_goes_along_and_owes_nothing_by_itself() {
        let owed = Owed::nothing_since(7);
        assert!(!owed.is_save());
        assert!(owed.rows(9).eq([&RowKey::Book]));
    }
}
