//! The failure book's journal on disk keeps the port's contract, agrees with the one in memory, and has its folder for
//! itself.

use std::cell::RefCell;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use failure_book::{
    Build, Change, ExecutionId, HoldRan, Host, Journal, MemoryJournal, Time, contract,
};
use journal_file::{FileJournal, JournalError, OpenError, Options, Room, Trust};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[path = "child/book_script.rs"]
mod book_script;
#[path = "child/filled.rs"]
mod filled;
#[path = "child/place.rs"]
mod place;

use filled::filled;
use place::{Outcome, journal_of, open, place};

#[test]
fn keeps_the_contract() -> Outcome {
    let folders = RefCell::new(Vec::new());
    let fresh = || {
        let folder = place().unwrap();
        let journal = open(folder.path()).unwrap();
        folders.borrow_mut().push(folder);
        journal
    };
    let reopen = |journal: FileJournal| {
        drop(journal);
        open(folders.borrow().last().unwrap().path()).unwrap()
    };
    contract::check(fresh, reopen).map_err(|violation| chain(&violation))?;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any numbers of the script, and `None` to open again: two books say the same, and their journals hold the same.
    #[test]
    fn a_book_on_disk_is_the_book_in_memory(steps in vec(option::weighted(0.85, 1..400_u64), 1..40)) {
        agree(&steps).map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

fn agree(steps: &[Option<u64>]) -> Outcome {
    let folder = place()?;
    let mut disk = book_script::open(open(folder.path())?, 0)?;
    let mut memory = book_script::open(MemoryJournal::new(), 0)?;
    for (place, step) in steps.iter().enumerate() {
        let said = match step {
            Some(number) => {
                [book_script::run(&mut disk, *number)?, book_script::run(&mut memory, *number)?]
            }
            None => {
                let number = u64::try_from(place)?;
                drop(disk.into_journal());
                disk = book_script::open(open(folder.path())?, number)?;
                memory = book_script::open(memory.into_journal(), number)?;
                [book_script::settle(&mut disk)?, book_script::settle(&mut memory)?]
            }
        };
        assert_eq!(said[0], said[1], "{step:?}");
        let [on_disk, in_memory] = [disk.book().kept(), memory.book().kept()];
        assert!(on_disk == in_memory, "after {step:?}");
        let landed = disk.journal_mut().load()?;
        assert!(landed == memory.journal_mut().load()?, "landed after {step:?}");
        assert!(landed == journal_file::read(folder.path())?, "read after {step:?}");
    }
    Ok(())
}

/// The file is never much longer than twice its rows and what it may always waste, and nothing else stays in the folder.
#[test]
fn the_file_is_written_anew_when_half_of_it_counts_no_longer() -> Outcome {
    let folder = place()?;
    let mut book = book_script::open(open(folder.path())?, 1)?;
    let length = || fs::metadata(journal_of(folder.path())).map(|found| found.len());
    let (mut longest, mut shrunk, mut before) = (0, 0, 0);
    for number in 1..1_500 {
        book_script::run(&mut book, number)?;
        let now = length()?;
        longest = longest.max(now);
        shrunk += u64::from(now < before);
        before = now;
    }
    assert!(shrunk > 5, "it was written anew {shrunk} times");
    // What the script keeps is less than 12 builds of 12 KiB, their markers and intents, and one change.
    assert!(longest < 2 * 12 * 12_000 + 256 * 1024 + 20_000, "{longest} bytes");
    let kept = book.journal_mut().load()?;
    drop(book);
    let mut names: Vec<_> = fs::read_dir(folder.path())?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<_, _>>()?;
    names.sort();
    assert_eq!(names, ["journal", "lock", "mark"]);
    assert!(open(folder.path())?.load()? == kept);
    Ok(())
}

/// Somebody looks, again and again, while another writes: each time it is a book that was there a moment ago.
#[test]
fn it_can_be_read_while_another_writes() -> Outcome {
    let folder = place()?;
    assert_eq!(journal_file::read(folder.path())?, None);
    assert_eq!(journal_file::read(&folder.path().join("nowhere"))?, None);
    let mut book = book_script::open(open(folder.path())?, 1)?;
    assert_eq!(journal_file::read(folder.path())?, None);
    let done = AtomicBool::new(false);
    thread::scope(|scope| -> Outcome {
        let reads = scope.spawn(|| -> Outcome<u64> {
            let mut reads = 0;
            while !done.load(Ordering::Acquire) {
                journal_file::read(folder.path())?;
                reads += 1;
            }
            Ok(reads)
        });
        for number in 1..800 {
            book_script::run(&mut book, number)?;
        }
        done.store(true, Ordering::Release);
        let reads = reads.join().map_err(|_| "the reader broke off")??;
        assert!(reads > 10, "{reads} reads");
        Ok(())
    })?;
    let names = fs::read_dir(folder.path())?.count();
    assert!(journal_file::read(folder.path())? == book.journal_mut().load()?);
    assert_eq!(fs::read_dir(folder.path())?.count(), names, "it left something");
    Ok(())
}

#[test]
fn a_store_of_documents_is_no_journal() -> Outcome {
    let folder = place()?;
    fs::write(folder.path().join("schema"), "bellwether store 2\n")?;
    let error = open(folder.path()).err().ok_or("a store was opened as a journal")?;
    assert!(matches!(error, OpenError::Schema { .. }), "{error}");
    assert!(error.to_string().contains("says \"bellwether store 2\""), "{error}");
    assert_eq!(fs::read_dir(folder.path())?.count(), 1, "it was left alone");
    Ok(())
}

#[test]
fn another_form_of_the_file_is_refused_by_its_name() -> Outcome {
    let folder = filled()?;
    let path = journal_of(folder.path());
    let text = b"bellwether failure book 17, of which nobody here knows anything\n";
    fs::write(&path, text)?;
    for error in [
        open(folder.path()).err().ok_or("opened")?,
        journal_file::read(folder.path()).err().ok_or("read")?,
    ] {
        assert!(matches!(error, OpenError::Schema { .. }), "{error}");
        assert!(error.to_string().contains("says \"bellwether failure book 17\""), "{error}");
    }
    assert_eq!(fs::read(&path)?, text);
    Ok(())
}

#[test]
fn a_second_open_says_that_the_journal_is_in_use() -> Outcome {
    let folder = place()?;
    let first = open(folder.path())?;
    let second = open(folder.path());
    assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    drop(first);
    open(folder.path())?;
    Ok(())
}

#[test]
fn only_its_owner_can_look_into_it() -> Outcome {
    let above = place()?;
    let folder = above.path().join("of/the/book");
    let mut book = book_script::open(open(&folder)?, 1)?;
    for number in 1..300 {
        book_script::run(&mut book, number)?;
    }
    let mode = |path: &Path| fs::metadata(path).map(|found| found.permissions().mode() & 0o777);
    assert_eq!(mode(&folder)?, 0o700);
    for name in ["journal", "mark", "lock"] {
        assert_eq!(mode(&folder.join(name))?, 0o600, "{name}");
    }
    Ok(())
}

#[test]
fn without_room_a_change_is_refused_before_anything_is_touched_and_owed() -> Outcome {
    let folder = place()?;
    let full = Options { room: Room::Leave { bytes: u64::MAX }, ..Options::new(folder.path()) };
    let mut book = book_script::open(FileJournal::open(full)?.journal, 1)?;
    let length = fs::metadata(journal_of(folder.path()))?.len();
    assert!(book_script::run(&mut book, 1).is_err());
    assert!(matches!(book.failure(), Some(JournalError::Full { .. })), "{:?}", book.failure());
    let flushed = book.journal_mut().land(&Change::default());
    assert!(matches!(flushed, Err(JournalError::Full { .. })), "{flushed:?}");
    assert!(book.book().save_owed());
    assert_eq!(book.journal_mut().load()?, None);
    assert_eq!(fs::metadata(journal_of(folder.path()))?.len(), length);
    Ok(())
}

/// The file and the mark move with every change.
#[test]
fn an_empty_change_is_written_through() -> Outcome {
    let folder = filled()?;
    let mut journal = open(folder.path())?;
    let mark = || fs::read(folder.path().join("mark"));
    let length = || fs::metadata(journal_of(folder.path())).map(|found| found.len());
    let (before, length_before, kept) = (mark()?, length()?, journal.load()?);
    journal.land(&Change::default())?;
    assert_ne!(mark()?, before);
    assert!(length()? > length_before);
    drop(journal);
    assert!(open(folder.path())?.load()? == kept);
    Ok(())
}

#[test]
fn names_of_any_length_land() -> Outcome {
    let folder = place()?;
    let mut book = book_script::open(open(folder.path())?, 1)?;
    let host = Host::new(&"x".repeat(300_000))?;
    let build = Build::new(&"y".repeat(70_000), "app", "b1")?;
    let ran = HoldRan { build, exec: Some(ExecutionId::new("a1f-1")?), at: None };
    let answer = book.run(|book| book.mark_hold_ran(&host, ran, Time::UNIX_EPOCH));
    assert!(answer.error.is_none(), "{:?}", book.failure());
    let kept = book.book().kept();
    drop(book);
    assert!(open(folder.path())?.load()? == Some(kept));
    Ok(())
}

/// What an open or a rewriting that was killed left behind is gone after the next open.
#[test]
fn what_was_left_unfinished_means_nothing_and_goes() -> Outcome {
    let folder = filled()?;
    let kept = journal_file::read(folder.path())?;
    for name in ["journal.new", "mark.new"] {
        fs::write(folder.path().join(name), "bellwether failure book 1, writing 9")?;
    }
    let opened = FileJournal::open(Options::new(folder.path()))?;
    assert_eq!((opened.trust, &opened.notes[..]), (Trust::Whole, &[][..]));
    let mut journal = opened.journal;
    assert!(journal.load()? == kept);
    assert_eq!(fs::read_dir(folder.path())?.count(), 3);
    Ok(())
}

/// The making, cut between any two of its steps.
#[test]
fn a_journal_that_is_being_made_is_made_by_the_next_open() -> Outcome {
    let done = place()?;
    drop(open(done.path())?);
    let made = fs::read(journal_of(done.path()))?;
    let not_yet = {
        // The mark as it is before there is a file.
        let text = fs::read_to_string(done.path().join("mark"))?;
        assert!(text.contains("writing 00000000000000000001"), "{text}");
        "the failure book has come to writing 00000000000000000000, byte 00000000000000000000, which come to 00000000"
    };
    let not_yet = format!("{not_yet}, check {:08x}\n", crc32fast::hash(not_yet.as_bytes()));
    for files in [
        &[][..],
        &[("mark.new", &b"the fail"[..])],
        &[("mark", not_yet.as_bytes())],
        &[("mark", not_yet.as_bytes()), ("journal.new", &made[..20])],
        &[("mark", not_yet.as_bytes()), ("journal", &made[..])],
    ] {
        let folder = place()?;
        File::create(folder.path().join("lock"))?;
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes)?;
        }
        let opened = FileJournal::open(Options::new(folder.path()))?;
        assert_eq!((opened.trust, &opened.notes[..]), (Trust::Whole, &[][..]));
        let mut journal = opened.journal;
        assert_eq!(journal.load()?, None);
        let mut book = book_script::open(journal, 1)?;
        book_script::run(&mut book, 1)?;
        drop(book);
        assert!(open(folder.path())?.load()?.is_some());
    }
    Ok(())
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
