//! A disk that answers with errors: the failure book owes what did not land, lands it with the next try, and its journal
//! holds what was acknowledged.

use std::error::Error;
use std::io::Write;
use std::process::{Command, Stdio};

use failure_book::{Journal, MemoryJournal};
use store_sled::{Options, SledJournal};

#[path = "child/book_script.rs"]
mod book_script;
#[path = "child/faulty.rs"]
mod faulty;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const RECORDER: &str = env!("CARGO_BIN_EXE_store-sled-recorder");

const CHANGES: u64 = 40;

/// Which calls fail, with which error, as strace is told.
const ERRORS: [&str; 7] = [
    "sync_file_range:error=EIO:when=3",
    "sync_file_range:error=EIO:when=2+3",
    "fdatasync:error=EIO:when=3",
    "fdatasync:error=EIO:when=4+5",
    "fdatasync:error=ENOSPC:when=5",
    "pwrite64:error=EROFS:when=4",
    "pwrite64:error=EIO:when=5",
];

#[test]
fn what_a_failing_disk_did_not_take_is_owed_and_lands() -> Outcome {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        // Not through the test's captured output: whoever reads the run should see it.
        writeln!(std::io::stderr(), "SKIPPED journal_faults: there is no strace here")?;
        return Ok(());
    }
    let mut right = book_script::open(MemoryJournal::new(), 1)?;
    book_script::settle(&mut right)?;
    for number in 1..=CHANGES {
        book_script::run(&mut right, number)?;
    }
    let right = right.journal_mut().load()?;
    for error in ERRORS {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("book");
        let failed = faulty::run(RECORDER, error, &root, 0..=CHANGES)?;
        assert!(failed > 0, "{error}: no change failed, so nothing was tried");
        let found = SledJournal::open(Options::new(root))?.journal.load()?;
        assert!(found == right, "{error}: not what was acknowledged");
    }
    Ok(())
}
