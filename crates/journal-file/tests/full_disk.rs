//! A disk without room, and one that can only be read: what is answered, and that nothing acknowledged is lost.
//!
//! Needs the right to mount a small file system; says so loudly where that is missing.

use std::error::Error;
use std::fs;

use failure_book::{FailureBook, Journal, MemoryJournal};
use journal_file::{FileJournal, JournalError, OpenError, Options, Room};
use program_test::Disk;

#[path = "child/book_script.rs"]
mod book_script;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const MIB: u64 = 1024 * 1024;

fn open(options: &Options) -> Outcome<FailureBook<FileJournal>> {
    let opened = book_script::open(FileJournal::open(options.clone())?.journal, 1);
    opened.map_err(|error| error.to_string().into())
}

fn run<J: Journal>(book: &mut FailureBook<J>, number: u64) -> Outcome<String> {
    book_script::run(book, number).map_err(|error| error.to_string().into())
}

/// The book of the script up to a change, as a journal holds it.
fn right(last: u64) -> Outcome<FailureBook<MemoryJournal>> {
    let opened = book_script::open(MemoryJournal::new(), 1);
    let mut book = opened.map_err(|error| error.to_string())?;
    book_script::settle(&mut book).map_err(|error| error.to_string())?;
    for number in 1..=last {
        run(&mut book, number)?;
    }
    Ok(book)
}

#[test]
fn the_half_of_the_room_is_for_failures_and_the_rest_stays() -> Outcome {
    let place = tempfile::tempdir()?;
    let Some(disk) = Disk::mount(place.path())? else { return Ok(()) };
    let options =
        Options { room: Room::Leave { bytes: 4 * MIB }, ..Options::new(place.path().join("book")) };
    let mut book = open(&options)?;
    disk.fill_but(3 * MIB)?;
    for number in 1..30 {
        run(&mut book, number)?;
    }
    disk.empty()?;
    disk.fill_but(MIB)?;
    let length = fs::metadata(place.path().join("book/journal"))?.len();
    assert!(run(&mut book, 30).is_err());
    assert!(matches!(book.failure(), Some(JournalError::Full { .. })), "{:?}", book.failure());
    assert_eq!(fs::metadata(place.path().join("book/journal"))?.len(), length, "touched");
    // It can be opened on that disk, and with room goes on where it was.
    drop(book);
    let mut book = open(&options)?;
    assert!(book.journal_mut().load()? == right(29)?.journal_mut().load()?);
    disk.empty()?;
    run(&mut book, 30)?;
    assert!(book.journal_mut().load()?.is_some());
    Ok(())
}

/// With no room kept back, the write itself is cut short.
#[test]
fn a_write_that_meets_the_end_of_the_disk_is_owed_and_lands_with_room() -> Outcome {
    for left in [0, 4_096, 8_192, 12_288, 40_960] {
        let place = tempfile::tempdir()?;
        let Some(disk) = Disk::mount(place.path())? else { return Ok(()) };
        let options = Options { room: Room::All, ..Options::new(place.path().join("book")) };
        let mut book = open(&options)?;
        for number in 1..10 {
            run(&mut book, number)?;
        }
        disk.fill_but(left)?;
        let mut number = 10;
        while run(&mut book, number).is_ok() {
            number += 1;
            assert!(number < 3_000, "it never met the end");
        }
        assert!(matches!(book.failure(), Some(JournalError::Full { .. })), "{:?}", book.failure());
        // What is read is what was acknowledged, also by whoever opens it on the full disk.
        let acknowledged = right(number - 1)?.journal_mut().load()?;
        assert!(book.journal_mut().load()? == acknowledged, "{left} left, after {number}");
        drop(book);
        let mut again = FileJournal::open(options.clone())?.journal;
        assert!(again.load()? == acknowledged, "{left} left, opened after {number}");
        drop(again);

        let mut book = open(&options)?;
        // It may fit now, after the open; else it is owed.
        run(&mut book, number).ok();
        disk.empty()?;
        run(&mut book, number)?;
        let in_memory = book.book().kept();
        drop(book);
        assert!(FileJournal::open(options)?.journal.load()? == Some(in_memory));
    }
    Ok(())
}

/// A file that could not be written anew is as it was, and is written anew when there is room.
#[test]
fn without_room_to_write_it_anew_the_file_goes_on() -> Outcome {
    let place = tempfile::tempdir()?;
    let Some(disk) = Disk::mount(place.path())? else { return Ok(()) };
    let options = Options { room: Room::All, ..Options::new(place.path().join("book")) };
    let mut book = open(&options)?;
    let path = place.path().join("book/journal");
    // One row that counts, and is longer than the room that will be left.
    let host = failure_book::Host::new(&"h".repeat(2 * 1024 * 1024))?;
    let build = failure_book::Build::new("account", "app", "b1")?;
    let ran = failure_book::HoldRan { build, exec: None, at: None };
    let long = book.run(|book| book.mark_hold_ran(&host, ran, failure_book::Time::UNIX_EPOCH));
    assert!(long.error.is_none());
    disk.fill_but(MIB)?;
    let mut number = 0;
    let before = fs::metadata(&path)?.len();
    while fs::metadata(&path)?.len() < before + MIB / 2 {
        number += 1;
        run(&mut book, number)?;
    }
    disk.empty()?;
    let long = fs::metadata(&path)?.len();
    while fs::metadata(&path)?.len() >= long.max(before) {
        number += 1;
        run(&mut book, number)?;
        assert!(number < 100_000, "it is never written anew");
    }
    let kept = book.journal_mut().load()?;
    assert!(kept == Some(book.book().kept()));
    Ok(())
}

#[test]
fn a_read_only_disk_is_named_and_can_be_looked_into() -> Outcome {
    let place = tempfile::tempdir()?;
    let Some(disk) = Disk::mount(place.path())? else { return Ok(()) };
    let options = Options::new(place.path().join("book"));
    let mut book = open(&options)?;
    run(&mut book, 1)?;
    let kept = book.journal_mut().load()?;
    disk.hide_behind_a_read_only_one()?;
    drop(book);
    assert!(journal_file::read(&options.folder)? == kept);
    let opened = FileJournal::open(options.clone());
    assert!(matches!(opened, Err(OpenError::ReadOnly { .. })), "{opened:?}");
    disk.unhide();
    assert!(FileJournal::open(options)?.journal.load()? == kept);
    Ok(())
}
