//! The book without its wrapper: steps, tickets, and what is seen while a change is being landed.

use failure_book::{
    Answer, BadName, Begun, Book, BookId, Build, Change, Cleared, ExecutionId, Failure, Freed,
    Grant, Granted, HoldRan, Host, Hosts, Intent, Journal, Landing, MarkerWish, MemoryJournal,
    Mode, NotBegun, NotFreed, Recorded, Row, RowChange, RowKey, Rules, Served, Step, Then, Time,
    Unsaved,
};
use std::convert::Infallible;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn build(name: &str) -> Result<Build, BadName> {
    Build::new("ac", "web", name)
}

fn host() -> Result<Host, BadName> {
    Host::new("h1")
}

fn failure(name: &str) -> Result<Failure, Box<dyn Error>> {
    Ok(Failure {
        build: build(name)?,
        host: host()?,
        cause: "release".to_owned(),
        mode: Mode::OVERLAP,
        reason: "it exited".to_owned(),
        promoted_at: Some(now()),
        at: Some(now()),
        held_down: Hosts::default(),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    })
}

fn intent(id: &str) -> Result<Intent, Box<dyn Error>> {
    let id = ExecutionId::new(id)?;
    Ok(Intent { build: build("b2")?, mode: Mode::HOLD, id, start: Some(now()) })
}

/// A book that owes nothing.
fn saved() -> Result<Book, Box<dyn Error>> {
    let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
    let mut book = Book::open(None, now(), fresh, Rules::default())?;
    let (_, then) = landing(book.save_if_dirty())?;
    assert_eq!(book.landed(then, Landing::Landed).error, None);
    Ok(book)
}

/// The change and the ticket of a step that has them.
fn landing<A>(step: Step<A>) -> Result<(Change, Then<A>), Box<dyn Error>> {
    match step {
        Step::Land(change, then) => Ok((change, then)),
        Step::Done(_) => Err("there is nothing to land".into()),
    }
}

fn done<A>(step: Step<A>) -> Result<Answer<A>, Box<dyn Error>> {
    match step {
        Step::Done(answer) => Ok(answer),
        Step::Land(..) => Err("there is something to land".into()),
    }
}

#[test]
fn while_a_change_is_being_landed_memory_is_new_and_nothing_is_published() -> Outcome {
    let mut book = saved()?;
    let (_, then) = landing(book.record(failure("b1")?, now()))?;
    assert!(book.blocks(&build("b1")?, &host()?, Served::NotYet));
    assert!(book.restriction_generation(&build("b1")?, &host()?).is_some());
    assert_eq!(book.published_generation(&build("b1")?, &host()?), None);

    let answer = book.landed(then, Landing::Landed);
    assert_eq!(answer, Answer { value: Recorded::Recorded, error: None });
    assert!(book.published_generation(&build("b1")?, &host()?).is_some());
    Ok(())
}

#[test]
fn a_change_has_the_rows_that_were_touched() -> Outcome {
    let mut book = saved()?;
    let (change, then) = landing(book.record(failure("b1")?, now()))?;
    let answer = book.landed(then, Landing::Failed);
    assert_eq!(answer, Answer { value: Recorded::Recorded, error: Some(Unsaved::Failed) });
    let keys = |change: &Change| -> Vec<RowKey> {
        let key = |row: &RowChange| match row {
            RowChange::Put(row) => row.key(),
            RowChange::Drop(key) => key.clone(),
        };
        change.rows().iter().map(key).collect()
    };
    assert!(matches!(&keys(&change)[..], [RowKey::Book, RowKey::Generation(_), RowKey::Record(_)]));

    // What failed is in the next change, as it is then, and once.
    let (next, then) = landing(book.record(failure("b2")?, now()))?;
    assert!(matches!(
        &keys(&next)[..],
        [RowKey::Book, RowKey::Generation(_), RowKey::Record(_), RowKey::Record(_)]
    ));
    assert!(matches!(&next.rows()[1], RowChange::Put(Row::Generation(_, 2))));
    assert_eq!(book.landed(then, Landing::Landed).error, None);
    assert_eq!(done(book.save_if_dirty())?.error, None);
    let (flushed, then) = landing(book.flush())?;
    assert_eq!(flushed.rows(), [], "a flush lands an empty change");
    assert_eq!(book.landed(then, Landing::Failed).error, Some(Unsaved::Failed));
    assert!(book.save_owed(), "a save is owed after any that failed");
    Ok(())
}

#[test]
fn a_lost_ticket_leaves_its_change_owed() -> Outcome {
    let mut book = saved()?;
    let mut journal = MemoryJournal::new();
    let (_, lost) = landing(book.record(failure("b1")?, now()))?;
    drop(lost);
    assert!(book.save_owed());
    let (change, then) = landing(book.save_if_dirty())?;
    journal.land(&change)?;
    assert_eq!(book.landed(then, Landing::Landed).error, None);
    assert_eq!(journal.load()?, Some(book.kept()));
    Ok(())
}

#[test]
fn a_begun_intent_that_did_not_land_is_taken_back() -> Outcome {
    let mut book = saved()?;
    let (_, then) = landing(book.begin(&host()?, intent("w1f-1")?))?;
    assert_eq!(book.landed(then, Landing::Landed).value, Begun::MayExecute);

    let (_, then) = landing(book.begin(&host()?, intent("w1f-2")?))?;
    let answer = book.landed(then, Landing::Failed);
    assert_eq!(answer.value, Begun::No(NotBegun::NotLanded));
    assert_eq!(answer.error, Some(Unsaved::Failed));
    assert_eq!(book.intent_of(&host()?), Some(&intent("w1f-1")?));
    // The disk may have the other one, so the row is part of the next change.
    let (change, _) = landing(book.save_if_dirty())?;
    assert_eq!(change.rows(), [RowChange::Put(Row::Intent(host()?, intent("w1f-1")?))]);

    let refused = done(book.begin(&host()?, intent("a1f-3")?))?;
    let standing = ExecutionId::new("w1f-1")?;
    assert_eq!(refused.value, Begun::No(NotBegun::IntentStands { id: standing }));
    Ok(())
}

#[test]
fn a_grant_says_why_it_freed_nothing() -> Outcome {
    let mut book = saved()?;
    let (_, then) = landing(book.record(failure("b1")?, now()))?;
    let generation = book.restriction_generation(&build("b1")?, &host()?).ok_or("none")?;
    let grant = Grant { build: build("b1")?, host: host()?, book: book.id(), generation };
    let why = |book: &mut Book, grant: &Grant| -> Result<NotFreed, Box<dyn Error>> {
        match done(book.retry_host_at(grant))?.value {
            Granted { freed: Freed::Nothing(why), .. } => Ok(why),
            Granted { freed, .. } => Err(format!("freed {freed:?}").into()),
        }
    };
    assert_eq!(why(&mut book, &grant)?, NotFreed::SaveOwed);
    assert_eq!(book.landed(then, Landing::Landed).error, None);

    let other = Grant { book: BookId::from_random([8; 16]), ..grant.clone() };
    assert_eq!(why(&mut book, &other)?, NotFreed::OtherBook);
    let other = Grant { build: build("b2")?, ..grant.clone() };
    assert_eq!(why(&mut book, &other)?, NotFreed::NotRestricted);

    let (_, then) = landing(book.record(failure("b2")?, now()))?;
    assert_eq!(book.landed(then, Landing::Landed).error, None);
    let now = book.restriction_generation(&build("b1")?, &host()?).ok_or("none")?;
    assert_eq!(why(&mut book, &grant)?, NotFreed::OtherGeneration { signed: generation, now });

    let fitting = Grant { generation: now, ..grant };
    let (_, then) = landing(book.retry_host_at(&fitting))?;
    assert_eq!(book.landed(then, Landing::Landed).value.freed, Freed::Record);
    assert_eq!(why(&mut book, &fitting)?, NotFreed::NotRestricted, "a grant is good once");
    Ok(())
}

/// One change in flight at a time is what an owner is asked for. One that does otherwise, in the
/// order of the changes, loses nothing.
#[test]
fn landings_that_overlap_leave_nothing_behind() -> Outcome {
    let mut book = saved()?;
    let mut journal = MemoryJournal::new();
    let (first, begin) = landing(book.begin(&host()?, intent("w1f-1")?))?;
    let (second, record) = landing(book.record(failure("b1")?, now()))?;
    journal.land(&second)?;
    assert_eq!(book.landed(record, Landing::Landed).error, None);
    assert_eq!(first.rows().len(), 1);
    let answer = book.landed(begin, Landing::Failed);
    assert_eq!(answer.value, Begun::No(NotBegun::NotLanded));
    // The second change brought the intent to the disk. It was taken back, so that is owed.
    let (change, then) = landing(book.save_if_dirty())?;
    assert_eq!(change.rows(), [RowChange::Drop(RowKey::Intent(host()?))]);
    assert_eq!(book.landed(then, Landing::Landed).error, None);

    // What was begun after it is not taken back with it.
    let (_, begin) = landing(book.begin(&host()?, intent("w1f-2")?))?;
    let (_, later) = landing(book.begin(&host()?, intent("w1f-3")?))?;
    assert_eq!(book.landed(later, Landing::Landed).value, Begun::MayExecute);
    assert_eq!(book.landed(begin, Landing::Failed).value, Begun::No(NotBegun::NotLanded));
    assert_eq!(book.intent_of(&host()?), Some(&intent("w1f-3")?));
    Ok(())
}

#[test]
fn a_host_is_freed_of_all_of_an_app_in_one_change_and_of_nothing_else() -> Outcome {
    let mut book = saved()?;
    let other = Host::new("h2")?;
    let elsewhere = Build::new("ac", "shop", "b1")?;
    let hold = |name| {
        let held_down = Hosts::from_iter([host()?, Host::new("h2")?]);
        Ok::<_, Box<dyn Error>>(Failure { mode: Mode::HOLD, held_down, ..failure(name)? })
    };
    for name in ["b1", "b2"] {
        drop(book.record(hold(name)?, now()));
    }
    drop(book.record(Failure { build: elsewhere.clone(), ..failure("b1")? }, now()));
    drop(book.retry_host(&build("b1")?, &host()?));
    let ran = HoldRan { build: build("b3")?, exec: None, at: Some(now()) };
    drop(book.mark_hold_ran(&host()?, ran, now()));
    let snapshot = book.snapshot();
    let (_, then) = landing(book.save_if_dirty())?;
    let Answer { .. } = book.landed(then, Landing::Landed);
    let generation = book.published_generation(&build("b2")?, &host()?);

    let (change, then) = landing(book.free_host(&build("b1")?.app(), &host()?))?;
    // The counter, the generation, the one record that held it, and the marker.
    assert_eq!(change.rows().len(), 4, "{change:?}");
    assert_eq!(book.landed(then, Landing::Landed).value, Cleared::Yes);
    for name in ["b1", "b2"] {
        assert!(!book.blocks(&build(name)?, &host()?, Served::NotYet));
        assert!(!book.held_down(&build(name)?, &host()?));
        assert!(book.held_down(&build(name)?, &other), "another host of it stays held");
    }
    assert_eq!(book.hold_ran_on(&host()?), None);
    assert!(book.blocks(&elsewhere, &host()?, Served::NotYet), "another app's record stands");
    let moved = book.published_generation(&build("b2")?, &other);
    assert!(moved > generation, "no grant from before counts: {moved:?} {generation:?}");
    // What began before it is older than it, and spends nothing.
    let stale = Failure { snapshot, ..failure("b2")? };
    assert_eq!(done(book.record(stale, now()))?.value, Recorded::PreRetry);
    Ok(())
}

#[test]
fn a_marker_of_another_app_is_not_freed_with_a_host() -> Outcome {
    let mut book = saved()?;
    let ran = HoldRan { build: build("b3")?, exec: None, at: Some(now()) };
    drop(book.mark_hold_ran(&host()?, ran, now()));
    let (_, then) = landing(book.save_if_dirty())?;
    let Answer { .. } = book.landed(then, Landing::Landed);
    let shop = Build::new("ac", "shop", "b1")?.app();
    assert_eq!(done(book.free_host(&shop, &host()?))?.value, Cleared::No);
    assert!(book.hold_ran_on(&host()?).is_some());
    Ok(())
}

#[test]
fn a_host_that_one_thing_holds_is_freed_of_that_and_older_grants_count_no_more() -> Outcome {
    let other = Host::new("h2")?;
    for is_marker in [false, true] {
        let mut book = saved()?;
        // Something else of the app, whose generation tells whether it moved.
        drop(book.record(Failure { host: other.clone(), ..failure("b9")? }, now()));
        if is_marker {
            drop(book.retry_host(&build("b9")?, &host()?));
            let ran = HoldRan { build: build("b3")?, exec: None, at: Some(now()) };
            drop(book.mark_hold_ran(&host()?, ran, now()));
        }
        let (_, then) = landing(book.save_if_dirty())?;
        let Answer { .. } = book.landed(then, Landing::Landed);
        let before = book.published_generation(&build("b9")?, &other);
        let (_, then) = landing(book.free_host(&build("b9")?.app(), &host()?))?;
        assert_eq!(book.landed(then, Landing::Landed).value, Cleared::Yes, "{is_marker}");
        assert!(!book.blocks(&build("b9")?, &host()?, Served::NotYet));
        assert_eq!(book.hold_ran_on(&host()?), None);
        assert!(book.published_generation(&build("b9")?, &other) > before, "{is_marker}");
    }
    Ok(())
}
