//! A workload's output on its way: taken from its pipe, kept as last lines, and handed to the thread that writes the log.
//!
//! A disk can take nothing for minutes without an error. So the main thread takes the output in, and only the thread that
//! writes the log ever waits for the disk.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::output::{Log, Tail, note};

/// How long a workload that writes faster than its log is held back, so that nothing is lost, before its output is lost, so
/// that it is held back no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much is taken at a time, so that nothing else waits for long.
const CHUNK_BYTES: usize = 16 * 1024;

/// The output between the workload and its log.
#[derive(Debug)]
pub(super) struct Flow {
    /// `None` once all who could write are gone.
    from: Option<PipeReader>,
    to: Option<PipeWriter>,
    state: State,
    tail: Tail,
}

/// How the log does.
#[derive(Debug)]
enum State {
    /// It takes whatever comes.
    Takes,
    /// It has not taken this yet, and has taken nothing since then. Nothing more is taken from the workload.
    Waits { bytes: Vec<u8>, since: Duration },
    /// It takes nothing, and so much is lost by now.
    Stuck { lost: u64 },
}

impl Flow {
    /// Nobody waits at either end. Without `to` there is no log.
    pub(super) fn new(from: PipeReader, to: Option<PipeWriter>) -> io::Result<Self> {
        no_waiting(&from)?;
        to.as_ref().map_or(Ok(()), no_waiting)?;
        Ok(Self { from: Some(from), to, state: State::Takes, tail: Tail::default() })
    }

    /// Whether anything of it is written.
    pub(super) fn has_log(&self) -> bool {
        self.to.is_some()
    }

    /// Where output comes from, if it may come now.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            State::Takes | State::Stuck { .. } => self.from.as_ref().map(AsFd::as_fd),
            State::Waits { .. } => None,
        }
    }

    /// Where it goes, if that is waited for.
    pub(super) fn sink(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            State::Takes => None,
            State::Waits { .. } | State::Stuck { .. } => self.to.as_ref().map(AsFd::as_fd),
        }
    }

    /// When its patience ends.
    pub(super) fn wake(&self) -> Option<Duration> {
        match self.state {
            State::Waits { since, .. } => Some(since + PATIENCE),
            State::Takes | State::Stuck { .. } => None,
        }
    }

    /// Whether there is, or can be, output that the log has not been given.
    pub(super) fn is_open(&self) -> bool {
        self.from.is_some() || matches!(self.state, State::Waits { .. })
    }

    /// No more of it. The log's thread ends when it has written what it was given.
    pub(super) fn close(&mut self) {
        self.from = None;
        self.to = None;
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.tail.lines()
    }

    /// Takes in what there is, up to a chunk.
    pub(super) fn take(&mut self, now: Duration) {
        let Some(from) = &mut self.from else { return };
        let mut buffer = [0; CHUNK_BYTES];
        let length = match from.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if is_not_now(&error) => return,
            Err(_) => 0,
        };
        if length == 0 {
            self.from = None;
            return;
        }
        let bytes = buffer.get(..length).unwrap_or_default();
        self.tail.push(bytes);
        match &mut self.state {
            State::Takes => {
                let taken = self.offer(bytes);
                self.keep(bytes.get(taken..), now);
            }
            State::Waits { bytes: waiting, .. } => waiting.extend_from_slice(bytes),
            State::Stuck { lost } => *lost += length as u64,
        }
    }

    /// Hands on what waits, when the log takes something again.
    pub(super) fn hand_on(&mut self, now: Duration) {
        match std::mem::replace(&mut self.state, State::Takes) {
            State::Takes => {}
            State::Waits { bytes, since } => {
                let taken = self.offer(&bytes);
                self.keep(bytes.get(taken..), if taken == 0 { since } else { now });
            }
            State::Stuck { lost } => {
                let words =
                    format!("{lost} bytes of output are lost here: nothing could be written");
                let words = format!("\n{}", note(&words));
                match self.offer(words.as_bytes()) {
                    0 => self.state = State::Stuck { lost },
                    taken => self.keep(words.as_bytes().get(taken..), now),
                }
            }
        }
    }

    /// Gives up waiting when it is time.
    pub(super) fn mind_time(&mut self, now: Duration) {
        if let State::Waits { bytes, since } = &self.state
            && *since + PATIENCE <= now
        {
            self.state = State::Stuck { lost: bytes.len() as u64 };
        }
    }

    /// How much of it the log takes now.
    fn offer(&mut self, bytes: &[u8]) -> usize {
        let Some(to) = &mut self.to else { return bytes.len() };
        match to.write(bytes) {
            Ok(taken) => taken,
            Err(error) if is_not_now(&error) => 0,
            // Nobody is there who would write it.
            Err(_) => {
                self.to = None;
                bytes.len()
            }
        }
    }

    fn keep(&mut self, rest: Option<&[u8]>, since: Duration) {
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.state = State::Waits { bytes: rest.to_vec(), since };
        }
    }
}

/// Writes what it is given, until nobody is left who could give anything.
pub(super) fn write(mut from: PipeReader, mut log: Log) {
    let mut buffer = [0; CHUNK_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => log.write(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn is_not_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reading and writing it never waits.
pub(super) fn no_waiting(end: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&end)?;
    Ok(fcntl_setfl(end, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Takes and gives all that is possible now.
    fn turn(flow: &mut Flow, now: Duration) {
        flow.mind_time(now);
        flow.hand_on(now);
        if flow.source().is_some() {
            flow.take(now);
        }
    }

    #[test]
    fn a_log_that_is_slow_loses_nothing_and_one_that_is_stuck_holds_nobody_back() {
        let (from, mut workload) = io::pipe().unwrap();
        let (mut log, to) = io::pipe().unwrap();
        let mut flow = Flow::new(from, Some(to)).unwrap();
        let block = [b'x'; CHUNK_BYTES];
        let mut written = 0;
        while flow.wake().is_none() {
            workload.write_all(&block).unwrap();
            written += block.len() as u64;
            turn(&mut flow, at(0));
        }
        assert!(flow.source().is_none(), "the workload is held back");
        turn(&mut flow, at(500));
        assert_eq!(flow.wake(), Some(at(1_000)), "until so long after the log took something");
        // From now on it is not.
        for _ in 0..1_000 {
            workload.write_all(&block).unwrap();
            turn(&mut flow, at(1_000));
        }
        workload.write_all(b"\nthe end\n").unwrap();
        turn(&mut flow, at(1_000));
        assert_eq!(flow.lines().last().unwrap(), "the end");
        let mut kept = vec![0; usize::try_from(written).unwrap()];
        let begun = log.read(&mut kept).unwrap();
        turn(&mut flow, at(2_000));
        workload.write_all(b"again\n").unwrap();
        turn(&mut flow, at(2_000));
        drop(workload);
        turn(&mut flow, at(2_000));
        assert!(!flow.is_open());
        flow.close();
        let mut rest = Vec::new();
        log.read_to_end(&mut rest).unwrap();
        let text = String::from_utf8(rest).unwrap();
        let words = text.trim_start_matches('x');
        let lost =
            written + 1_000 * block.len() as u64 + 9 - (begun + text.len() - words.len()) as u64;
        let words_wanted = format!(
            "\n=== bellwether: {lost} bytes of output are lost here: nothing could be written\nagain\n"
        );
        assert_eq!(words, words_wanted);
    }

    #[test]
    fn what_a_slow_log_takes_late_is_whole_and_in_order() {
        let (from, mut workload) = io::pipe().unwrap();
        let (mut log, to) = io::pipe().unwrap();
        let mut flow = Flow::new(from, Some(to)).unwrap();
        let (mut sent, mut got) = (Vec::new(), Vec::new());
        for round in 0..200_u32 {
            if flow.source().is_some() {
                let piece = format!("{round} ").repeat(2_000);
                workload.write_all(piece.as_bytes()).unwrap();
                sent.extend_from_slice(piece.as_bytes());
            }
            turn(&mut flow, at(0));
            let mut some = [0; 3_000];
            if round % 2 == 1 {
                let length = log.read(&mut some).unwrap();
                got.extend_from_slice(&some[..length]);
            }
        }
        drop(workload);
        while flow.is_open() {
            turn(&mut flow, at(0));
            let mut some = [0; 3_000];
            let length = log.read(&mut some).unwrap();
            got.extend_from_slice(&some[..length]);
        }
        flow.close();
        log.read_to_end(&mut got).unwrap();
        assert!(sent == got, "{} bytes became {}", sent.len(), got.len());
    }

    #[test]
    fn a_log_that_nobody_writes_any_more_is_let_be() {
        let (from, mut workload) = io::pipe().unwrap();
        let (log, to) = io::pipe().unwrap();
        let mut flow = Flow::new(from, Some(to)).unwrap();
        drop(log);
        for _ in 0..100 {
            workload.write_all(&[b'x'; CHUNK_BYTES]).unwrap();
            turn(&mut flow, at(0));
        }
        assert!(flow.wake().is_none() && flow.sink().is_none());
    }
}
