//! The machine's durable memory of what failed on it, and of what that restricts.
//!
//! No crash, restart, late message or stale permission puts an instance back onto a build that
//! failed on this machine, nor onto an older build whose data a newer one may have migrated.
//!
//! ```text
//!  Record   one for each build that failed: it blocks every host of the app from the build, but
//!           those that served it already and those that a retry freed. It may hold hosts down.
//!  Marker   one for each host where a `hold` build ran and neither passed nor was held down:
//!           nothing falls back there by itself. It restricts its own host only.
//!  Intent   one for each host with an execution of a build that it has not served yet. It lands
//!           before anything runs, and goes after the outcome was written.
//!
//!           begin ──> the execution runs ──> passed: clear_hold_ran_before ──┐
//!             │                        └───> failed: record ─────────────────┤
//!             │                        └───> superseded: mark_hold_ran ──────┴──> end
//!             └─ crash ──> the next open makes a failure of the intent
//!
//!  lifted only by an operator's signed word:
//!           a newer pointer   clear_on_pointer, clear_hold_ran_on_pointer
//!           a grant           retry_host_at, which names (book, build, host, generation)
//!  and on the machine itself: retry_host, clear_hold_ran
//! ```
//!
//! Whatever changes any restriction of an app takes the next number of the book's one counter for
//! the app's [`Generation`]. A grant is good for the generation that it was signed for, and for no
//! other: [`Grant`] says why a stale one can clear nothing.
//!
//! # Two layers
//!
//! [`Book`] is a value with rules: no I/O, no clock, no randomness, no `std`. An operation answers
//! a [`Step`]: an answer, or a [`Change`] that has to land first and a ticket for the answer. It is
//! for those who do their own I/O, and want each landing to be a point at which they can be killed.
//!
//! [`FailureBook`] is a book with its [`Journal`]: each operation lands before it answers.
//!
//! ```
//! use core::convert::Infallible;
//! use failure_book::{
//!     Begun, Book, BookId, Build, ExecutionId, FailureBook, Grant, Host, Intent, MemoryJournal,
//!     Mode, Rules, Served, Time,
//! };
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let now = Time::UNIX_EPOCH;
//! // From the operating system's secure source, where this is no example.
//! let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
//! let open = |journal| FailureBook::open(journal, now, fresh, Rules::default());
//! let build = Build::new("default", "blog", "01JBUILD2")?;
//! let host = Host::new("blog-1")?;
//!
//! // Nothing executes before its intent has landed.
//! let mut book = open(MemoryJournal::new())?;
//! let intent = Intent {
//!     build: build.clone(),
//!     mode: Mode::HOLD,
//!     id: ExecutionId::new("a1f-1")?,
//!     start: Some(now),
//! };
//! let begun = book.run(|book| book.begin(&host, intent));
//! assert_eq!(begun.value, Begun::MayExecute);
//!
//! // The agent is killed in the middle. The next one finds the intent, and first lands what it
//! // made of it.
//! let mut book = open(book.into_journal())?;
//! assert_eq!(book.book().reconciled(), 1);
//! assert_eq!(book.run(Book::save_if_dirty).error, None);
//! assert!(book.book().blocks(&build, &host, Served::NotYet));
//! assert!(book.book().held_down(&build, &host));
//!
//! // An operator saw that, and signs a grant for exactly what was published. It is good once.
//! let generation = book.book().published_generation(&build, &host).ok_or("nothing to free")?;
//! let grant = Grant { build: build.clone(), host: host.clone(), book: book.book().id(), generation };
//! assert_eq!(book.retry_host_at(&grant).error, None);
//! assert!(!book.book().blocks(&build, &host, Served::NotYet));
//! # Ok(())
//! # }
//! ```
//!
//! # What the owner of a book owes it
//!
//! - It is the only writer of its journal. A data folder that was cloned, or restored from an
//!   older copy, gets another identity before anything else: [`Book::rotate_identity`].
//! - First after an open what is owed is landed. Only then is anything done.
//! - A book that cannot be read, or that gives no [`Book::snapshot`], allows no managed start.
//! - The outcome of an execution is written before its intent ends, and before the next execution
//!   of its host begins.
//! - Signatures are checked before a word gets here. Only an operator's words clear anything.
//! - After any failure but [`Recorded::PreRetry`] the cohort halts. It stays halted for as long as
//!   the record stands; a retried host passes as the canary for as long as the record lists it.
//! - A restart of the good build is no execution in this sense: no intent, no record.
//!
//! # What it costs
//!
//! *n* is how much the book holds, *k* how many hosts one record lists.
//!
//! | operation | in memory | landed |
//! |---|---|---|
//! | `blocks`, `held_down`, `retried`, `lookup` | O(log k) | |
//! | `published_generation`, `hold_ran_on` | O(log k), and O(log hosts) | |
//! | `for_app`, `list` | what they answer | |
//! | `begin`, `end` | O(log hosts) | the host's row, in one batch |
//! | `record`, retries, pointers | O(log n) | counter, generation, record; a marker with them |
//! | markers | O(log hosts) | counter, one or two generations, marker |
//! | `prune` | O(n) | what it dropped, and a generation for each app it touched |
//! | `flush`, `save_if_dirty` | what is owed | what is owed |
//! | `open` | O(n log n) | nothing |
//!
//! What failed to land is part of the next change, once, as it is then.
//!
//! # No `std`
//!
//! `core` and `alloc` are enough. Hashes have a fixed seed, and nothing walks a hash map where the
//! order could show: two runs are the same to the byte.
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
