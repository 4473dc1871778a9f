//! The failure book's journal on disk keeps the port's contract, agrees with the one in memory, and fails closed.

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::path::Path;

use failure_book::{Build, FailureBook, Journal, MemoryJournal, contract};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use store::{Batch, Entry, Expect, Store};
use journal_file::{Damage, JournalError, Note, OpenError, Options, Room, FileJournal, SledStore};
use tempfile::TempDir;

#[path = "child/book_script.rs"]
mod book_script;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

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
    for folder in folders.borrow().iter() {
        let blobs = fs::read_dir(folder.path().join("data/blobs"))?.count();
        assert_eq!(blobs, 0, "a page went to a file of its own");
    }
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
    }
    Ok(())
}

#[test]
fn a_damaged_journal_is_named_and_never_an_empty_book() -> Outcome {
    type Damaging = fn(&Path) -> std::io::Result<()>;
    let damages: [(Damaging, &str); 5] = [
        (|db| fs::remove_file(db), "it is missing"),
        (|db| fs::write(db, b""), "it has nothing of the store that was made"),
        (|db| cut(db, 2), ""),
        (|db| cut(db, 5), ""),
        (|db| fs::write(db, vec![0x5a; 600_000]), ""),
    ];
    for (damage, said) in damages {
        let folder = filled()?;
        let db = folder.path().join("data/db");
        damage(&db)?;
        let before = fs::read(&db).ok();
        for _ in 0..2 {
            let error = open(folder.path()).err().ok_or("a damaged journal was opened")?;
            assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(db.to_str().ok_or("not text")?) && text.contains(said), "{text}");
        }
        assert_eq!(fs::read(&db).ok(), before, "it was not left as it was found");
    }
    Ok(())
}

/// A journal that is cut back to its making, beside its mark and without it.
#[test]
fn a_made_journal_without_its_changes_is_no_empty_book() -> Outcome {
    let folder = place()?;
    drop(open(folder.path())?);
    let db = folder.path().join("data/db");
    let empty = fs::read(&db)?;
    // With its mark it is an empty one, which it is.
    assert_eq!(open(folder.path())?.load()?, None);

    let filled = filled()?;
    let root = filled.path();
    for snapshot in fs::read_dir(root.join("data"))? {
        let path = snapshot?.path();
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"snap.")) {
            fs::remove_file(path)?;
        }
    }
    fs::write(root.join("data/db"), &empty)?;
    let error = open(root).err().ok_or("opened")?;
    assert!(matches!(error, OpenError::Damaged { what: Damage::Behind { .. }, .. }), "{error}");
    for damage in [None, Some("no mark")] {
        match damage {
            Some(text) => fs::write(root.join("mark"), text)?,
            None => fs::remove_file(root.join("mark"))?,
        }
        for _ in 0..2 {
            let error = open(root).err().ok_or("taken for an empty book")?;
            assert!(matches!(error, OpenError::Damaged { what: Damage::Empty, .. }), "{error}");
        }
    }
    Ok(())
}

#[test]
fn a_journal_that_lost_its_mark_opens_and_says_so() -> Outcome {
    let folder = filled()?;
    fs::remove_file(folder.path().join("mark"))?;
    let opened = FileJournal::open(Options::new(folder.path()))?;
    assert!(matches!(&opened.notes[..], [Note::MissingMark { .. }]), "{:?}", opened.notes);
    let mut journal = opened.journal;
    assert!(journal.load()?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_store_of_documents_is_no_journal_and_a_journal_no_store() -> Outcome {
    let folder = place()?;
    let store = SledStore::open(Options::new(folder.path())).await?.store;
    let put = Entry::put("plan/1".parse()?, Expect::Absent, vec![1]);
    store.commit(Batch::new(vec![put])?).await?;
    store.close().await;
    let error = open(folder.path()).err().ok_or("a store was opened as a journal")?;
    assert!(matches!(error, OpenError::Schema { .. }), "{error}");
    let said = "says \"bellwether store 2\", and what this build opens there says \"bellwether failure book 2\"";
    assert!(error.to_string().contains(said), "{error}");

    let folder = filled()?;
    let opened = SledStore::open(Options::new(folder.path())).await;
    assert!(matches!(opened, Err(OpenError::Schema { .. })), "{opened:?}");
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
fn without_room_a_change_is_refused_before_anything_is_touched_and_owed() -> Outcome {
    let folder = place()?;
    let full = Options { room: Room::Leave { bytes: u64::MAX }, ..Options::new(folder.path()) };
    let mut book = book_script::open(FileJournal::open(full)?.journal, 1)?;
    assert!(book_script::run(&mut book, 1).is_err());
    assert!(matches!(book.failure(), Some(JournalError::Full { .. })), "{:?}", book.failure());
    let flushed = book.journal_mut().land(&failure_book::Change::default());
    assert!(matches!(flushed, Err(JournalError::Full { .. })), "{flushed:?}");
    assert!(book.book().save_owed());
    assert_eq!(book.journal_mut().load()?, None);
    Ok(())
}

/// The mark moves with every commit, and only when that is on the disk.
#[test]
fn an_empty_change_is_written_through() -> Outcome {
    let folder = filled()?;
    let mut journal = open(folder.path())?;
    let mark = || fs::read(folder.path().join("mark"));
    let (before, kept) = (mark()?, journal.load()?);
    journal.land(&failure_book::Change::default())?;
    assert_ne!(mark()?, before);
    drop(journal);
    assert!(open(folder.path())?.load()? == kept);
    Ok(())
}

#[test]
fn a_name_that_cannot_be_kept_is_named() -> Outcome {
    let folder = place()?;
    let mut book = book_script::open(open(folder.path())?, 1)?;
    let host = failure_book::Host::new(&"x".repeat(2_000))?;
    let ran =
        failure_book::HoldRan { build: Build::new("account", "app", "b1")?, exec: None, at: None };
    let answer = book.run(|book| book.mark_hold_ran(&host, ran, failure_book::Time::UNIX_EPOCH));
    assert!(answer.error.is_some());
    let error = book.failure().ok_or("it landed")?;
    assert!(matches!(error, JournalError::NameTooLong { .. }), "{error}");
    assert!(error.to_string().contains("marker/xxx"), "{error}");
    Ok(())
}

/// A closed journal with some hundred changes.
fn filled() -> Outcome<TempDir> {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    for number in 1..300 {
        book_script::run(&mut book, number)?;
    }
    Ok(folder)
}

fn open(folder: &Path) -> Result<FileJournal, OpenError> {
    Ok(FileJournal::open(Options::new(folder))?.journal)
}

/// In memory where there is such a place, since many are opened.
fn place() -> std::io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// Leaves only the first part of a file.
fn cut(path: &Path, parts: u64) -> std::io::Result<()> {
    let length = fs::metadata(path)?.len();
    fs::File::options().write(true).open(path)?.set_len(length / parts)
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
