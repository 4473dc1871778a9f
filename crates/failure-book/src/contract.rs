//! The contract: what every journal keeps, as checks that its own tests run.
//!
//! Each rule gets a journal of its own, empty. A rule that is broken panics where it is broken; a
//! journal that answers an error where none is due ends the check with a [`Violation`] that names
//! the rule.

use crate::{
    Answer, Book, BookId, Build, Change, ExecutionId, Failure, HoldRan, Host, Hosts, Intent,
    Journal, Kept, Landing, MarkerWish, Mode, Rules, Step, Time,
};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use core::convert::Infallible;
use core::error::Error;
use core::fmt;

/// A rule that a journal did not keep, with the error it answered.
#[derive(Debug)]
pub struct Violation {
    rule: &'static str,
    source: Box<dyn Error>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the journal breaks its contract: {}", self.rule)
    }
}

impl Error for Violation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

const NOW: Time = Time::UNIX_EPOCH;

type Outcome = Result<(), Box<dyn Error>>;

/// A check of one rule, which may open its journal anew.
type Rule<J> = fn(Written<J>, &mut dyn FnMut(J) -> J) -> Outcome;

/// What every journal keeps. `fresh` answers an empty one; `reopen` lets one go and answers the
/// same one opened anew.
///
/// # Errors
///
/// [`Violation`].
///
/// # Panics
///
/// Where a rule is broken.
pub fn check<J: Journal>(
    mut fresh: impl FnMut() -> J,
    mut reopen: impl FnMut(J) -> J,
) -> Result<(), Violation> {
    let rules: [(&'static str, Rule<J>); 7] = [
        ("a journal in which nothing landed holds no book", nothing_at_first),
        ("every kind of row is read back, and gone when it is dropped", every_kind),
        ("records keep their order", order),
        ("a change that lands twice has landed once", twice),
        ("an empty change lands", empty),
        ("names that begin alike, or look odd, are apart", odd_names),
        ("a large change is whole, and so are large rows", large),
    ];
    for (rule, check) in rules {
        let violation = |source| Violation { rule, source };
        let written = Written::new(fresh()).map_err(violation)?;
        check(written, &mut reopen).map_err(violation)?;
    }
    Ok(())
}

/// A book over the journal, and what the journal must hold.
struct Written<J> {
    book: Book,
    journal: J,
    expected: Kept,
}

impl<J: Journal> Written<J> {
    fn new(journal: J) -> Result<Self, Box<dyn Error>> {
        let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
        let book = Book::open(None, NOW, fresh, Rules::default())?;
        Ok(Self { book, journal, expected: Kept::default() })
    }

    /// Runs an operation, lands its change, and looks at what the journal holds then.
    fn run<A>(&mut self, operation: impl FnOnce(&mut Book) -> Step<A>) -> Outcome {
        if let Step::Land(change, then) = operation(&mut self.book) {
            self.land(&change)?;
            let Answer { .. } = self.book.landed(then, Landing::Landed);
        }
        self.is_as_expected()
    }

    fn land(&mut self, change: &Change) -> Outcome {
        self.journal.land(change)?;
        self.expected.apply(change);
        Ok(())
    }

    fn is_as_expected(&mut self) -> Outcome {
        assert_eq!(self.journal.load()?.as_ref(), Some(&self.expected));
        Ok(())
    }

    /// Lets the journal go and opens it anew: it holds the same.
    fn reopened(self, reopen: &mut dyn FnMut(J) -> J) -> Result<Self, Box<dyn Error>> {
        let Self { book, journal, expected } = self;
        let mut again = Self { book, journal: reopen(journal), expected };
        again.is_as_expected()?;
        Ok(again)
    }
}

fn nothing_at_first<J: Journal>(
    mut written: Written<J>,
    reopen: &mut dyn FnMut(J) -> J,
) -> Outcome {
    assert_eq!(written.journal.load()?, None);
    let mut journal = reopen(written.journal);
    assert_eq!(journal.load()?, None);
    Ok(())
}

fn every_kind<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    let host = Host::new("h1")?;
    let build = Build::new("ac", "web", "b1")?;
    let id = ExecutionId::new("a1f-1")?;
    written.run(Book::flush)?;
    let intent =
        Intent { build: build.clone(), mode: Mode::HOLD, id: id.clone(), start: Some(NOW) };
    written.run(|book| book.begin(&host, intent))?;
    let failure = failure(&build, &host, "it exited");
    written.run(|book| book.record(failure, NOW))?;
    let ran = HoldRan { build: build.clone(), exec: Some(id.clone()), at: None };
    written.run(|book| book.mark_hold_ran(&host, ran, NOW))?;
    written.run(|book| book.rotate_identity(BookId::from_random([8; 16])))?;
    let mut written = written.reopened(reopen)?;
    written.run(|book| book.end(&host, &id))?;
    written.run(|book| book.retry_host(&build, &host))?;
    written.run(|book| book.clear_hold_ran(&host))?;
    written.run(|book| book.prune(&BTreeSet::new()))?;
    let written = written.reopened(reopen)?;
    assert_eq!(written.book.kept(), written.expected);
    Ok(())
}

fn order<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    let host = Host::new("h1")?;
    // More than sixteen, and not in the order of their names.
    for place in 0..40 {
        let build = Build::new("ac", "web", &format!("b{}", place * 7 % 40))?;
        let failure = failure(&build, &host, "it exited");
        written.run(|book| book.record(failure, NOW))?;
    }
    let pointer = Time::from_timestamp(1, 0);
    for place in [3, 0, 17] {
        let build = Build::new("ac", "web", &format!("b{place}"))?;
        written.run(|book| book.clear_on_pointer(&build, pointer))?;
        let failure = failure(&build, &host, "it exited again");
        written.run(|book| book.record(failure, NOW))?;
    }
    written.reopened(reopen)?;
    Ok(())
}

fn twice<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    let host = Host::new("h1")?;
    let failure = failure(&Build::new("ac", "web", "b1")?, &host, "it exited");
    if let Step::Land(change, then) = written.book.record(failure, NOW) {
        written.land(&change)?;
        written.land(&change)?;
        let Answer { .. } = written.book.landed(then, Landing::Landed);
    }
    written.is_as_expected()?;
    written.reopened(reopen)?;
    Ok(())
}

fn empty<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    written.land(&Change::default())?;
    assert_eq!(written.journal.load()?, None);
    written.run(Book::flush)?;
    written.run(Book::flush)?;
    written.reopened(reopen)?;
    Ok(())
}

fn odd_names<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    let long = "long-".repeat(60);
    let names = ["", "h", "h1", "h10", "h1 ", "H1", "ä", "\0", "\u{ffff}", ".", "..", &long];
    for (place, name) in names.into_iter().enumerate() {
        let host = Host::new(name)?;
        let build = Build::new(name, name, name)?;
        let intent = Intent {
            build: build.clone(),
            mode: Mode::new(name.to_string()),
            id: ExecutionId::new(&format!("w1f-{place}"))?,
            start: None,
        };
        written.run(|book| book.begin(&host, intent))?;
        let failure = Failure { marker: MarkerWish::Set, ..failure(&build, &host, name) };
        written.run(|book| book.record(failure, NOW))?;
    }
    let mut written = written.reopened(reopen)?;
    let host = Host::new("h1")?;
    written.run(|book| book.clear_hold_ran(&host))
}

fn large<J: Journal>(mut written: Written<J>, reopen: &mut dyn FnMut(J) -> J) -> Outcome {
    let host = Host::new("h1")?;
    let last_lines: String =
        (0..2_000).map(|line| format!("line {line} of the output\n")).collect();
    let failed = failure(&Build::new("ac", "web", "b")?, &host, &last_lines);
    written.run(|book| book.record(failed, NOW))?;
    // What failed to land before lands with the next change, and may be much.
    for place in 0..1_000 {
        let build = Build::new("ac", &format!("app-{}", place % 50), &format!("b{place}"))?;
        let failed = failure(&build, &host, "it exited");
        if let Step::Land(_, then) = written.book.record(failed, NOW) {
            let Answer { .. } = written.book.landed(then, Landing::Failed);
        }
    }
    written.run(Book::save_if_dirty)?;
    written.run(|book| book.prune(&BTreeSet::new()))?;
    written.reopened(reopen)?;
    Ok(())
}

fn failure(build: &Build, host: &Host, reason: &str) -> Failure {
    Failure {
        build: build.clone(),
        host: host.clone(),
        cause: "release".to_string(),
        mode: Mode::HOLD,
        reason: reason.to_string(),
        promoted_at: Some(NOW),
        at: Some(NOW),
        held_down: Hosts::from_iter([host.clone()]),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    }
}
