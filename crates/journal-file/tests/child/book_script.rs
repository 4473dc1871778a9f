//! What is done to a failure book, as a function of a number: so whoever reads the journal afterwards knows what must be
//! in it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::error::Error;

use failure_book::{
    Answer, Book, BookId, Build, ExecutionId, Failure, FailureBook, HoldRan, Host, Hosts, Intent,
    Journal, MarkerWish, Mode, Rules, Time,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Opens the book, which then holds what its intents became; nothing is written.
pub(crate) fn open<J>(journal: J, number: u64) -> Outcome<FailureBook<J>>
where
    J: Journal,
    J::Error: Send + Sync,
{
    let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
    Ok(FailureBook::open(journal, at(number)?, fresh, Rules::default())?)
}

/// Lands what the open left owed.
pub(crate) fn settle<J: Journal>(book: &mut FailureBook<J>) -> Outcome<String> {
    said(book.run(Book::save_if_dirty))
}

/// Does what this number asks for, and answers in words what was said; an error when that did not land.
pub(crate) fn run<J: Journal>(book: &mut FailureBook<J>, number: u64) -> Outcome<String> {
    let now = at(number)?;
    let host = Host::new(&format!("h{}", number % 5))?;
    // Drawn apart from what is done, so that each build meets everything.
    let build = build(number / 3 % 12)?;
    let id = ExecutionId::new(&format!("a1f-{}", number / 8))?;
    match number % 8 {
        0 => {
            let intent = Intent { build, mode: Mode::HOLD, id, start: Some(now) };
            said(book.run(|book| book.begin(&host, intent)))
        }
        1 | 2 => {
            let failure = failure(number, build, host, id)?;
            said(book.run(|book| book.record(failure, now)))
        }
        3 => {
            // The host on which this round began.
            let host = Host::new(&format!("h{}", (number - 3) % 5))?;
            said(book.run(|book| book.end(&host, &id)))
        }
        4 => {
            let ran = HoldRan { build, exec: Some(id), at: Some(now) };
            said(book.run(|book| book.mark_hold_ran(&host, ran, now)))
        }
        5 => said(book.run(|book| book.retry_host(&build, &host))),
        6 if number.is_multiple_of(5) => said(book.run(|book| book.clear_hold_ran(&host))),
        6 => said(book.run(|book| book.clear_on_pointer(&build, Some(now)))),
        _ if number.is_multiple_of(9) => {
            let installed: BTreeSet<Build> = (0..6).map(self::build).collect::<Result<_, _>>()?;
            said(book.run(|book| book.prune(&installed)))
        }
        _ => said(book.run(Book::flush)),
    }
}

fn said<A: std::fmt::Debug>(answer: Answer<A>) -> Outcome<String> {
    match answer.error {
        Some(error) => Err(error.into()),
        None => Ok(format!("{:?}", answer.value)),
    }
}

fn failure(number: u64, build: Build, host: Host, id: ExecutionId) -> Outcome<Failure> {
    let now = at(number)?;
    // From a word to more than three values of the store.
    let lines = usize::try_from(number % 7 * number % 500)?;
    Ok(Failure {
        build,
        held_down: Hosts::from_iter([host.clone()]),
        host,
        cause: "release".to_owned(),
        mode: Mode::HOLD,
        reason: format!("it exited {number}\n{}", "a line of its output\n".repeat(lines)),
        promoted_at: Some(now),
        at: Some(now),
        marker: if number.is_multiple_of(4) { MarkerWish::Set } else { MarkerWish::Leave },
        exec: Some(id),
        start: Some(now),
        snapshot: None,
    })
}

fn build(number: u64) -> Outcome<Build> {
    Ok(Build::new("account", &format!("app-{}", number % 3), &format!("b{number}"))?)
}

fn at(number: u64) -> Outcome<Time> {
    Time::from_timestamp(i64::try_from(number)?, 0).ok_or_else(|| "no such time".into())
}
