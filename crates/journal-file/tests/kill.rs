//! kill -9 at any moment loses no acknowledged change of the failure book, and leaves none half there.

use std::error::Error;

use failure_book::{FailureBook, Journal, Kept, MemoryJournal};
use journal_file::{FileJournal, OpenedJournal, Options, Trust};
use program_test::killed;

#[path = "child/book_script.rs"]
mod book_script;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const RECORDER: &str = env!("CARGO_BIN_EXE_journal-file-recorder");

const ROUNDS: u64 = 200;

#[test]
fn kill_9_loses_no_acknowledged_change() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut memory = MemoryJournal::new();
    let (mut last, mut unacknowledged, mut torn) = (0, 0, 0);
    for round in 0..ROUNDS {
        let acknowledged = killed::run(RECORDER, folder.path(), last + 1, round, 7)?;
        let mut book = book_script::open(memory, last + 1)?;
        book_script::settle(&mut book)?;
        for number in last + 1..=acknowledged {
            book_script::run(&mut book, number)?;
        }
        last = acknowledged;
        // The change that nobody acknowledged may be there too, then whole.
        let OpenedJournal { mut journal, trust, notes } =
            FileJournal::open(Options::new(folder.path()))?;
        assert_eq!(trust, Trust::Whole);
        torn += notes.len();
        let found = journal.load()?;
        drop(journal);
        if found != kept(&mut book)? {
            last += 1;
            unacknowledged += 1;
            book_script::run(&mut book, last)?;
        }
        assert!(
            found == kept(&mut book)?,
            "round {round}: after {acknowledged} was acknowledged, the journal has neither that nor the next"
        );
        memory = book.into_journal();
    }
    println!(
        "{ROUNDS} rounds, {last} changes, {unacknowledged} there without having been acknowledged, {torn} cut short"
    );
    Ok(())
}

fn kept(book: &mut FailureBook<MemoryJournal>) -> Outcome<Option<Kept>> {
    Ok(book.journal_mut().load()?)
}
