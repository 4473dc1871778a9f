//! The main thread of a shim: waits for what happens to the workload, to its engines and to time, and decides.

use std::fs;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use host::Exit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::entry;
use crate::host::monotonic;
use crate::output::Tail;
use crate::proc;
use crate::shim::engines::{self, Engine};
use crate::shim::errand::Tie;
use crate::shim::group::Group;
use crate::shim::notify::Ears;
use crate::shim::reap::Note;
use crate::shim::words::{Fact, Order, Readiness};

/// How soon the tree is killed once more when something of it is still there. A process that forks while it is being
/// killed leaves a child that the first look did not see.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How long the rest of the output is waited for once everything that wrote it is gone.
const OUTPUT_LAST: Duration = Duration::from_secs(1);

/// How long a tree has to end by itself when its engine is gone for good.
const ORPHAN_GRACE: Duration = Duration::from_secs(5);

/// How often an orphan looks whether anybody can still find it.
const ORPHAN_LOOKS_EVERY: Duration = Duration::from_secs(1);

/// How often an exit that could not be written, and that nobody has heard, is tried again.
const EXIT_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a shim watches.
pub(super) struct Watch<'a> {
    pub(super) started: Fact,
    pub(super) group: Option<&'a Group>,
    pub(super) listener: Option<UnixListener>,
    pub(super) ears: Option<Ears>,
    /// Shared with the thread that takes in the output: that one must never wait for this one, which it would if it had to
    /// hand over what it reads.
    pub(super) tail: Arc<Mutex<Tail>>,
    pub(super) woken: PipeReader,
    /// Never used here: with it the pipe does not end when the other threads do, and waiting on it waits.
    pub(super) _wake: PipeWriter,
    pub(super) tie: Tie,
}

/// How far it is.
struct Course {
    main: Pid,
    exit: Exit,
    phase: Phase,
    output: Output,
    engines: Vec<Engine>,
    /// Since when there is no engine.
    alone_since: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It runs as long as it likes.
    Run,
    /// It was asked to stop, and its tree may end in its own time until then.
    Stop { kill_at: Duration },
    /// Nothing of it may stay.
    Kill,
    /// Nobody is left.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Flows,
    Done,
}

/// What there is to look at.
#[derive(Default)]
struct Woken {
    note: bool,
    connection: bool,
    words: bool,
    engines: Vec<bool>,
}

impl Watch<'_> {
    /// Watches until nobody is left, and sees to it that how it ended is known.
    pub(super) fn run(mut self, main: Pid, engine: Engine) {
        let mut course = Course {
            main,
            exit: Exit::Unknown,
            phase: Phase::Run,
            output: Output::Flows,
            engines: vec![engine],
            alone_since: None,
        };
        while course.phase != Phase::Over {
            if course.phase == Phase::Kill {
                self.kill_all();
            }
            let patience = self.patience(&course);
            self.turn(&mut course, patience);
            self.mind_time(&mut course);
        }
        // What was written last is often what matters.
        let until = monotonic() + OUTPUT_LAST;
        while course.output == Output::Flows && monotonic() < until {
            self.turn(&mut course, Some(until.saturating_sub(monotonic())));
        }
        self.tell_exit(&mut course);
    }

    /// Waits until something happens or the time is up, and takes it in.
    fn turn(&mut self, course: &mut Course, patience: Option<Duration>) {
        let woken = self.wait(&course.engines, patience);
        if woken.words
            && let Some(ears) = &mut self.ears
        {
            ears.hear();
        }
        if woken.note
            && let Ok(note) = Note::read(&mut self.woken)
        {
            course.note(note);
        }
        let listened: Vec<bool> = woken.engines;
        for at in (0..listened.len()).rev() {
            if listened.get(at).is_some_and(|spoke| *spoke) {
                self.listen(course, at);
            }
        }
        if woken.connection
            && let Some(listener) = &self.listener
            && let Ok(mut engine) = engines::accept(listener, course.engines.len())
            && engine.say(&self.started).is_ok()
        {
            course.engines.push(engine);
        }
        let is_alone = course.engines.is_empty();
        course.alone_since = is_alone.then(|| course.alone_since.unwrap_or_else(monotonic));
    }

    fn wait(&self, engines: &[Engine], patience: Option<Duration>) -> Woken {
        let timeout = patience.map(|patience| Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        });
        let listener = self.listener.as_ref().map(AsFd::as_fd);
        let ears = self.ears.as_ref().map(Ears::as_fd);
        let rest = listener.into_iter().chain(ears).chain(engines.iter().map(Engine::as_fd));
        let all = std::iter::once(self.woken.as_fd()).chain(rest);
        let mut asked: Vec<PollFd<'_>> =
            all.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN)).collect();
        match poll(&mut asked, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Woken::default(),
            // Out of memory, say: looking again at once would not help.
            Err(_) => {
                thread::sleep(KILL_AGAIN_AFTER);
                return Woken::default();
            }
        }
        let mut spoke = asked.iter().map(|one| !one.revents().is_empty());
        let mut next = || spoke.next().unwrap_or(false);
        let note = next();
        let connection = self.listener.is_some() && next();
        let words = self.ears.is_some() && next();
        Woken { note, connection, words, engines: engines.iter().map(|_| next()).collect() }
    }

    /// Hears one engine; one that is gone is forgotten.
    fn listen(&self, course: &mut Course, at: usize) {
        let Some(Ok(orders)) = course.engines.get_mut(at).map(Engine::orders) else {
            course.engines.remove(at);
            return;
        };
        for order in orders {
            let answer = match order {
                Order::Go => None,
                Order::Stop { signal, grace } => {
                    if let Some(signal) = Signal::from_named_raw(signal) {
                        signal_all(signal);
                    }
                    course.stop(monotonic().saturating_add(grace));
                    None
                }
                Order::Kill => {
                    course.kill();
                    None
                }
                Order::Status => Some(self.status()),
                Order::Lines => Some(Fact::Lines(self.lines())),
            };
            let engine = course.engines.get_mut(at);
            if let (Some(answer), Some(engine)) = (answer, engine)
                && engine.say(&answer).is_err()
            {
                course.engines.remove(at);
                return;
            }
        }
    }

    fn status(&self) -> Fact {
        match &self.ears {
            Some(ears) => ears.status(),
            None => Fact::Status { readiness: Readiness::NotReady, words: String::new() },
        }
    }

    fn lines(&self) -> Vec<String> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).lines()
    }

    /// How long nothing may happen before time itself matters.
    fn patience(&self, course: &Course) -> Option<Duration> {
        let now = monotonic();
        let phase = match course.phase {
            Phase::Kill => Some(KILL_AGAIN_AFTER),
            Phase::Stop { kill_at } => Some(kill_at.saturating_sub(now)),
            Phase::Run | Phase::Over => None,
        };
        let orphan = match (self.tie, course.alone_since) {
            (Tie::Standing { orphan_after: Some(span) }, Some(since)) => {
                Some((since + span).saturating_sub(now).min(ORPHAN_LOOKS_EVERY))
            }
            (Tie::Standing { .. } | Tie::Tethered, _) => None,
        };
        phase.into_iter().chain(orphan).min()
    }

    /// Does what is due by now.
    fn mind_time(&self, course: &mut Course) {
        let now = monotonic();
        if let Phase::Stop { kill_at } = course.phase
            && kill_at <= now
        {
            course.kill();
        }
        let Some(since) = course.alone_since else { return };
        match self.tie {
            Tie::Tethered => course.kill(),
            Tie::Standing { orphan_after: None } => {}
            // Nobody finds it any more, and somebody wanted no orphans.
            Tie::Standing { orphan_after: Some(_) } if is_folder_gone() => course.kill(),
            Tie::Standing { orphan_after: Some(span) } => {
                if since + span <= now && course.phase == Phase::Run {
                    signal_all(Signal::TERM);
                    course.stop(now + ORPHAN_GRACE);
                }
            }
        }
    }

    fn kill_all(&self) {
        if let Some(group) = self.group {
            group.kill();
        }
        signal_all(Signal::KILL);
    }

    /// Sees to it that somebody hears of the exit: by the disk, or by an engine when the disk takes no writes.
    fn tell_exit(&mut self, course: &mut Course) {
        let exited = Fact::Exited { exit: course.exit, lines: self.lines() };
        loop {
            let is_written = match self.tie {
                Tie::Tethered => true,
                Tie::Standing { .. } => entry::write_exit(Path::new("."), &exited).is_ok(),
            };
            let told = course.engines.iter_mut().filter_map(|one| one.say(&exited).ok()).count();
            if is_written || told > 0 || is_folder_gone() {
                return;
            }
            self.turn(course, Some(EXIT_AGAIN_AFTER));
        }
    }
}

impl Course {
    fn note(&mut self, note: Note) {
        match note {
            Note::Ended(pid, exit) if pid == self.main => {
                self.exit = exit;
                // What a workload leaves behind when it ends by itself would stand in its successor's way.
                if self.phase == Phase::Run {
                    self.kill();
                }
            }
            Note::Ended(..) => {}
            Note::Nobody => self.phase = Phase::Over,
            Note::OutputDone => self.output = Output::Done,
        }
    }

    /// A second word to stop gives no more time than the first.
    fn stop(&mut self, kill_at: Duration) {
        self.phase = match self.phase {
            Phase::Run => Phase::Stop { kill_at },
            Phase::Stop { kill_at: before } => Phase::Stop { kill_at: before.min(kill_at) },
            Phase::Kill => Phase::Kill,
            Phase::Over => Phase::Over,
        };
    }

    fn kill(&mut self) {
        if self.phase != Phase::Over {
            self.phase = Phase::Kill;
        }
    }
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
