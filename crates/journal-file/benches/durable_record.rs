//! What a durable `record` costs in books of growing size, beside the least that this disk asks for in the same run:
//! append and fdatasync.
//!
//! The ratio is to the append, and the percent is how much of an append's rate is left. *Journal* is the part of opening again
//! that the journal takes, without reading its rows.
//!
//! All sizes and the append take turns, call by call, so that whatever else the machine does hits them alike. Read the ratio.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::convert::Infallible;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use failure_book::{
    Answer, Book, BookId, Build, Failure, FailureBook, Host, Hosts, Journal, MarkerWish,
    MemoryJournal, Mode, Recorded, Rules, Time,
};
use journal_file::{FileJournal, Options, Room};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
const ROUNDS: usize = 5;
const CALLS: usize = 100;

/// About as long as a record's row.
const ROW_BYTES: usize = 420;

fn main() -> Outcome {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut books = Vec::new();
    for size in SIZES {
        books.push(filled(&folder.path().join(size.to_string()), size)?);
    }
    let mut log = File::options().append(true).create(true).open(folder.path().join("log"))?;
    let mut appends = Vec::new();
    let mut records = vec![Vec::new(); SIZES.len()];
    for round in 0..ROUNDS {
        let mut append_times = Vec::new();
        let mut record_times = vec![Vec::new(); SIZES.len()];
        for call in 0..CALLS {
            append_times.push(append(&mut log)?);
            for ((book, size), times) in books.iter_mut().zip(SIZES).zip(&mut record_times) {
                times.push(record(book, size + round * CALLS + call)?);
            }
        }
        appends.push(median(append_times));
        for (times, all) in record_times.into_iter().zip(&mut records) {
            all.push(median(times));
        }
    }
    let append = median(appends);
    println!("append + fdatasync of {ROW_BYTES} bytes: {:.3} ms", millis(append));
    println!(
        "{:>9}  {:>12}  {:>6}  {:>7}  {:>12}  {:>12}",
        "records", "record", "ratio", "percent", "journal", "open again"
    );
    for ((size, times), book) in SIZES.into_iter().zip(records).zip(books) {
        let record = median(times);
        let ratio = record.as_secs_f64() / append.as_secs_f64();
        drop(book);
        let [journal, opening] = open_again(&folder.path().join(size.to_string()))?;
        println!(
            "{size:>9}  {:>9.3} ms  {ratio:>6.2}  {:>5.0} %  {:>9.1} ms  {:>9.1} ms",
            millis(record),
            100.0 / ratio,
            millis(journal),
            millis(opening)
        );
    }
    Ok(())
}

/// A book of this size, landed as one change.
fn filled(folder: &Path, size: usize) -> Outcome<FailureBook<FileJournal>> {
    let mut memory = opened(MemoryJournal::new())?;
    for place in 0..size {
        let failure = failure(place)?;
        recorded(memory.run(|book| book.record(failure, now())))?;
    }
    let options = Options { room: Room::All, ..Options::new(folder) };
    let mut book = opened(FileJournal::open(options)?.journal)?;
    let kept = memory.book().kept();
    landed(book.run(|book| book.import(kept, now(), BookId::from_random([8; 16]))))??;
    Ok(book)
}

fn opened<J>(journal: J) -> Outcome<FailureBook<J>>
where
    J: Journal,
    J::Error: Send + Sync,
{
    let fresh = || Ok::<_, Infallible>(BookId::from_random([7; 16]));
    Ok(FailureBook::open(journal, now(), fresh, Rules::default())?)
}

/// How long one record took. It is taken back afterwards, so that the book stays as large as it is.
fn record(book: &mut FailureBook<FileJournal>, place: usize) -> Outcome<Duration> {
    let failure = failure(place)?;
    let build = failure.build.clone();
    let began = Instant::now();
    let answer = book.run(|book| book.record(failure, now()));
    let time = began.elapsed();
    recorded(answer)?;
    let newer = Time::from_timestamp(1, 0);
    landed(book.run(|book: &mut Book| book.clear_on_pointer(&build, newer)))?;
    Ok(time)
}

/// How long it takes until the journal was opened and checked, and until a book can be asked.
fn open_again(folder: &Path) -> Outcome<[Duration; 2]> {
    let began = Instant::now();
    let journal = FileJournal::open(Options::new(folder))?.journal;
    let checked = began.elapsed();
    let book = opened(journal)?;
    let time = began.elapsed();
    drop(book);
    Ok([checked, time])
}

fn append(log: &mut File) -> std::io::Result<Duration> {
    let row = [b'x'; ROW_BYTES];
    let began = Instant::now();
    log.write_all(&row)?;
    log.sync_data()?;
    Ok(began.elapsed())
}

fn recorded(answer: Answer<Recorded>) -> Outcome {
    let said = landed(answer)?;
    if said == Recorded::Recorded {
        Ok(())
    } else {
        Err(format!("{said:?} is no new record").into())
    }
}

fn landed<A>(answer: Answer<A>) -> Outcome<A> {
    match answer.error {
        Some(error) => Err(error.into()),
        None => Ok(answer.value),
    }
}

fn failure(place: usize) -> Outcome<Failure> {
    let host = Host::new(&format!("instance-{:02}", place % 20))?;
    let module = format!("module-{:02}", place % 20);
    Ok(Failure {
        build: Build::new("default", &module, &format!("01JBUILD{place:018}"))?,
        held_down: Hosts::from_iter([host.clone()]),
        host,
        cause: "release".to_owned(),
        mode: Mode::HOLD,
        reason: "it exited with status 1 within its observe time".to_owned(),
        promoted_at: Some(now()),
        at: Some(now()),
        marker: MarkerWish::Leave,
        exec: None,
        start: None,
        snapshot: None,
    })
}

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
