//! A power cut on a simulated disk: whatever the failure book's journal acknowledged before the cut must be in it, whole.

use std::error::Error;
use std::path::Path;

use failure_book::{FailureBook, Journal, Kept, MemoryJournal};
use journal_file::{Options, FileJournal};

#[path = "child/book_script.rs"]
mod book_script;
#[path = "child/disk.rs"]
mod disk;
#[path = "child/trace.rs"]
mod trace;

use disk::OnDisk;
use trace::{strace_is_here, trace};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const RECORDER: &str = env!("CARGO_BIN_EXE_journal-file-recorder");

/// Changes before the trace, so that sled has segments to use again.
const BEFORE: u64 = 120;
const CHANGES: u64 = 40;

#[test]
fn a_power_cut_loses_no_acknowledged_change() -> Outcome {
    if !strace_is_here("a_power_cut_loses_no_acknowledged_change")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("book");
    trace(RECORDER, &[], &root, 1, BEFORE)?;
    let mut db = OnDisk::closed(root.join("data/db"))?;
    // It is set anew when the journal is opened, to the same; then the trace has it under this name.
    let mut mark = OnDisk::closed(root.join("mark"))?;
    let calls = trace(RECORDER, &["-xx", "-s", "2000000"], &root, BEFORE + 1, BEFORE + CHANGES)?;

    let states = states()?;
    let (mut acknowledged, mut cuts) = (0, 0);
    let mut seed = 1;
    for call in &calls {
        let marks = mark.follow(call)?;
        let writes = db.follow(call)? || marks;
        if call.acknowledges() {
            acknowledged += 1;
        } else if !writes || acknowledged == 0 {
            // Before the first, the journal is still opening.
            continue;
        }
        let found = cut(&root, [&db, &mark], &mut seed)?;
        let before = states.get(acknowledged - 1).ok_or("more was acknowledged than done")?;
        let is_next = writes && Some(&found) == states.get(acknowledged);
        assert!(
            found == *before || is_next,
            "cut after {acknowledged} acknowledgements, and not as it was then"
        );
        cuts += 1;
    }
    assert_eq!(u64::try_from(acknowledged)?, CHANGES + 1);
    println!("{cuts} power cuts");
    Ok(())
}

/// What the journal must hold after each acknowledgement of the child that is traced.
fn states() -> Outcome<Vec<Option<Kept>>> {
    let mut book = book_script::open(MemoryJournal::new(), 1)?;
    book_script::settle(&mut book)?;
    for number in 1..=BEFORE {
        book_script::run(&mut book, number)?;
    }
    let mut book = book_script::open(book.into_journal(), BEFORE + 1)?;
    book_script::settle(&mut book)?;
    let mut states = vec![kept(&mut book)?];
    for number in BEFORE + 1..=BEFORE + CHANGES {
        book_script::run(&mut book, number)?;
        states.push(kept(&mut book)?);
    }
    Ok(states)
}

fn kept(book: &mut FailureBook<MemoryJournal>) -> Outcome<Option<Kept>> {
    Ok(book.journal_mut().load()?)
}

/// The journal as it is found after a cut. It must open: neither file may make the other look damaged.
fn cut(root: &Path, disk: [&OnDisk; 2], seed: &mut u64) -> Outcome<Option<Kept>> {
    let after = disk::cut(root, disk, seed)?;
    Ok(FileJournal::open(Options::new(after.path()))?.journal.load()?)
}
