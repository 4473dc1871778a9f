//! Holding one workload, from the errand to its end.

use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use host::Notify;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

use crate::entry::{self, Identity, Who};
use crate::output::Log;
use crate::proc;
use crate::shim::engines::Engine;
use crate::shim::errand::{Errand, Tie};
use crate::shim::flow::{self, Flow};
use crate::shim::group::{self, Group};
use crate::shim::memory::Memory;
use crate::shim::notify::Ears;
use crate::shim::reap::{self, Note};
use crate::shim::watch::Watch;
use crate::shim::words::{Fact, Order};
use crate::shim::{MARK, unowned};

/// A shim's folder, which is the one it works in: reached so, it needs no path and is not mistaken for a later one of the
/// same name.
const HERE: &str = ".";

/// Starts the workload and returns when nothing of it is left. An error says why it was not started.
pub(super) fn hold(errand: &Errand, engine: &mut UnixStream) -> Result<(), String> {
    // A session of its own keeps the terminal's signals away, and is one way of finding what a shim that was killed left.
    rustix::process::setsid().map_err(|error| format!("no session of its own: {error}"))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| format!("descendants cannot be waited for: {error}"))?;
    let me = proc::stat(std::process::id()).ok_or("this process cannot be seen in /proc")?;
    let me = Who { pid: me.pid, started: me.started };
    let group = Group::make(&format!("bellwether-{}.{}", me.pid, me.started));
    let held = prepared(errand, engine, me, group.as_ref());
    if let Some(group) = &group {
        group::remove(group.path());
    }
    held
}

fn prepared(
    errand: &Errand,
    engine: &mut UnixStream,
    shim: Who,
    group: Option<&Group>,
) -> Result<(), String> {
    let boot = proc::boot().map_err(|error| format!("the boot cannot be told: {error}"))?;
    let group_path = group.map(|group| group.path().to_owned());
    let mut identity = Identity { shim, boot, group: group_path, workload: None };
    let listener = match errand.tie {
        Tie::Tethered => None,
        Tie::Standing { .. } => {
            let found = findable(&identity);
            Some(found.map_err(|error| format!("its folder cannot be written: {error}"))?)
        }
    };
    let ears = match errand.notify {
        Notify::Unheard => None,
        Notify::Heard { watchdog } => {
            let uid = errand.user.map_or(rustix::process::geteuid().as_raw(), |user| user.uid);
            let name = format!("bellwether-{}.{}", shim.pid, shim.started);
            let ears = Ears::open(&name, uid, watchdog);
            Some(ears.map_err(|error| format!("it could not be heard: {error}"))?)
        }
    };
    let unkept = group::limit(group, errand.limits);
    let memory = Memory::watch(group.map(Group::path));
    wait_for_go(engine)?;

    let (reader, main) = limited(errand, || {
        let start = || spawn(errand, shim, ears.as_ref());
        group.map_or_else(start, |group| group.within(start))
    })?;
    // It was not waited for, so even if it has ended already it is still listed.
    let started =
        proc::stat(main.as_raw_nonzero().get().unsigned_abs()).map_or(0, |one| one.started);
    let workload = Who { pid: main.as_raw_nonzero().get().unsigned_abs(), started };
    identity.workload = Some(workload);
    if listener.is_some() {
        // Whoever connects is told as well; on disk it is for when this process is gone too.
        let _ = identity.write(Path::new(HERE));
    }
    let execution = errand.execution.clone();
    let started = Fact::Started { pid: workload.pid, started: workload.started, execution };

    let broken = |error: io::Error| format!("it cannot be held: {error}");
    let (notes, wake) = io::pipe().map_err(broken)?;
    flow::no_waiting(&notes).map_err(broken)?;
    reap::reap(wake.try_clone().map_err(broken)?).map_err(broken)?;
    let log = errand.output.clone().map(|path| Log::new(path, &errand.title, &unkept));
    let to = log.map(|log| write_log(log, wake.try_clone()?)).transpose().map_err(broken)?;
    let flow = Flow::new(reader, to).map_err(broken)?;
    let mut first = Engine::new(engine.try_clone().map_err(broken)?).map_err(broken)?;
    // An engine that is gone by now is one that the next will replace.
    let _ = first.say(&started);
    let (tie, _wake) = (errand.tie, wake);
    let watch = Watch { main, started, tie, group, memory, listener, ears, flow, notes, _wake };
    unowned::forget_program();
    watch.run(first);
    Ok(())
}

/// Starts the thread that waits for the disk, so that nothing else does.
fn write_log(log: Log, mut wake: PipeWriter) -> io::Result<PipeWriter> {
    let (from, to) = io::pipe()?;
    thread::Builder::new().name("log".to_owned()).spawn(move || {
        flow::write(from, log);
        Note::LogDone.send(&mut wake);
    })?;
    Ok(to)
}

/// From now on another engine can find this process. Its socket is for this user; who connects is looked at besides.
fn findable(identity: &Identity) -> io::Result<UnixListener> {
    identity.write(Path::new(HERE))?;
    let listener = UnixListener::bind(entry::SOCKET)?;
    fs::set_permissions(entry::SOCKET, fs::Permissions::from_mode(0o600))?;
    let [socket, second] = entry::sockets(Path::new(HERE));
    // Where it cannot have a second name, the first is enough.
    let _ = fs::hard_link(socket, second);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// An engine that dies before it says so has started nothing.
fn wait_for_go(engine: &mut UnixStream) -> Result<(), String> {
    let gone = |error: io::Error| format!("the engine is gone: {error}");
    io::Write::write_all(engine, format!("{}\n", Fact::Ready).as_bytes()).map_err(gone)?;
    let mut line = String::new();
    BufReader::with_capacity(64, &*engine).read_line(&mut line).map_err(gone)?;
    match line.trim_end().parse() {
        Ok(Order::Go) => Ok(()),
        Ok(_) | Err(_) => Err("the engine did not say go".to_owned()),
    }
}

/// Starts something under the errand's limit on open files, which a child inherits, and lifts it again for this process as
/// far as that is allowed.
fn limited<T>(errand: &Errand, start: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let Some(files) = errand.limits.files else { return start() };
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: Some(files) })
        .map_err(|error| format!("the limit of {files} open files cannot be set: {error}"))?;
    let started = start();
    let _ = setrlimit(Resource::Nofile, before);
    started
}

/// Starts the workload with its output in a pipe.
fn spawn(errand: &Errand, shim: Who, ears: Option<&Ears>) -> Result<(PipeReader, Pid), String> {
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
        .env(MARK, format!("{}.{}", shim.pid, shim.started))
        .envs(ears.map(Ears::environment).unwrap_or_default())
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
    let pid = Pid::from_raw(child.id().cast_signed()).ok_or("it has no number")?;
    Ok((reader, pid))
}
