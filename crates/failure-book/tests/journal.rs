//! The journal in memory keeps the port's contract, its faults do what their script says, and what
//! cannot be read is never an empty book.

use failure_book::{
    BadName, Begun, Book, BookId, Build, Change, Disk, ExecutionId, Failure, FailureBook, Fault,
    Host, Hosts, Intent, Journal, MarkerWish, MemoryJournal, MemoryJournalError, Mode, OpenError,
    Row, RowChange, RowError, RowKey, Rules, Served, Step, Time, Unsaved, contract,
};
use std::convert::Infallible;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

#[test]
fn keeps_the_contract() -> Outcome {
    contract::check(MemoryJournal::new, |journal| journal)?;
    Ok(())
}

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn open(
    journal: MemoryJournal,
) -> Result<FailureBook<MemoryJournal>, OpenError<MemoryJournalError, Infallible>> {
    let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
    FailureBook::open(journal, now(), fresh, Rules::default())
}

fn failure(build: &Build) -> Result<Failure, Box<dyn Error>> {
    Ok(Failure {
        build: build.clone(),
        host: Host::new("h1")?,
        cause: "release".to_owned(),
        mode: Mode::OVERLAP,
        reason: "it exited".to_owned(),
        promoted_at: Some(now()),
        at: Some(now()),
        held_down: Hosts::default(),
        marker: MarkerWish::Set,
        exec: None,
        start: None,
        snapshot: None,
    })
}

fn build(name: &str) -> Result<Build, BadName> {
    Build::new("ac", "web", name)
}

/// One failure with a marker: the book's row, a generation, a record and a marker. Under one fault:
/// what is answered, and how many rows are there.
#[test]
fn each_fault_answers_and_lands_what_it_says() -> Outcome {
    let cases = [
        (None, 4),
        (Some(Fault::Fails), 0),
        (Some(Fault::Lies), 4),
        (Some(Fault::Torn { entries: 0 }), 0),
        (Some(Fault::Torn { entries: 2 }), 2),
        (Some(Fault::Torn { entries: 9 }), 4),
    ];
    for (fault, rows) in cases {
        let mut book = open(MemoryJournal::new())?;
        if let Some(fault) = fault {
            book.journal_mut().fault_after(0, fault);
        }
        let failure = failure(&build("b1")?)?;
        let answer = book.run(|book| book.record(failure, now()));
        assert_eq!(answer.error, fault.map(|_| Unsaved::Failed), "{fault:?}");
        assert_eq!(book.failure().is_some(), fault.is_some(), "{fault:?}");
        assert_eq!(book.book().save_owed(), fault.is_some(), "{fault:?}");
        assert_eq!(book.journal_mut().entries_mut().len(), rows, "{fault:?}");
    }
    Ok(())
}

#[test]
fn what_failed_to_land_lands_with_the_next_change() -> Outcome {
    let mut book = open(MemoryJournal::new())?;
    book.journal_mut().set_disk(Disk::TakesNoWrites);
    for name in ["b1", "b2"] {
        let failure = failure(&build(name)?)?;
        let answer = book.run(|book| book.record(failure, now()));
        assert_eq!(answer.error, Some(Unsaved::Failed));
    }
    let host = Host::new("h1")?;
    assert!(book.book().blocks(&build("b1")?, &host, Served::NotYet), "memory is the truth");
    assert_eq!(book.book().published_generation(&build("b1")?, &host), None);

    book.journal_mut().set_disk(Disk::Well);
    assert_eq!(book.run(Book::save_if_dirty).error, None);
    assert!(book.book().published_generation(&build("b1")?, &host).is_some());
    assert_eq!(book.journal_mut().load()?, Some(book.book().kept()));
    Ok(())
}

#[test]
fn a_change_costs_what_it_changed() -> Outcome {
    let mut book = open(MemoryJournal::new())?;
    for place in 0..1_000 {
        let failure = failure(&build(&format!("b{place}"))?)?;
        assert_eq!(book.run(|book| book.record(failure, now())).error, None);
    }
    let rows = |operation: &dyn Fn(&mut Book) -> Step<()>| {
        let mut book = book.book().clone();
        match operation(&mut book) {
            Step::Done(_) => 0,
            Step::Land(change, _) => change.rows().len(),
        }
    };
    assert_eq!(rows(&|book| book.save_if_dirty()), 0);
    assert_eq!(rows(&|book| book.flush()), 0, "a flush of nothing is an empty change");
    let installed =
        (1..1_000).map(|place| build(&format!("b{place}"))).collect::<Result<_, _>>()?;
    assert_eq!(rows(&|book| book.prune(&installed)), 3, "the counter, a generation, a record");
    Ok(())
}

/// Safe even where only the first rows of a change land: see `Change`.
#[test]
fn a_change_is_written_in_the_safe_order() -> Outcome {
    let mut book = open(MemoryJournal::new())?;
    let host = Host::new("h1")?;
    let intent = Intent {
        build: build("b2")?,
        mode: Mode::HOLD,
        id: ExecutionId::new("a1f-1")?,
        start: None,
    };
    let first_build = build("b1")?;
    let first = failure(&first_build)?;
    assert_eq!(book.run(|book| book.record(first, now())).error, None);
    assert_eq!(book.run(|book| book.begin(&host, intent)).error, None);
    // Four changes that failed to land, and a fifth that brings all of them along.
    book.journal_mut().set_disk(Disk::TakesNoWrites);
    let pointer = Time::from_timestamp(1, 0);
    let _ = book.run(|book| book.clear_on_pointer(&first_build, pointer));
    let id = ExecutionId::new("a1f-1")?;
    let _ = book.run(|book| book.end(&host, &id));
    let _ = book.run(|book| book.clear_hold_ran(&host));
    let second = Failure { marker: MarkerWish::Leave, ..failure(&build("b2")?)? };
    let _ = book.run(|book| book.record(second, now()));
    let mut book = book.book().clone();
    let Step::Land(change, _) = book.save_if_dirty() else { return Err("nothing is owed".into()) };
    let order: Vec<_> = change
        .rows()
        .iter()
        .map(|row| match row {
            RowChange::Put(Row::Book { .. }) => "counter",
            RowChange::Put(Row::Generation(..)) => "generation",
            RowChange::Put(Row::Record(..)) => "record",
            RowChange::Drop(RowKey::Record(_)) => "no record",
            RowChange::Drop(RowKey::Marker(_)) => "no marker",
            RowChange::Drop(RowKey::Intent(_)) => "no intent",
            RowChange::Put(_) | RowChange::Drop(_) => "something else",
        })
        .collect();
    assert_eq!(order, ["counter", "generation", "record", "no record", "no marker", "no intent"]);
    Ok(())
}

/// So one journal can outlive several books, as a disk does.
#[test]
fn a_borrowed_journal_is_the_journal() -> Outcome {
    let mut journal = MemoryJournal::new();
    let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
    let mut book = FailureBook::open(&mut journal, now(), fresh, Rules::default())?;
    assert_eq!(book.run(Book::save_if_dirty).error, None);
    let kept = book.book().kept();
    assert_eq!(book.into_journal().landings(), 1);
    assert_eq!(journal.load()?.as_ref(), Some(&kept));

    let fresh = || Ok::<_, Infallible>(BookId::from_random([8; 16]));
    let again = FailureBook::open(&mut journal, now(), fresh, Rules::default())?;
    assert_eq!(again.book().kept(), kept);
    Ok(())
}

#[test]
fn landings_are_counted_and_faults_can_be_forgotten() -> Outcome {
    let mut journal = MemoryJournal::new();
    journal.fault_after(1, Fault::Fails);
    journal.fault_after(2, Fault::Fails);
    journal.land(&Change::default())?;
    assert!(journal.land(&Change::default()).is_err());
    journal.forget_faults();
    journal.land(&Change::default())?;
    assert_eq!(journal.landings(), 3, "those that failed are counted too");
    Ok(())
}

#[test]
fn an_open_writes_nothing() -> Outcome {
    let book = open(MemoryJournal::new())?;
    assert!(book.book().save_owed());
    assert_eq!(book.journal().landings(), 0);
    Ok(())
}

/// A journal with one row of each kind.
fn full() -> Result<MemoryJournal, Box<dyn Error>> {
    let mut book = open(MemoryJournal::new())?;
    let failure = failure(&build("b1")?)?;
    assert_eq!(book.run(|book| book.record(failure, now())).error, None);
    let intent = Intent {
        build: build("b2")?,
        mode: Mode::HOLD,
        id: ExecutionId::new("a1f-1")?,
        start: None,
    };
    let host = Host::new("h1")?;
    let begun = book.run(|book| book.begin(&host, intent));
    assert_eq!(begun.value, Begun::MayExecute);
    Ok(book.into_journal())
}

#[test]
fn what_cannot_be_read_is_an_error_and_no_empty_book() -> Outcome {
    let mut gone = full()?;
    gone.set_disk(Disk::Gone);
    assert!(matches!(open(gone), Err(OpenError::Journal(MemoryJournalError::Scripted))));

    let keys: Vec<_> = full()?.entries_mut().keys().cloned().collect();
    assert_eq!(keys.len(), 5);
    for key in keys {
        for value in ["", "[]", "null", "{", "\"x\"", "{\"at\": \"yesterday\"}"] {
            let mut journal = full()?;
            journal.entries_mut().insert(key.clone(), value.as_bytes().to_vec());
            let damaged = matches!(
                open(journal),
                Err(OpenError::Journal(MemoryJournalError::Damaged(RowError::Damaged { key: named, .. })))
                    if named == key
            );
            assert!(damaged, "{key}: {value:?}");
        }
    }
    Ok(())
}

#[test]
fn entries_that_nobody_knows_are_an_error() -> Outcome {
    let with = |key: &str, value: &str| {
        let mut journal = full()?;
        journal.entries_mut().insert(key.to_owned(), value.as_bytes().to_vec());
        let Err(OpenError::Journal(MemoryJournalError::Damaged(error))) = open(journal) else {
            return Err(format!("{key} was read").into());
        };
        Ok::<_, Box<dyn Error>>(error)
    };
    let keys = [
        "",
        "books",
        "record/1",
        "record/ffffffffffffffff",
        "record/+000000000000001",
        "generation/web",
        "generation/a/b/c",
        "marker/a/b",
        "intent/a/b",
        "pointer/h1",
    ];
    for key in keys {
        let value = if key.starts_with("generation") { "1" } else { r#"{"id": "a1"}"# };
        assert!(matches!(with(key, value)?, RowError::UnknownKey { key: named } if named == key));
    }
    let newer = r#"{"format": 2, "book": "00112233445566778899aabbccddeeff", "seq": 1}"#;
    assert!(matches!(with("book", newer)?, RowError::UnknownFormat { format: 2 }));

    let mut journal = full()?;
    journal.entries_mut().remove("book");
    let opened = open(journal);
    assert!(matches!(
        opened,
        Err(OpenError::Journal(MemoryJournalError::Damaged(RowError::NoBook)))
    ));
    Ok(())
}

/// Whatever time somebody reports, the book can be read again afterwards, and is the same.
#[test]
fn times_of_any_kind_are_read_back() -> Outcome {
    let first_second = Time::from_timestamp(-62_135_596_800, 0);
    let leap = "2016-12-31T23:59:60.5Z".parse().ok();
    let fraction = "2026-03-01T00:00:05.000000001Z".parse().ok();
    let times = [None, first_second, leap, fraction, Some(Time::MIN_UTC), Some(Time::MAX_UTC)];
    let mut book = open(MemoryJournal::new())?;
    for (place, time) in times.into_iter().enumerate() {
        let failure = Failure {
            promoted_at: time,
            at: time,
            start: time,
            host: Host::new(&format!("h{place}"))?,
            ..failure(&build(&format!("b{place}"))?)?
        };
        assert_eq!(book.run(|book| book.record(failure, now())).error, None);
        assert_eq!(book.journal_mut().load()?, Some(book.book().kept()), "{time:?}");
    }
    let host = Host::new("h1")?;
    let intent = Intent {
        build: build("b9")?,
        mode: Mode::OVERLAP,
        id: ExecutionId::new("a1f-1")?,
        start: first_second,
    };
    assert_eq!(book.run(|book| book.begin(&host, intent)).error, None);
    assert_eq!(book.book().intent_of(&host).and_then(|intent| intent.start), None);
    assert_eq!(book.journal_mut().load()?, Some(book.book().kept()));

    let stamp = |name| book.book().lookup(&build(name).unwrap()).and_then(|record| record.at);
    assert_eq!((stamp("b0"), stamp("b1"), stamp("b2")), (None, None, leap));
    let marked = book.book().hold_ran_on(&Host::new("h1")?).and_then(|marker| marker.at);
    assert_eq!(marked, Some(now()), "a start that is not known is stamped");
    Ok(())
}
