//! A journal with a past, for tests of what is found on a disk.

use std::fs;

use failure_book::FailureBook;
use journal_file::FileJournal;
use tempfile::TempDir;

use crate::book_script;
use crate::place::{Outcome, open, place};

/// A closed journal with some changes, of which the last few came after the file was written anew.
pub(crate) fn filled() -> Outcome<TempDir> {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    book_script::settle(&mut book)?;
    for number in 1..300 {
        book_script::run(&mut book, number)?;
    }
    let mark = fs::read_to_string(folder.path().join("mark"))?;
    assert!(!mark.contains("writing 00000000000000000001"), "it was never written anew: {mark}");
    Ok(folder)
}
