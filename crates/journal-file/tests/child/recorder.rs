//! Keeps a failure book by the script in a folder, and says each number on standard output once what it asks for has
//! landed. The crash tests start it, and kill it.
//!
//! `journal-file-recorder FOLDER FIRST LAST` opens the book, says FIRST - 1, and does FIRST, FIRST + 1, … LAST.

use std::error::Error;
use std::io::Write;

use failure_book::FailureBook;
use journal_file::{FileJournal, Options};

mod book_script;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, last] = arguments.as_slice() else {
        return Err("usage: journal-file-recorder FOLDER FIRST LAST".into());
    };
    let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
    let journal = FileJournal::open(Options::new(folder))?.journal;
    let mut book = book_script::open(journal, first)?;
    let mut out = std::io::stdout().lock();
    let mut say = |number: u64| {
        // One write for the line, so that no half of it is read.
        out.write_all(format!("{number}\n").as_bytes())?;
        out.flush()
    };
    patiently(&mut book, first - 1, book_script::settle)?;
    say(first - 1)?;
    for number in first..=last {
        patiently(&mut book, number, |book| book_script::run(book, number))?;
        say(number)?;
    }
    Ok(())
}

/// How often one number is tried. What each asks for can be asked for again, and a disk's error may be over by then.
const TRIES: usize = 20;

fn patiently(
    book: &mut FailureBook<FileJournal>,
    number: u64,
    act: impl Fn(&mut FailureBook<FileJournal>) -> Result<String, Box<dyn Error + Send + Sync>>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut tries = 1;
    while let Err(error) = act(book) {
        // For whoever reads the test's output; and the test counts them.
        let why = book.failure();
        writeln!(std::io::stderr(), "commit {number} failed: {error}: {why:?}")?;
        if tries == TRIES {
            return Err(error);
        }
        tries += 1;
    }
    Ok(())
}
