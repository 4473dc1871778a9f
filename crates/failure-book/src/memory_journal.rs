//! The journal in memory: for tests and simulations, with faults by script.

use crate::change::Change;
use crate::journal::Journal;
use crate::kept::Kept;
use crate::rows::{Entry, RowError};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Rows in memory, as the entries of bytes that a disk would have. A crash is
/// [`FailureBook::into_journal`](crate::FailureBook::into_journal): the rows are there, whatever
/// the process forgot.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    entries: BTreeMap<String, Vec<u8>>,
    landings: u64,
    faults: BTreeMap<u64, Fault>,
    disk: Disk,
}

/// What goes wrong with one landing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing lands, and the failure is answered.
    Fails,
    /// Everything lands, and the failure is answered nevertheless: the answer was lost.
    Lies,
    /// Only the first entries land, and the failure is answered. A journal that keeps the port's
    /// promise does not do this; a book is safe with one that does.
    Torn {
        /// How many entries land.
        entries: usize,
    },
}

/// How the disk is, until it is set otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disk {
    /// It is read and written.
    #[default]
    Well,
    /// It is read; every landing fails, and nothing lands.
    TakesNoWrites,
    /// It is neither read nor written.
    Gone,
}

/// Why the journal in memory did not do as it was told.
#[derive(Debug, thiserror::Error)]
pub enum MemoryJournalError {
    /// The script says so.
    #[error("the disk in memory fails, by its script")]
    Scripted,
    /// The entries are no book.
    #[error("the entries in memory are no failure book")]
    Damaged(#[from] RowError),
    /// A row could not be made into bytes.
    #[error("a row could not be written")]
    Row(#[source] serde_json::Error),
}

impl MemoryJournal {
    /// An empty journal on a disk without faults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many landings were asked for so far, landed or not.
    #[must_use]
    pub fn landings(&self) -> u64 {
        self.landings
    }

    /// Scripts a fault for the landing that comes after `skipped` others from now on.
    pub fn fault_after(&mut self, skipped: u64, fault: Fault) {
        let number = self.landings.saturating_add(skipped).saturating_add(1);
        self.faults.insert(number, fault);
    }

    /// Forgets the faults that were scripted and did not happen.
    pub fn forget_faults(&mut self) {
        self.faults.clear();
    }

    /// Sets how the disk is from now on.
    pub fn set_disk(&mut self, disk: Disk) {
        self.disk = disk;
    }

    /// The entries, to be damaged by a test.
    pub fn entries_mut(&mut self) -> &mut BTreeMap<String, Vec<u8>> {
        &mut self.entries
    }

    fn write(&mut self, entries: impl IntoIterator<Item = Entry>) {
        for Entry { key, value } in entries {
            match value {
                Some(value) => self.entries.insert(key, value),
                None => self.entries.remove(&key),
            };
        }
    }
}

impl Journal for MemoryJournal {
    type Error = MemoryJournalError;

    fn load(&mut self) -> Result<Option<Kept>, Self::Error> {
        match self.disk {
            Disk::Well | Disk::TakesNoWrites => Ok(Kept::from_entries(&self.entries)?),
            Disk::Gone => Err(MemoryJournalError::Scripted),
        }
    }

    fn land(&mut self, change: &Change) -> Result<(), Self::Error> {
        self.landings = self.landings.saturating_add(1);
        let entries = change.entries().map_err(MemoryJournalError::Row)?;
        let fault = match self.disk {
            Disk::Well => self.faults.remove(&self.landings),
            Disk::TakesNoWrites | Disk::Gone => Some(Fault::Fails),
        };
        let landed = match fault {
            None | Some(Fault::Lies) => entries.len(),
            Some(Fault::Fails) => 0,
            Some(Fault::Torn { entries }) => entries,
        };
        self.write(entries.into_iter().take(landed));
        match fault {
            None => Ok(()),
            Some(_) => Err(MemoryJournalError::Scripted),
        }
    }
}
