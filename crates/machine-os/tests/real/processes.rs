//! Real processes: their identity, their end, and that nothing of them is ever left.

use std::fs::{self, File, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::engine::Engine;
use crate::machine::{Machine, STOP, count_in, is_alive, pids, program, spec, until};
use host::{Exit, Host, Process, ProcessSpec, StartError};
use inventory::{Limits, Span, Stop};
use machine_os::OsProcess;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};

#[tokio::test]
async fn an_end_is_told_with_its_status_and_last_lines() {
    for (script, exit) in [
        ("echo one; echo two >&2; exit 3", Exit::Status(3)),
        ("echo one; echo two >&2; kill -SEGV $$", Exit::Signal(11)),
        ("echo one; echo two >&2", Exit::Status(0)),
    ] {
        let machine = Machine::new();
        let process = machine.run(script).await;
        assert_eq!(process.ended().await, exit, "{script}");
        assert_eq!(process.last_lines().await, ["one", "two"], "{script}");
        assert_eq!(process.ended().await, exit, "asked again, the answer is the same");
    }
}

#[tokio::test]
async fn identity_is_number_start_time_and_boot() {
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let identity = process.identity().clone();
    let stat = fs::read_to_string(format!("/proc/{}/stat", identity.pid)).unwrap();
    let started = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
    assert_eq!(identity.started.to_string(), started);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(identity.boot.0, boot.trim());
}

#[tokio::test]
async fn grandchildren_do_not_survive_the_stop() {
    // Each prints its own and its descendants' numbers. `setsid` leaves group and session; a double fork is orphaned.
    for script in [
        "sleep 1000 & echo $!; echo $$; wait",
        "setsid sleep 1000 & echo $!; echo $$; wait",
        "(setsid sh -c 'sleep 1000 & echo $!; echo $$; wait' &); echo $$; sleep 1000",
        "(sh -c 'echo $$; exec sleep 1000' &); (sh -c 'echo $$; exec sleep 1000' &); echo $$; wait; exec sleep 1000",
    ] {
        let machine = Machine::new();
        let process = machine.run(script).await;
        let pids = pids(&process, script.matches("echo").count()).await;
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{script}");
        process.stop(STOP).await;
        assert!(!pids.iter().any(|pid| is_alive(*pid)), "{script}");
    }
}

#[tokio::test]
async fn whatever_a_server_hides_behind_its_stop_leaves_nothing_and_its_port_is_free() {
    let serve = format!("{} serve $PORT here", program().display());
    for script in [
        format!("{serve} & wait"),
        format!("setsid {serve} & wait"),
        format!("sh -c '{serve} & wait' & wait"),
        // A daemon, as the books have it: two forks and a session of its own, its output elsewhere.
        format!("(setsid sh -c '{serve} >/dev/null 2>&1 &' &); exec sleep 1000"),
    ] {
        let machine = Machine::new();
        let process = machine.run(&script).await;
        let address = process.address();
        until("it listens", || TcpStream::connect(address).ok()).await;
        process.stop(STOP).await;
        assert!(TcpListener::bind(address).is_ok(), "{script}");
        assert_eq!(count_in(&machine.build()), 0, "{script}");
    }
}

#[tokio::test]
async fn a_daemon_whose_parent_ends_ends_with_it() {
    let machine = Machine::new();
    let go = machine.folder.path().join("go");
    let script = format!(
        "(setsid {} serve $PORT here &); until test -e {}; do sleep 0.01; done",
        program().display(),
        go.display()
    );
    let process = machine.run(&script).await;
    let address = process.address();
    until("it listens", || TcpStream::connect(address).ok()).await;
    fs::write(go, "").unwrap();
    assert_eq!(process.ended().await, Exit::Status(0));
    assert!(TcpListener::bind(address).is_ok());
    assert_eq!(count_in(&machine.build()), 0);
}

#[tokio::test]
async fn one_that_has_stopped_itself_heeds_the_word_to_end_before_the_grace_is_over() {
    let machine = Machine::new();
    let script = "trap 'exit 5' TERM; echo $$; kill -STOP $$; while :; do sleep 0.01; done";
    let process = machine.run(script).await;
    let pid = pids(&process, 1).await[0];
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T').then_some(())
    };
    until("it has stopped itself", is_stopped).await;
    process.stop(STOP).await;
    assert_eq!(process.ended().await, Exit::Status(5));
}

#[tokio::test]
async fn what_ignores_its_signal_is_killed_after_the_grace() {
    let machine = Machine::new();
    let script = "trap '' TERM; setsid sh -c 'echo $$; while :; do sleep 1000; done' & echo $$; while :; do sleep 1000; done";
    let process = machine.run(script).await;
    let pids = pids(&process, 2).await;
    let how = Stop { grace: Span::milliseconds(100), ..STOP };
    process.stop(how).await;
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert_eq!(process.ended().await, Exit::Signal(9));
}

#[tokio::test]
async fn a_child_may_end_in_its_own_time_after_its_parent_did() {
    let machine = Machine::new();
    let folder = machine.folder.path().display().to_string();
    // The parent ends at once; its child needs a moment, and is given it.
    let child = format!(
        "trap 'sleep 0.3; echo done > {folder}/done; exit' TERM; echo $$; while :; do sleep 0.05; done"
    );
    let process =
        machine.run(&format!("sh -c \"{}\" & echo $$; wait", child.replace('$', "\\$"))).await;
    pids(&process, 2).await;
    process.stop(STOP).await;
    assert!(machine.folder.path().join("done").exists());
}

#[tokio::test]
async fn what_a_workload_leaves_behind_is_gone_before_its_end_is_told() {
    let machine = Machine::new();
    let process = machine.run("setsid sleep 1000 & echo $!; exit 7").await;
    assert_eq!(process.ended().await, Exit::Status(7));
    let pids = pids(&process, 1).await;
    assert!(!is_alive(pids[0]));
}

#[tokio::test]
async fn a_workload_inherits_no_descriptor_and_no_environment() {
    let machine = Machine::new();
    let path = machine.folder.path().join("lock");
    // A file of the engine that was opened without close-on-exec, as a library in C may do.
    let lock = File::create(&path).unwrap();
    fcntl_setfd(&lock, FdFlags::empty()).unwrap();
    let environment = [("GREETING", "hello"), ("PORT", "no")];
    let environment = environment.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let spec = ProcessSpec { environment: environment.into(), ..spec() };
    let process = machine.run_as("ls -l /proc/$$/fd; env", spec).await;
    process.ended().await;
    let lines = process.last_lines().await;
    let found = |part: &str| lines.iter().any(|line| line.contains(part));
    assert!(found("/dev/null") && !found("lock"), "{lines:#?}");
    assert!(found("GREETING=hello") && !found("HOME=") && !found("CARGO"), "{lines:#?}");
    assert!(found(&format!("PORT={}", process.address().port())), "{lines:#?}");
}

#[tokio::test]
async fn a_lock_of_an_engine_is_held_by_nobody_else() {
    let machine = Machine::new();
    let lock = machine.folder.path().join("lock");
    // A descriptor that is not closed by itself when another program is started.
    let shell = format!("exec 9>'{}'; flock 9; exec \"$@\"", lock.display());
    let (engine, pid) = Engine::start_by(&machine, "exec sleep 1000", &shell);
    let is_free = || {
        let lock = File::open(&lock).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    };
    assert!(!is_free(), "the engine holds it");
    engine.kill();
    assert!(is_free() && is_alive(pid));
}

#[tokio::test]
async fn a_workload_treats_signals_as_a_new_process_does_whoever_started_the_engine() {
    let machine = Machine::new();
    let shell = "trap '' HUP INT QUIT TERM USR1 PIPE; exec \"$@\"";
    let script = "grep -E 'Sig(Blk|Ign)' /proc/self/status; exec sleep 1000";
    let (_engine, _) = Engine::start_by(&machine, script, shell);
    let log = machine.root().join("output/blog/blog-1/web.log");
    let treated = || {
        let log = fs::read_to_string(&log).ok()?;
        let masks = log.lines().filter_map(|line| line.strip_prefix("Sig")?.split_once(":\t"));
        let masks: Vec<u64> =
            masks.map(|(_, mask)| u64::from_str_radix(mask, 16).unwrap()).collect();
        (masks.len() == 2).then_some(masks)
    };
    // The C library keeps some above 31 to itself.
    let masks = until("it says how", treated).await;
    assert!(masks.iter().all(|mask| mask & 0x7fff_ffff == 0), "{masks:x?}");
}

#[tokio::test]
async fn the_port_is_given_in_arguments_and_is_another_for_each() {
    let machine = Machine::new();
    let command = ["./run", "--port=${PORT}"].map(str::to_owned).into();
    let spec = ProcessSpec { command, ..spec() };
    let first = machine.run_as("echo $1; exec sleep 1000", spec.clone()).await;
    let line = until_line(&first).await;
    assert_eq!(line, format!("--port={}", first.address().port()));
    let second = machine.host.start(&spec).await.unwrap();
    assert_ne!(first.address(), second.address());
}

async fn until_line(process: &OsProcess) -> String {
    for _ in 0..1_000 {
        if let Some(line) = process.last_lines().await.pop() {
            return line;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("it said nothing")
}

#[tokio::test]
async fn what_cannot_start_is_told_before_and_at_the_start() {
    let machine = Machine::new();
    let script = machine.artifact("data", b"no program");
    machine.install(vec![script]).await.unwrap();
    fs::set_permissions(machine.build().join("data"), Permissions::from_mode(0o644)).unwrap();
    let command = |program: &str| ProcessSpec { command: vec![program.to_owned()], ..spec() };
    let user = ProcessSpec { user: Some("no-such-user".to_owned()), ..command("sleep") };
    let elsewhere = ProcessSpec { build: "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap(), ..spec() };
    for (spec, words) in [
        (command("./missing"), "there is no such file"),
        (command("./data"), "it is not executable"),
        (command("no-such-program"), "there is no such program in"),
        (user, "there is no such user"),
        (elsewhere, "its build is not installed"),
    ] {
        let verified = machine.host.verify(&spec, &[]).await.unwrap_err().to_string();
        assert!(verified.contains(words), "{verified}");
        let started = machine.host.start(&spec).await.unwrap_err().to_string();
        assert!(started.contains(words), "{started}");
    }
}

#[tokio::test]
async fn what_only_the_kernel_can_refuse_is_told_at_the_start() {
    let machine = Machine::new();
    let script = machine.artifact("run", b"#!/no/such/interpreter\n");
    machine.install(vec![script]).await.unwrap();
    assert!(machine.host.verify(&spec(), &[]).await.is_ok());
    let error = machine.host.start(&spec()).await.unwrap_err();
    assert!(matches!(&error, StartError::Program { program, .. } if program == "./run"), "{error}");
}

#[tokio::test]
async fn open_files_are_limited() {
    let machine = Machine::new();
    let limits = Limits { files: Some(77), ..Limits::default() };
    let process = machine.run_as("ulimit -n", ProcessSpec { limits, ..spec() }).await;
    process.ended().await;
    assert_eq!(process.last_lines().await, ["77"]);
}

#[tokio::test]
async fn a_workload_runs_as_its_user() {
    // Only root can start a process of another user; others are told so, which the next test shows.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let machine = Machine::new();
    fs::set_permissions(machine.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let spec = ProcessSpec { user: Some("nobody".to_owned()), ..spec() };
    let process = machine.run_as("id -u; id -G", spec).await;
    process.ended().await;
    let lines = process.last_lines().await;
    assert!(lines.len() == 2 && lines.iter().all(|line| line == "65534"), "{lines:?}");
}

#[tokio::test]
async fn starting_many_at_once_leaves_each_its_own_end() {
    let machine = Machine::new();
    let run = machine.artifact("run", b"#!/bin/sh\nexit $1\n");
    machine.install(vec![run]).await.unwrap();
    let mut all = tokio::task::JoinSet::new();
    for status in 0..40 {
        let host = machine.host.clone();
        let command = vec!["./run".to_owned(), status.to_string()];
        let resource = format!("web-{status}").parse().unwrap();
        let spec = ProcessSpec { command, resource, ..spec() };
        all.spawn(async move {
            let process = host.start(&spec).await.unwrap();
            (process.ended().await, Exit::Status(status))
        });
    }
    for (found, expected) in all.join_all().await {
        assert_eq!(found, expected);
    }
}
