//! kill -9 at any moment loses no acknowledged change of the failure book, and leaves none half there.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use failure_book::{FailureBook, Journal, Kept, MemoryJournal};
use journal_file::{FileJournal, OpenedJournal, Options, Trust};

#[path = "child/book_script.rs"]
mod book_script;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: u64 = 200;

#[test]
fn kill_9_loses_no_acknowledged_change() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut memory = MemoryJournal::new();
    let (mut last, mut unacknowledged, mut torn) = (0, 0, 0);
    for round in 0..ROUNDS {
        let acknowledged = record_and_kill(folder.path(), last + 1, mixed(round))?;
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

/// Starts the recorder, waits for a seeded number of acknowledgements, lets a seeded moment pass, and kills it.
/// Answers the last acknowledged number.
fn record_and_kill(folder: &Path, first: u64, seed: u64) -> Outcome<u64> {
    let mut child = KilledOnDrop(
        Command::new(env!("CARGO_BIN_EXE_journal-file-recorder"))
            .arg(folder)
            .args([first.to_string(), u64::MAX.to_string()])
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut lines = BufReader::new(child.0.stdout.take().ok_or("no output")?).lines();
    let mut acknowledged = first - 1;
    for _ in 0..seed % 7 + 1 {
        acknowledged = lines.next().ok_or("the recorder ended by itself")??.parse()?;
    }
    // Not a wait for anything: only so that the kill hits each part of a change in some round.
    for _ in 0..seed / 7 % 200 {
        std::thread::yield_now();
    }
    child.0.kill()?;
    for line in lines {
        acknowledged = line?.parse()?;
    }
    Ok(acknowledged)
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may be dead already; what is left is to collect it.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// One step of SplitMix64: seeds that are far apart for rounds that are not.
fn mixed(round: u64) -> u64 {
    let seed = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
