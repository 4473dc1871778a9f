//! The machine's durable memory of what failed on it, and of what that restricts.
#![no_std]

extern crate alloc;

mod book;
mod change;
#[cfg(feature = "contract")]
pub mod contract;
mod counter;
mod document;
mod entries;
mod failure_book;
mod hosts;
mod identity;
mod index;
mod journal;
mod kept;
mod memory_journal;
mod names;
mod owed;
mod rows;
mod rules;
mod shapes;
mod step;

pub use book::{
    Begun, Book, Cleared, Freed, Grant, Granted, NotBegun, NotFreed, NotImported,
    RECONCILED_REASON, Recorded,
};
pub use change::{Change, Row, RowChange, RowKey};
pub use counter::{Generation, Snapshot};
pub use document::DocumentError;
pub use entries::{Failure, HoldRan, Intent, Marker, MarkerWish, Mode, Record, Served, Time};
pub use failure_book::{FailureBook, OpenError};
pub use hosts::Hosts;
pub use identity::{BadBookId, BookId, ExecutionId, ExecutionKind, NoExecutionId};
pub use index::Ordinal;
pub use journal::Journal;
pub use kept::Kept;
pub use memory_journal::{Disk, Fault, MemoryJournal, MemoryJournalError};
pub use names::{App, BadName, Build, Host};
pub use rows::{Entry, RowError};
pub use rules::{MarkerOfRetriedHost, Rules};
pub use step::{Answer, Landing, Step, Then, Unsaved};
