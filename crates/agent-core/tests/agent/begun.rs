//! How the agents of these tests begin: the book that each opens, what each is told, and where its processes listen.

use std::net::SocketAddr;
use std::time::Duration;

use agent_core::{Adopted, Agent, Config, Decision, FoundBook, Incarnation, Kept, Now};
use failure_book::{Book, BookId, Rules};
use wire::{BootId, ProcessIdentity};

/// Each process has a port of its own, the first 20001.
pub(crate) fn address_of(process: &ProcessIdentity) -> SocketAddr {
    let port = 20_000 + u16::try_from(process.pid - 100).unwrap();
    SocketAddr::from(([127, 0, 0, 1], port))
}

pub(crate) fn opened(book: Option<failure_book::Kept>, now: Now) -> FoundBook {
    let drawn = u128::from(now.monotonic.as_secs()).to_be_bytes();
    let fresh = || Ok::<_, std::convert::Infallible>(BookId::from_random(drawn));
    let Ok(book) = Book::open(book, now.wall, fresh, Rules::default());
    FoundBook::Open(Box::new(book))
}

pub(crate) fn start(
    incarnation: u64,
    kept: Option<Kept>,
    book: FoundBook,
    found: Vec<Adopted>,
    now: Now,
) -> (Agent, Decision) {
    let config = Config {
        machine: "box-1".parse().unwrap(),
        agent: "1".to_owned(),
        statement_every: Duration::from_secs(5),
        trusted: crate::operator::trusted(),
        hello_every: Duration::from_secs(30),
    };
    let boot = BootId("boot".to_owned());
    Agent::new(config, boot, Incarnation(incarnation), kept, book, found, now)
}
