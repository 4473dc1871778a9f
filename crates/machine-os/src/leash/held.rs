//! Holding one workload: started, signalled, killed, waited for, with all that descends from it.

use std::io::{self, BufRead, PipeReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use host::Exit;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use crate::leash::descriptors;
use crate::leash::words::{Errand, Fact, Order};
use crate::output::Output;
use crate::proc;

/// How soon the tree is killed once more when something of it is still there. A process that forks while it is being
/// killed leaves a child that the first look did not see.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How long the rest of the output is waited for once everything that wrote it is gone.
const OUTPUT_LAST: Duration = Duration::from_secs(1);

/// What can happen to a leash.
enum Note {
    /// A child ended.
    Ended(Pid, Exit),
    /// There is no child any more, and so no descendant: each would be a child of a child, or have become our own.
    Nobody,
    /// The engine orders.
    Ordered(Order),
    /// The engine is gone.
    Alone,
    /// All output is written.
    OutputDone,
}

/// Starts the workload and returns when nothing of it is left. An error says why it was not started.
pub(super) fn hold(errand: &Errand, say: impl Fn(&Fact)) -> Result<(), String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    // A session of its own keeps the terminal's signals away, and is how the engine finds what a leash that was killed
    // left behind.
    rustix::process::setsid().map_err(|error| format!("no session of its own: {error}"))?;
    descriptors::keep_from_workloads().map_err(failed("descriptors cannot be listed"))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("descendants cannot be waited for: {error}"))?;
    if let Some(files) = errand.files {
        let limit = Rlimit { current: Some(files), maximum: Some(files) };
        rustix::process::setrlimit(Resource::Nofile, limit)
            .map_err(|error| format!("the limit of {files} open files cannot be set: {error}"))?;
    }
    let output = Output::open(errand.output.clone(), &errand.title)
        .map_err(failed("its output cannot be written"))?;
    let (reader, pid) = spawn(errand)?;
    let main = Pid::from_raw(pid.cast_signed()).ok_or("it has no number")?;
    // It was not waited for, so even if it has ended already it is still listed.
    let started = proc::stat(pid).map_or(0, |stat| stat.started);
    say(&Fact::Started { pid, started });

    let (notes, noted) = mpsc::channel();
    for work in [reap, listen] {
        let notes = notes.clone();
        thread::spawn(move || work(&notes));
    }
    thread::spawn(move || {
        pump(reader, output);
        let _ = notes.send(Note::OutputDone);
    });
    say(&Fact::Exited(watch(main, &noted)));
    Ok(())
}

/// Starts the workload with its output in a pipe.
fn spawn(errand: &Errand) -> Result<(PipeReader, u32), String> {
    let (program, arguments) = errand.command.split_first().ok_or("there is no program")?;
    let pipe = || -> io::Result<_> {
        let (reader, writer) = io::pipe()?;
        Ok((reader, writer.try_clone()?, writer))
    };
    let (reader, out, err) = pipe().map_err(|error| format!("no pipe: {error}"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(&errand.environment)
        .current_dir(&errand.folder)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0);
    if let Some(user) = errand.user {
        // The standard library drops the supplementary groups with the user.
        command.gid(user.gid).uid(user.uid);
    }
    let child = command.spawn().map_err(|error| format!("`{program}`: {error}"))?;
    Ok((reader, child.id()))
}

/// Keeps watch until nobody is left, and says how the workload itself ended.
fn watch(main: Pid, noted: &Receiver<Note>) -> Exit {
    let mut exit = Exit::Unknown;
    let mut course = Course::Run;
    let mut output_done = false;
    loop {
        let note = match course {
            Course::Run | Course::Stop => noted.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Course::Kill => noted.recv_timeout(KILL_AGAIN_AFTER),
        };
        match note {
            Ok(Note::Ended(pid, how)) => {
                if pid == main {
                    exit = how;
                    if course == Course::Run {
                        // What a workload leaves behind when it ends by itself would stand in its successor's way.
                        course = Course::Kill;
                    }
                }
            }
            Ok(Note::Nobody) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(Note::Ordered(Order::Signal(number))) => {
                if course == Course::Run {
                    course = Course::Stop;
                }
                if let Some(signal) = Signal::from_named_raw(number) {
                    signal_all(signal);
                }
            }
            Ok(Note::Ordered(Order::Kill) | Note::Alone) => course = Course::Kill,
            Ok(Note::OutputDone) => output_done = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if course == Course::Kill {
            signal_all(Signal::KILL);
        }
    }
    // What was written last is often what matters.
    while !output_done {
        match noted.recv_timeout(OUTPUT_LAST) {
            Ok(note) => output_done = matches!(note, Note::OutputDone),
            Err(_) => break,
        }
    }
    exit
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It runs as long as it likes.
    Run,
    /// It was asked to stop, and its tree may end in its own time.
    Stop,
    /// Nothing of it may stay.
    Kill,
}

/// Signals everything that descends from this process: also what left the workload's group and session.
fn signal_all(signal: Signal) {
    let descendants = proc::descendants(std::process::id()).unwrap_or_default();
    descendants.iter().for_each(|one| proc::signal(one, signal));
}

/// Waits for every child, the adopted ones too.
fn reap(notes: &Sender<Note>) {
    loop {
        let note = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => match exit(status) {
                Some(exit) => Note::Ended(pid, exit),
                None => continue,
            },
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Note::Nobody,
        };
        let is_last = matches!(note, Note::Nobody);
        if notes.send(note).is_err() || is_last {
            return;
        }
    }
}

fn exit(status: WaitStatus) -> Option<Exit> {
    let status_of = status.exit_status().map(Exit::Status);
    status_of.or_else(|| status.terminating_signal().map(Exit::Signal))
}

/// Passes the engine's orders on; the end of them is one.
fn listen(notes: &Sender<Note>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        // An order that means nothing here is of a newer engine; there is no use in guessing.
        if let Ok(order) = line.parse()
            && notes.send(Note::Ordered(order)).is_err()
        {
            return;
        }
    }
    let _ = notes.send(Note::Alone);
}

/// Writes the output until all who could write are gone. A full disk loses output, and stops nobody.
fn pump(mut from: PipeReader, mut to: Output) {
    let mut buffer = [0; 16 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let _ = to.write(buffer.get(..length).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
