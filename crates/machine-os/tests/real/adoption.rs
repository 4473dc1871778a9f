//! An engine that is gone and another in its place: workloads notice nothing, and nobody else is taken for one.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::disk::Disk;
use crate::engine::Engine;
use crate::machine::{
    Machine, STOP, is_alive, kill, open, pids, port_of, program, seal, shim_of, skipped, spec,
    stat_parent, until, until_gone,
};
use host::{Exit, Host, Process};
use inventory::{Signal, Span, Stop};
use tempfile::TempDir;

/// A wrapper with a child beside it, and one with a child that leaves group and session.
const TREES: [&str; 2] =
    ["sleep 1000 & echo $!; echo $$; wait", "setsid sleep 1000 & echo $!; echo $$; wait"];

#[tokio::test]
async fn an_engine_killed_by_kill_9_is_unnoticed_in_the_middle_of_a_request() {
    let machine = Machine::new();
    let script = format!("exec {} serve $PORT served", program().display());
    let (engine, pid) = Engine::start(&machine, &script);
    let port = port_of(pid).await;
    let connect = || TcpStream::connect(("127.0.0.1", port)).ok();
    let mut request = until("it listens", connect).await;
    engine.kill();
    request.write_all(b"GET /").unwrap();
    let mut answer = String::new();
    request.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "served");
    let (engine, again) = Engine::start(&machine, &script);
    assert_eq!(again, pid);
    engine.kill();
    let [adopted] = &machine.adopt().await[..] else { unreachable!("one runs") };
    assert_eq!(adopted.process.identity().pid, pid);
    assert_eq!(adopted.process.address().port(), port);
    adopted.process.stop(STOP).await;
    assert!(!is_alive(pid) && connect().is_none());
    assert!(machine.adopt().await.is_empty());
}

#[tokio::test]
async fn no_request_fails_while_engines_come_and_go() {
    let machine = Machine::new();
    let script = format!("exec {} serve $PORT served", program().display());
    let (mut engine, pid) = Engine::start(&machine, &script);
    let port = port_of(pid).await;
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).ok()).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let asking = std::thread::spawn(move || {
        let mut served = 0;
        while !over.load(Ordering::Relaxed) {
            let mut request = TcpStream::connect(("127.0.0.1", port)).unwrap();
            request.write_all(b"GET /").unwrap();
            let mut answer = String::new();
            request.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, "served");
            served += 1;
        }
        served
    });
    for _ in 0..10 {
        engine.kill();
        let again;
        (engine, again) = Engine::start(&machine, &script);
        assert_eq!(again, pid);
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(asking.join().unwrap() > 10);
    engine.kill();
}

#[tokio::test]
async fn an_adopted_process_is_the_same_and_its_whole_tree_is_stopped() {
    for script in TREES {
        let machine = Machine::new();
        let process = machine.run(script).await;
        let pids = pids(&process, 2).await;
        let (identity, address) = (process.identity().clone(), process.address());
        drop(process);
        let [adopted] = &machine.adopt().await[..] else { unreachable!("one runs") };
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{script}");
        assert_eq!((adopted.process.identity(), adopted.process.address()), (&identity, address));
        let spec = spec();
        assert_eq!((&adopted.module, &adopted.instance), (&spec.module, &spec.instance));
        assert_eq!((&adopted.resource, &adopted.execution), (&spec.resource, &spec.execution));
        assert_eq!(adopted.keepsake, spec.keepsake);
        assert_eq!(adopted.process.last_lines().await.len(), 2);
        adopted.process.stop(STOP).await;
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{script}");
        assert!(machine.adopt().await.is_empty());
    }
}

#[tokio::test]
async fn checks_of_an_adopted_process_run_in_its_place_and_environment() {
    let machine = Machine::new();
    let environment = [("GREETING".to_owned(), "hello".to_owned())].into();
    let spec = host::ProcessSpec { environment, ..spec() };
    drop(machine.run_as("exec sleep 1000", spec).await);
    let [adopted] = &machine.adopt().await[..] else { unreachable!("one runs") };
    let check = ["sh", "-c", "test -f run && test $GREETING$PORT = hello${PORT}"];
    let check = inventory::Check::Exec(check.map(str::to_owned).into());
    assert_eq!(adopted.process.check(&check, Duration::from_secs(10)).await, Ok(()));
}

#[tokio::test]
async fn an_end_that_nobody_saw_is_told_once() {
    let machine = Machine::new();
    drop(machine.run("echo one; sleep 0.1; echo two; exit 3").await);
    let exit = machine.shim_folder().join("exit");
    until("it has ended", || exit.exists().then_some(())).await;
    let [ended] = &machine.adopt().await[..] else { unreachable!("its end is not heard yet") };
    assert_eq!(ended.process.ended().await, Exit::Status(3));
    assert_eq!(ended.process.last_lines().await, ["one", "two"]);
    assert!(machine.adopt().await.is_empty());
}

#[tokio::test]
async fn a_stop_goes_on_when_its_engine_is_gone() {
    let machine = Machine::new();
    let process = machine.run("trap '' TERM; echo $$; while :; do sleep 1000; done").await;
    let pids = pids(&process, 1).await;
    let how = Stop { signal: Signal::Term, grace: Span::milliseconds(300), ..STOP };
    // The word to stop is said, and then nobody is there any more who could kill after the grace.
    let gone = tokio::time::timeout(Duration::from_millis(100), process.stop(how)).await;
    assert!(gone.is_err());
    drop(process);
    until_gone(&pids).await;
}

#[tokio::test]
async fn a_shim_that_is_killed_takes_its_whole_workload_along() {
    for script in TREES {
        let machine = Machine::new();
        let process = machine.run(script).await;
        let pids = pids(&process, 2).await;
        // What the shim has heard it may not have written yet.
        let log = machine.root().join("output/blog/blog-1/web.log");
        let written = || (fs::read_to_string(&log).ok()?.lines().count() >= 3).then_some(());
        until("its title and its words are in the log", written).await;
        kill(shim_of(&process));
        assert_eq!(process.ended().await, Exit::Unknown);
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{script}");
        assert_eq!(process.last_lines().await.len(), 2, "its last words are in the log");
        assert!(machine.adopt().await.is_empty());
    }
}

#[tokio::test]
async fn of_a_shim_that_was_killed_while_nobody_looked_nothing_is_left_and_its_end_is_unknown() {
    for script in TREES {
        let machine = Machine::new();
        let process = machine.run(script).await;
        let pids = pids(&process, 2).await;
        let shim = shim_of(&process);
        drop(process);
        kill(shim);
        let [ended] = &machine.adopt().await[..] else { unreachable!("its end is not heard yet") };
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{script}");
        assert_eq!(ended.process.ended().await, Exit::Unknown);
        assert!(machine.adopt().await.is_empty());
    }
}

#[tokio::test]
async fn a_shim_that_hangs_is_lost_when_it_should_stop_something() {
    let machine = Machine::new();
    let process = machine.run(TREES[1]).await;
    let pids = pids(&process, 2).await;
    let shim = shim_of(&process);
    let stopped = rustix::process::Pid::from_raw(shim.cast_signed()).unwrap();
    rustix::process::kill_process(stopped, rustix::process::Signal::STOP).unwrap();
    process.stop(Stop { signal: Signal::Kill, grace: Span::ZERO, ..STOP }).await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)) && !is_alive(shim));
    assert_eq!(process.ended().await, Exit::Unknown);
}

/// Replaces numbers in what a shim wrote of itself.
fn rewrite(machine: &Machine, change: impl Fn(&str, &str) -> String) {
    let folder = machine.shim_folder();
    let text = fs::read_to_string(folder.join("identity")).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let lines: String =
        lines.map(|(key, value)| format!("{key} {}\n", change(key, value))).collect();
    for name in ["identity", "identity.copy"] {
        fs::write(folder.join(name), seal(&lines)).unwrap();
    }
}

/// Somebody else's process; ended with the value.
struct Stranger(Child);

impl Stranger {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    /// One of another user. `None` for who is not root: then there is no way to start one.
    fn of_nobody() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skipped("a stranger of another user: only root can start one");
            return None;
        }
        Some(Self(Command::new("sleep").arg("1000").uid(65534).gid(65534).spawn().unwrap()))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_stranger_with_a_stored_number_is_neither_adopted_nor_signalled_and_the_service_starts() {
    for stranger in [Some(Stranger::new()), Stranger::of_nobody()].into_iter().flatten() {
        let machine = Machine::new();
        let process = machine.run(TREES[1]).await;
        let all = pids(&process, 2).await;
        let shim = shim_of(&process);
        drop(process);
        [&[shim], &all[..]].concat().into_iter().for_each(kill);
        until_gone(&all).await;
        // The numbers now belong to somebody who was started at another time: by how much is said here, since both can have
        // begun in one tick of the kernel's clock.
        let at_another_time = |started: &str| started.parse::<u64>().unwrap() + 1_000;
        rewrite(&machine, |key, value| match key {
            "shim" | "workload" => {
                let (_, started) = value.split_once(' ').unwrap();
                format!("{} {}", stranger.0.id(), at_another_time(started))
            }
            _ => value.to_owned(),
        });
        let [ended] = &machine.adopt().await[..] else { unreachable!("its end is not heard yet") };
        assert_eq!(ended.process.ended().await, Exit::Unknown);
        assert!(is_alive(stranger.0.id()));
        // Handles on what is gone do no harm either.
        ended.process.stop(STOP).await;
        assert!(is_alive(stranger.0.id()));
        let again = machine.host.start(&spec()).await.unwrap();
        let new = pids(&again, 2).await;
        assert!(new.iter().all(|pid| is_alive(*pid)) && is_alive(stranger.0.id()));
        again.stop(STOP).await;
        assert!(is_alive(stranger.0.id()));
    }
}

#[tokio::test]
async fn after_a_power_cut_nothing_is_adopted_and_everything_is_started_once() {
    let machine = Machine::new();
    let script = "echo $$ >> ../../../../pids; exec sleep 1000";
    let written = || -> Vec<u32> {
        let text = fs::read_to_string(machine.folder.path().join("pids")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let (engine, old) = Engine::start(&machine, script);
    let run_once = || (written() == [old]).then_some(());
    until("it runs", run_once).await;
    let shim = stat_parent(old);
    engine.kill();
    [shim, old].into_iter().for_each(kill);
    until_gone(&[shim, old]).await;
    rewrite(&machine, |key, value| match key {
        "boot" => "00000000-0000-0000-0000-000000000000".to_owned(),
        _ => value.to_owned(),
    });
    let before = machine.shim_folder();
    let (engine, new) = Engine::start(&machine, script);
    until("it runs", || (written() == [old, new]).then_some(())).await;
    assert_ne!(machine.shim_folder(), before, "what was kept of the boot before is gone");
    engine.kill();
    let (_engine, same) = Engine::start(&machine, script);
    assert_eq!((same, written()), (new, vec![old, new]));
}

#[tokio::test]
async fn after_a_reboot_nothing_is_adopted_and_nobody_is_signalled() {
    let machine = Machine::new();
    let process = machine.run(TREES[1]).await;
    let pids = pids(&process, 2).await;
    let shim = shim_of(&process);
    drop(process);
    [&[shim], &pids[..]].concat().into_iter().for_each(kill);
    until_gone(&pids).await;
    // Somebody who by chance has the same number and start time in the next boot.
    let stranger = Stranger::new();
    let stat = fs::read_to_string(format!("/proc/{}/stat", stranger.0.id())).unwrap();
    let started = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
    rewrite(&machine, |key, value| match key {
        "shim" | "workload" => format!("{} {started}", stranger.0.id()),
        "boot" => "00000000-0000-0000-0000-000000000000".to_owned(),
        _ => value.to_owned(),
    });
    assert!(machine.adopt().await.is_empty());
    assert!(is_alive(stranger.0.id()));
    assert!(fs::read_dir(machine.root().join("shims")).unwrap().next().is_none());
}

#[tokio::test]
async fn what_was_never_started_is_removed_and_what_nobody_can_tell_is_ended() {
    let machine = Machine::new();
    // An engine died between making the folder and starting the shim.
    fs::create_dir(machine.root().join("shims/a1-1.web.0000000000000000")).unwrap();
    assert!(machine.adopt().await.is_empty());
    let process = machine.run(TREES[1]).await;
    let pids = pids(&process, 2).await;
    drop(process);
    for name in ["keepsake", "keepsake.copy"] {
        let of_newer = seal("{\"of\": \"a newer engine\"}");
        fs::write(machine.shim_folder().join(name), of_newer).unwrap();
    }
    assert!(machine.adopt().await.is_empty());
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert!(fs::read_dir(machine.root().join("shims")).unwrap().next().is_none());
}

#[tokio::test]
async fn a_folder_however_long_its_path_has_its_socket_for_its_user_alone() {
    let machine = Machine::new();
    let deep = machine.root().join("x".repeat(200)).join("y".repeat(200));
    let host = open(machine.folder.path(), &deep);
    let run = machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n");
    host.install(&crate::machine::bundle(vec![run])).await.unwrap();
    let pid = host.start(&spec()).await.unwrap().identity().pid;
    let shims = deep.join("shims");
    let folder = fs::read_dir(shims).unwrap().next().unwrap().unwrap().path();
    let mode = |name: &str| folder.join(name).metadata().unwrap().mode() & 0o777;
    assert!(folder.join("socket").metadata().unwrap().file_type().is_socket());
    assert_eq!((mode(""), mode("socket"), mode("errand")), (0o700, 0o600, 0o600));
    let [adopted] = &host.adopt().await.unwrap()[..] else { unreachable!("one runs") };
    assert_eq!(adopted.process.identity().pid, pid);
    adopted.process.stop(STOP).await;
}

#[tokio::test]
async fn an_end_that_cannot_be_written_waits_for_somebody_to_hear_it() {
    let machine = Machine::new();
    let folder = TempDir::new().unwrap();
    let Some(disk) = Disk::mount(folder.path()) else { return };
    let host = open(machine.folder.path(), folder.path());
    let run = machine.artifact("run", b"#!/bin/sh\necho here; exec sleep 1000\n");
    host.install(&crate::machine::bundle(vec![run])).await.unwrap();
    let process = host.start(&spec()).await.unwrap();
    let (pid, shim) = (process.identity().pid, shim_of(&process));
    until_line(&process).await;
    drop(process);
    // The engine's end of the connection goes with its task; until then somebody is there to hear.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    // It fails when nothing is left.
    let _ = fs::write(folder.path().join("ballast"), vec![1; 8 * 1024 * 1024]);
    kill(pid);
    until_gone(&[pid]).await;
    let [ended] = &host.adopt().await.unwrap()[..] else { unreachable!("its shim waits") };
    assert_eq!(ended.process.ended().await, Exit::Signal(9));
    assert_eq!(ended.process.last_lines().await, ["here"]);
    until_gone(&[shim]).await;
    drop(disk);
}

async fn until_line(process: &machine_os::OsProcess) {
    while process.last_lines().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
