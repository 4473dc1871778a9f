//! The main thread of a shim: waits for what happens to the workload, to its engines and to time, and decides.

use std::fs;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use host::Exit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::entry;
use crate::host::monotonic;
use crate::proc;
use crate::shim::course::Course;
use crate::shim::engines::{self, Engine};
use crate::shim::errand::Tie;
use crate::shim::flow::Flow;
use crate::shim::group::Group;
use crate::shim::memory::Memory;
use crate::shim::notify::Ears;
use crate::shim::reap::{How, Note};
use crate::shim::unowned;
use crate::shim::words::{Fact, Order, Readiness};

/// How long the rest of the output is waited for once everything that wrote it is gone.
const OUTPUT_LAST: Duration = Duration::from_secs(1);

/// How long a tree has to end by itself when its engine is gone for good.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// How often an orphan looks whether anybody can still find it.
const ORPHAN_LOOKS_EVERY: Duration = Duration::from_secs(1);

/// How often an exit that could not be written, and that nobody has heard, is tried again.
const EXIT_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How soon waiting is tried again when it is not possible: out of memory, say.
const WAIT_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// What a shim watches.
pub(super) struct Watch<'a> {
    pub(super) main: Pid,
    pub(super) started: Fact,
    pub(super) tie: Tie,
    pub(super) group: Option<&'a Group>,
    pub(super) memory: Memory,
    pub(super) listener: Option<UnixListener>,
    pub(super) ears: Option<Ears>,
    pub(super) flow: Flow,
    pub(super) notes: PipeReader,
    /// Never used here: with it the pipe does not end when the other threads do, and waiting on it waits.
    pub(super) _wake: PipeWriter,
}

/// What became of it until now.
struct State {
    course: Course,
    exit: Exit,
    log: Log,
    news: News,
    engines: Vec<Engine>,
    /// Since when there is no engine.
    alone_since: Option<Duration>,
}

/// Whether the thread that writes the log has written all that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Behind,
    Done,
}

/// Who knows of the exit.
#[derive(Debug)]
enum News {
    /// There is none to know.
    None,
    /// Whoever is connected was told, and whoever connects will be.
    Told(Fact),
    /// An engine said that it heard.
    Heard,
}

/// What has something to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Notes,
    Connections,
    Words,
    Output,
    Log,
    Engine(usize),
}

impl Watch<'_> {
    /// Watches until nobody is left, and sees to it that how it ended is known.
    pub(super) fn run(mut self, engine: Engine) {
        let mut state = State {
            course: Course::Run,
            exit: Exit::Unknown,
            log: if self.flow.has_log() { Log::Behind } else { Log::Done },
            news: News::None,
            engines: vec![engine],
            alone_since: None,
        };
        while state.course != Course::Over {
            let patience = self.patience(&state);
            self.turn(&mut state, patience);
            self.mind_time(&mut state);
        }
        self.finish_output(&mut state);
        self.tell_exit(&mut state);
    }

    /// What was written last is often what matters.
    fn finish_output(&mut self, state: &mut State) {
        let until = monotonic() + OUTPUT_LAST;
        let rest = |now: Duration| Some(until.saturating_sub(now)).filter(|rest| !rest.is_zero());
        while let Some(patience) = rest(monotonic()).filter(|_| self.flow.is_open()) {
            self.turn(state, Some(patience));
        }
        self.flow.close();
        while let Some(patience) = rest(monotonic()).filter(|_| state.log == Log::Behind) {
            self.turn(state, Some(patience));
        }
    }

    /// Waits until something happens or the time is up, and takes it in.
    fn turn(&mut self, state: &mut State, patience: Option<Duration>) {
        let ready = self.wait(&state.engines, patience);
        // Backwards, so that an engine that is gone moves none that is still to be heard.
        for source in ready.into_iter().rev() {
            match source {
                Source::Notes => self.read_notes(state),
                Source::Connections => self.welcome(state),
                Source::Words => self.ears.iter_mut().for_each(Ears::hear),
                Source::Output => self.flow.take(monotonic()),
                Source::Log => self.flow.hand_on(monotonic()),
                Source::Engine(at) => self.listen(state, at),
            }
        }
        match (state.engines.is_empty(), state.alone_since) {
            (false, _) => state.alone_since = None,
            (true, None) => {
                state.alone_since = Some(monotonic());
                // An engine asks for much that is not needed without one.
                unowned::forget_program();
            }
            (true, Some(_)) => {}
        }
    }

    fn wait(&self, engines: &[Engine], patience: Option<Duration>) -> Vec<Source> {
        let timeout = patience.map(|patience| Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        });
        let comes = |source, from| (source, from, PollFlags::IN);
        let mut all: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::new();
        // What an engine asks for is answered by what was known when it asked, so engines are heard last. The list is gone
        // through backwards.
        let engines = engines.iter().enumerate();
        all.extend(engines.map(|(at, one)| comes(Source::Engine(at), one.as_fd())));
        all.extend(self.listener.iter().map(|one| comes(Source::Connections, one.as_fd())));
        all.extend(self.ears.iter().map(|one| comes(Source::Words, one.as_fd())));
        all.extend(self.flow.source().map(|one| comes(Source::Output, one)));
        all.extend(self.flow.sink().map(|one| (Source::Log, one, PollFlags::OUT)));
        all.push(comes(Source::Notes, self.notes.as_fd()));
        let mut asked: Vec<PollFd<'_>> =
            all.iter().map(|(_, one, flags)| PollFd::from_borrowed_fd(*one, *flags)).collect();
        match poll(&mut asked, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Vec::new(),
            Err(_) => {
                thread::sleep(WAIT_AGAIN_AFTER);
                return Vec::new();
            }
        }
        let ready = all.iter().zip(&asked).filter(|(_, one)| !one.revents().is_empty());
        ready.map(|((source, ..), _)| *source).collect()
    }

    fn read_notes(&mut self, state: &mut State) {
        while let Ok(note) = Note::read(&mut self.notes) {
            match note {
                Note::Ended(pid, how) if pid == self.main => {
                    state.exit = match (how, state.course) {
                        (How::Status(status), _) => Exit::Status(status),
                        (How::Signal(number), Course::Kill { .. } | Course::Over) => {
                            Exit::Signal(number)
                        }
                        (How::Signal(9), Course::Run | Course::Stop { .. }) => self.memory.killed(),
                        (How::Signal(number), Course::Run | Course::Stop { .. }) => {
                            Exit::Signal(number)
                        }
                    };
                    state.course.main_died(monotonic());
                }
                Note::Ended(..) => state.course.died(monotonic()),
                Note::Nobody => state.course = Course::Over,
                Note::LogDone => state.log = Log::Done,
            }
        }
    }

    fn welcome(&self, state: &mut State) {
        if let Some(listener) = &self.listener
            && let Ok(mut engine) = engines::accept(listener, state.engines.len())
            && engine.say(&self.started).is_ok()
        {
            if let News::Told(exited) = &state.news {
                let _ = engine.say(exited);
            }
            state.engines.push(engine);
        }
    }

    /// Hears one engine; one that is gone is forgotten.
    fn listen(&self, state: &mut State, at: usize) {
        let Some(Ok(orders)) = state.engines.get_mut(at).map(Engine::orders) else {
            state.engines.remove(at);
            return;
        };
        for order in orders {
            let answer = match order {
                Order::Go => None,
                Order::Heard => {
                    state.news = News::Heard;
                    None
                }
                Order::Kill => {
                    state.course.kill(monotonic());
                    None
                }
                Order::Stop { signal, grace } => {
                    match Signal::from_named_raw(signal) {
                        Some(Signal::KILL) => state.course.kill(monotonic()),
                        Some(signal) => stop_all(signal),
                        None => {}
                    }
                    state.course.stop(monotonic().saturating_add(grace));
                    None
                }
                Order::Status => Some(self.status()),
                Order::Lines => Some(Fact::Lines(self.flow.lines())),
            };
            let engine = state.engines.get_mut(at);
            if let (Some(answer), Some(engine)) = (answer, engine)
                && engine.say(&answer).is_err()
            {
                state.engines.remove(at);
                return;
            }
        }
    }

    fn status(&self) -> Fact {
        let not_heard = || Fact::Status { readiness: Readiness::NotReady, words: String::new() };
        self.ears.as_ref().map_or_else(not_heard, Ears::status)
    }

    /// How long nothing may happen before time itself matters.
    fn patience(&self, state: &State) -> Option<Duration> {
        let now = monotonic();
        let orphan = match (self.tie, state.alone_since) {
            (Tie::Standing { orphan_after: Some(span) }, Some(since)) => {
                Some((since + span).min(now + ORPHAN_LOOKS_EVERY))
            }
            (Tie::Standing { .. } | Tie::Tethered, _) => None,
        };
        let next = [state.course.wake(), self.flow.wake(), orphan].into_iter().flatten().min();
        next.map(|next| next.saturating_sub(now))
    }

    /// Does what is due by now.
    fn mind_time(&mut self, state: &mut State) {
        let now = monotonic();
        self.flow.mind_time(now);
        match (self.tie, state.alone_since) {
            (_, None) | (Tie::Standing { orphan_after: None }, Some(_)) => {}
            (Tie::Tethered, Some(_)) => state.course.kill(now),
            (Tie::Standing { orphan_after: Some(span) }, Some(since)) => {
                if is_folder_gone() {
                    // Nobody finds it any more, and somebody wanted no orphans.
                    state.course.kill(now);
                } else if since + span <= now && state.course == Course::Run {
                    stop_all(Signal::TERM);
                    state.course.stop(now + ORPHAN_GRACE);
                }
            }
        }
        if state.course.is_kill_due(now) {
            if let Some(group) = self.group {
                group.kill();
            }
            signal_all(Signal::KILL);
        }
    }

    /// Sees to it that somebody hears of the exit: by the disk, or by an engine when the disk takes no writes.
    fn tell_exit(&mut self, state: &mut State) {
        let exited = Fact::Exited { exit: state.exit, lines: self.flow.lines() };
        let mut is_written = self.write_exit(&exited);
        // An engine that is gone by now is one that the next will replace.
        state.engines.retain_mut(|engine| engine.say(&exited).is_ok());
        state.news = News::Told(exited);
        while let (false, News::Told(exited), false) = (is_written, &state.news, is_folder_gone()) {
            is_written = self.write_exit(exited);
            let again_at = monotonic() + EXIT_AGAIN_AFTER;
            while let (News::Told(_), now) = (&state.news, monotonic())
                && now < again_at
            {
                self.turn(state, Some(again_at.saturating_sub(now)));
            }
        }
    }

    /// Whether nobody needs to hear it from this process any more.
    fn write_exit(&self, exited: &Fact) -> bool {
        match self.tie {
            Tie::Tethered => true,
            Tie::Standing { .. } => entry::write_exit(Path::new("."), exited).is_ok(),
        }
    }
}

/// Asks everything to end. What is stopped, by itself or by somebody, can only heed that when it goes on.
fn stop_all(signal: Signal) {
    signal_all(signal);
    signal_all(Signal::CONT);
}

/// Signals everything that descends from this process: also what left the workload's group and session.
fn signal_all(signal: Signal) {
    let descendants = proc::descendants(std::process::id()).unwrap_or_default();
    descendants.iter().for_each(|one| proc::signal(one, signal));
}

/// Whether the folder that this process works in was removed.
fn is_folder_gone() -> bool {
    fs::metadata(".").is_ok_and(|folder| folder.nlink() == 0)
}
