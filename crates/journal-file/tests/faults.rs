//! A disk that answers with errors: the failure book owes what did not land, lands it with the next try, and its journal
//! holds what was acknowledged.

use failure_book::{Journal, MemoryJournal};
use journal_file::{FileJournal, Options, Trust};
use program_test::faulty;
use program_test::trace::{Traced, strace_is_here};

#[path = "child/book_script.rs"]
mod book_script;

const RECORDER: &str = env!("CARGO_BIN_EXE_journal-file-recorder");

/// Enough that the file is written anew some times.
const CHANGES: u64 = 400;

/// Which calls fail, with which error, as strace is told. An append is one `pwrite64` and one `fdatasync`, then one
/// `pwrite64` of the mark. The first five of each kind or so are those of the making.
const ERRORS: [&str; 14] = [
    "fdatasync:error=EIO:when=3",
    "fdatasync:error=EIO:when=4+5",
    "fdatasync:error=EIO:when=4+4",
    "fdatasync:error=ENOSPC:when=5",
    "pwrite64:error=EROFS:when=8",
    "pwrite64:error=EIO:when=9",
    "pwrite64:error=ENOSPC:when=10",
    "pwrite64:error=ENOSPC:when=10+5",
    // While the file is opened again after an error, and while it is written anew.
    "pwrite64:error=EIO:when=9..12",
    "fdatasync,fsync:error=EIO:when=9..20",
    "fsync:error=EIO:when=8..12",
    "fsync:error=EIO:when=8+5",
    "ftruncate,fdatasync:error=EIO:when=5..9",
    "rename:error=EIO:when=3+2",
];

#[test]
fn what_a_failing_disk_did_not_take_is_owed_and_lands() -> Traced {
    if !strace_is_here("what_a_failing_disk_did_not_take_is_owed_and_lands")? {
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
        let trace = std::fs::read_to_string(root.with_extension("trace"))?;
        let injected = trace.lines().filter(|line| line.contains("(INJECTED)")).count();
        assert!(injected > 0, "{error}: no call failed, so nothing was tried");
        println!("{error}: {injected} calls failed, and {failed} changes at first");
        let opened = FileJournal::open(Options::new(root))?;
        assert_eq!((opened.trust, &opened.notes[..]), (Trust::Whole, &[][..]), "{error}");
        let mut journal = opened.journal;
        assert!(journal.load()? == right, "{error}: not what was acknowledged");
    }
    Ok(())
}
