//! How long questions, changes and opening take, in small books and in large ones.
//!
//! Prints the median of interleaved rounds, so that a busy machine slows all of them alike.

#![expect(clippy::print_stdout, reason = "a benchmark says its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock that it measures by")]

use failure_book::{
    BadName, Book, BookId, Build, ExecutionId, Failure, FailureBook, HoldRan, Host, Hosts, Journal,
    MarkerWish, MemoryJournal, Mode, Rules, Served, Time,
};
use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];
const APPS: usize = 20;
const HOSTS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut books = Vec::new();
    for size in SIZES {
        books.push(Sample::new(size)?);
    }
    questions(&books);
    changes(&mut books)?;
    openings(&books)?;
    Ok(())
}

/// Questions about as many builds as an agent asks about, wherever in the book they are; and about
/// builds that nobody asked about for long. Those are in no cache, so how long that takes is the
/// memory's doing: beside it stands what one bare look at so much memory costs.
fn questions(books: &[Sample]) {
    const ROUNDS: usize = 201;
    const CALLS: usize = 8_192;
    const ASKED_ABOUT: usize = 64;
    let ask: [fn(&Book, &Build, &Host) -> bool; 3] = [
        |book, build, host| book.blocks(build, host, Served::NotYet),
        |book, build, host| book.published_generation(build, host).is_some(),
        |book, build, host| book.held_down(build, host),
    ];
    let mut times = vec![[const { [const { Vec::new() }; 3] }; 2]; books.len()];
    let mut bare = vec![Vec::new(); books.len()];
    for round in 0..ROUNDS {
        for (place, sample) in books.iter().enumerate() {
            let few = sample.spread(ASKED_ABOUT, 0).into_iter().cycle().take(CALLS).collect();
            let any: Vec<_> = sample.spread(CALLS, round * CALLS);
            for (pairs, times) in [few, any].iter().zip(&mut times[place]) {
                for (ask, times) in ask.iter().zip(times) {
                    // The names are the caller's, and at hand; what is asked for is the book's.
                    black_box(pairs.iter().map(|(build, _)| build.name().bytes().max()).max());
                    let start = Instant::now();
                    for (build, host) in pairs {
                        black_box(ask(&sample.book, black_box(build), black_box(host)));
                    }
                    times.push(start.elapsed());
                }
            }
            let start = Instant::now();
            black_box(sample.memory.walk(CALLS, round));
            bare[place].push(start.elapsed());
        }
    }
    let each = |times| median(times).as_secs_f64() / CALLS as f64 * 1e9;
    println!("questions about {ASKED_ABOUT} builds, again and again");
    println!("   records      blocks   published   held_down");
    let mut cold = Vec::new();
    for (sample, [few, any]) in books.iter().zip(times) {
        let [blocks, published, held_down] = few.map(each);
        let size = sample.builds.len();
        println!("  {size:8}  {blocks:7.1} ns  {published:7.1} ns  {held_down:7.1} ns");
        cold.push(any.map(each));
    }
    println!("\nquestions about any build, none of them asked about for long");
    println!("   records      blocks   published   held_down   one bare look at as much memory");
    for ((sample, cold), bare) in books.iter().zip(cold).zip(bare) {
        let [blocks, published, held_down] = cold;
        let size = sample.builds.len();
        let bare = each(bare);
        println!(
            "  {size:8}  {blocks:7.1} ns  {published:7.1} ns  {held_down:7.1} ns  {bare:7.1} ns"
        );
    }
    println!();
}

/// As much memory as a book of some size takes, and a way through it that no cache foresees.
struct Memory(Vec<[usize; 8]>);

impl Memory {
    /// About what a record takes with its indexes, in lines of 64 bytes.
    const LINES: usize = 12;

    fn new(records: usize) -> Self {
        let lines = records * Self::LINES;
        // A full cycle, since the length has only the factors 2, 3 and 5.
        let next = |line: usize| (line * (1 + 60 * 7_919) + 7_919) % lines;
        Self((0..lines).map(|line| [next(line); 8]).collect())
    }

    fn walk(&self, steps: usize, from: usize) -> usize {
        (0..steps).fold(from % self.0.len(), |line, _| self.0[line][0])
    }
}

/// Failures and markers over a journal in memory: a change costs what it changed.
fn changes(books: &mut [Sample]) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 51;
    const CALLS: usize = 100;
    let mut times = vec![[const { Vec::new() }; 2]; books.len()];
    for round in 0..ROUNDS {
        for (sample, times) in books.iter_mut().zip(&mut times) {
            let size = sample.builds.len();
            let hosts = sample.hosts.clone();
            let mut over = FailureBook::open(
                sample.journal.clone(),
                now(),
                || Ok::<_, Infallible>(id()),
                Rules::default(),
            )?;
            let first = size + round * CALLS;
            let failures: Result<Vec<_>, _> = (first..first + CALLS).map(failure).collect();
            let start = Instant::now();
            for failure in failures? {
                black_box(over.run(|book| book.record(failure, now())))
                    .error
                    .map_or(Ok(()), Err)?;
            }
            times[0].push(start.elapsed());
            let start = Instant::now();
            for place in 0..CALLS {
                let host = &hosts[place % HOSTS];
                let exec = Some(ExecutionId::new(&format!("a1f-{place}"))?);
                let ran = HoldRan { build: sample.builds[place % size].clone(), exec, at: None };
                let answer = over.run(|book| book.mark_hold_ran(host, ran, now()));
                black_box(answer).error.map_or(Ok(()), Err)?;
            }
            times[1].push(start.elapsed());
        }
    }
    println!("changes, over a journal in memory");
    println!("   records      record       mark_hold_ran");
    for (sample, times) in books.iter().zip(times) {
        let [record, mark] = times.map(|times| median(times).as_secs_f64() / CALLS as f64 * 1e6);
        println!("  {:8}  {record:8.2} µs  {mark:8.2} µs", sample.builds.len());
    }
    println!();
    Ok(())
}

/// Loading the rows of a journal in memory, and putting the book together.
fn openings(books: &[Sample]) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 7;
    println!("opening, from a journal in memory");
    println!("   records        load        open");
    for sample in books {
        let [mut load, mut open] = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            let mut journal = sample.journal.clone();
            let start = Instant::now();
            let kept = journal.load()?;
            load.push(start.elapsed());
            let start = Instant::now();
            let book = Book::open(kept, now(), || Ok::<_, Infallible>(id()), Rules::default())?;
            open.push(start.elapsed());
            black_box(book);
        }
        let [load, open] = [load, open].map(|times| median(times).as_secs_f64() * 1e3);
        println!("  {:8}  {load:7.2} ms  {open:7.2} ms", sample.builds.len());
    }
    Ok(())
}

/// A book with so many records, and the journal that it landed in.
struct Sample {
    book: Book,
    journal: MemoryJournal,
    builds: Vec<Build>,
    hosts: Vec<Host>,
    memory: Memory,
}

impl Sample {
    fn new(size: usize) -> Result<Self, Box<dyn Error>> {
        let fresh = || Ok::<_, Infallible>(id());
        let mut over = FailureBook::open(MemoryJournal::new(), now(), fresh, Rules::default())?;
        for place in 0..size {
            let failure = failure(place)?;
            over.run(|book| book.record(failure, now())).error.map_or(Ok(()), Err)?;
        }
        let builds = (0..size).map(build).collect::<Result<_, _>>()?;
        let hosts = (0..HOSTS).map(host).collect::<Result<_, _>>()?;
        Ok(Self {
            book: over.book().clone(),
            journal: over.into_journal(),
            builds,
            hosts,
            memory: Memory::new(size),
        })
    }

    /// So many pairs, spread over all of the book: the step shares no factor with the sizes.
    fn spread(&self, count: usize, from: usize) -> Vec<(&Build, &Host)> {
        let pair = |place: usize| {
            let place = place + from;
            (&self.builds[place * 7_919 % self.builds.len()], &self.hosts[place % HOSTS])
        };
        (0..count).map(pair).collect()
    }
}

fn failure(place: usize) -> Result<Failure, BadName> {
    Ok(Failure {
        build: build(place)?,
        host: host(place % HOSTS)?,
        cause: "release".to_owned(),
        mode: Mode::HOLD,
        reason: "it exited with status 1 within its observe time".to_owned(),
        promoted_at: Some(now()),
        at: Some(now()),
        held_down: Hosts::from_iter([host(place % HOSTS)?]),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    })
}

fn build(place: usize) -> Result<Build, BadName> {
    Build::new("default", &format!("module-{:02}", place % APPS), &format!("01JBUILD{place:018}"))
}

fn host(place: usize) -> Result<Host, BadName> {
    Host::new(&format!("instance-{place:02}"))
}

fn id() -> BookId {
    BookId::from_random([7; 16])
}

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
