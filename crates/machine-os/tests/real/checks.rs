//! Checks of real processes: what passes, and that nobody else can answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::time::Duration;

use crate::machine::{Machine, count_in, is_alive, program, spec, until};
use host::{CheckFailed, Host, Process, ProcessSpec, StartError};
use inventory::{Check, Listen, Span, Stop};
use machine_os::OsProcess;
use rustix::process::{Pid, Signal, kill_process};

const TIMEOUT: Duration = Duration::from_secs(10);

fn http(body: Option<&str>) -> Check {
    Check::Http { path: "/healthz".to_owned(), body: body.map(str::to_owned) }
}

/// A script that answers every connection with the same bytes.
fn serve(answer: &str) -> String {
    format!("exec {} serve $PORT '{answer}'", program().display())
}

/// What a check finds once somebody listens, since a process needs a moment to get there.
async fn settled(process: &OsProcess, check: &Check) -> Result<(), CheckFailed> {
    for _ in 0..1_000 {
        match process.check(check, TIMEOUT).await {
            Err(failed) if failed.0.starts_with("nobody listens") => {}
            settled => return settled,
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("nobody came to listen")
}

#[tokio::test]
async fn what_a_process_answers_itself_passes_or_not() {
    for (answer, check, expected) in [
        ("HTTP/1.1 200 OK\r\n\r\nready", http(None), Ok(())),
        ("HTTP/1.1 200 OK\r\n\r\nready", http(Some("ready")), Ok(())),
        (
            "HTTP/1.1 200 OK\r\n\r\nno",
            http(Some("ready")),
            Err("the body does not contain `ready`"),
        ),
        ("HTTP/1.1 503 Busy\r\n\r\n", http(None), Err("GET /healthz: status 503")),
        ("hello", http(None), Err("no status line")),
        ("", Check::Tcp, Ok(())),
    ] {
        let machine = Machine::new();
        let process = machine.run(&serve(answer)).await;
        let found = settled(&process, &check).await;
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{answer:?}"),
            Err(words) => assert!(found.unwrap_err().0.contains(words), "{answer:?}"),
        }
    }
}

#[tokio::test]
async fn old_process_cannot_answer_for_the_new() {
    let machine = Machine::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let spec = ProcessSpec { listen: Listen::Direct(free), ..spec() };
    let process = machine.run_as("exec sleep 1000", spec).await;
    // Someone else answers on the address of a process that does not listen: with all that a check wants to hear.
    let old = TcpListener::bind(free).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = old.accept() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nready");
        }
    });
    for check in [http(None), http(Some("ready")), Check::Tcp] {
        let failed = process.check(&check, TIMEOUT).await.unwrap_err();
        assert!(failed.0.starts_with("another process listens on its port"), "{failed}");
    }
}

#[tokio::test]
async fn a_process_that_is_gone_passes_no_check() {
    let machine = Machine::new();
    let process = machine.run("exit 0").await;
    process.ended().await;
    let exec = Check::Exec(vec!["true".to_owned()]);
    let alive = Check::Alive(Span::milliseconds(0));
    for check in [http(None), Check::Tcp, exec, alive] {
        let failed = process.check(&check, TIMEOUT).await.unwrap_err();
        assert!(failed.0.starts_with("the process is gone"), "{failed}");
    }
}

#[tokio::test]
async fn a_child_of_the_process_may_answer_for_it() {
    let machine = Machine::new();
    let answer = "HTTP/1.1 200 OK\r\n\r\n";
    let script = format!("setsid {} serve $PORT '{answer}' & wait", program().display());
    let process = machine.run(&script).await;
    assert_eq!(settled(&process, &http(None)).await, Ok(()));
}

#[tokio::test]
async fn silence_is_told_in_time() {
    let machine = Machine::new();
    let process = machine.run(&serve("HTTP/1.1 200 OK\r\n\r\n")).await;
    assert_eq!(settled(&process, &http(None)).await, Ok(()));
    // From now on it listens and never accepts.
    let pid = Pid::from_raw(process.identity().pid.cast_signed()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let failed = process.check(&http(None), Duration::from_millis(50)).await;
    assert_eq!(failed, Err(CheckFailed("no answer in 50 ms".to_owned())));
}

#[tokio::test]
async fn a_command_checks_in_the_workload_s_place_and_environment() {
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let check = |script: &str| Check::Exec(["sh", "-c", script].map(str::to_owned).into());
    let run = |check: Check| {
        let process = process.clone();
        async move { process.check(&check, TIMEOUT).await.map_err(|failed| failed.0) }
    };
    assert_eq!(run(check("test -f run && test ${PORT} = $PORT")).await, Ok(()));
    let failed = run(check("echo first; echo not ready; exit 4")).await.unwrap_err();
    assert_eq!(failed, "`sh` ended with exit status 4, saying: not ready");
    let failed = run(Check::Exec(vec!["no-such-check".to_owned()])).await.unwrap_err();
    assert!(failed.starts_with("`no-such-check`: "), "{failed}");
    // What a check says is not what the workload says.
    assert!(process.last_lines().await.is_empty());
}

#[tokio::test]
async fn a_check_that_takes_too_long_is_killed_whole() {
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let pid = machine.folder.path().join("pid");
    let script = format!("setsid sleep 1000 & echo $! > {}; wait", pid.display());
    let check = Check::Exec(vec!["sh".to_owned(), "-c".to_owned(), script]);
    // Long enough for the shell to say whom it started; the number is only read once it is there.
    let failed = process.check(&check, Duration::from_secs(2)).await.unwrap_err();
    assert_eq!(failed.0, "`sh` took more than 2000 ms and was killed");
    let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    assert!(!is_alive(pid));
    assert!(is_alive(process.identity().pid));
}

#[tokio::test]
async fn hundreds_of_checks_that_time_out_leave_nothing_and_never_meet() {
    const ROUNDS: &str = "200";
    let machine = Machine::new();
    let run = format!("#!/bin/sh\nexec {} listen $PORT\n", program().display());
    let run = machine.artifact("run", run.as_bytes());
    // It forks, ignores the polite signal, and holds a lock until all of it is gone.
    let check = "exec 9> ../../../../lock; flock -n 9 || echo two >> ../../../../two
        trap '' TERM; setsid sleep 1000 & sleep 1000 & wait";
    let mut hasty = Command::new(program());
    hasty.arg("hasty").args([machine.root(), machine.folder.path().join("artifacts")]);
    let output = hasty.args([run.digest.as_str(), ROUNDS, check]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let descriptors = String::from_utf8(output.stdout).unwrap();
    let counts: Vec<u32> = descriptors.split_whitespace().map(|one| one.parse().unwrap()).collect();
    assert!(counts.len() == 2 && counts[1] <= counts[0], "descriptors: {descriptors}");
    assert_eq!(count_in(machine.folder.path()), 0, "processes");
    assert!(machine.folder.path().join("lock").exists(), "some got as far as that");
    assert!(!machine.folder.path().join("two").exists(), "two ran at a time");
}

#[tokio::test]
async fn alive_means_up_for_a_while() {
    let machine = Machine::new();
    let process = machine.run("exec sleep 1000").await;
    let long = Check::Alive(Span::seconds(1_000));
    assert!(process.check(&long, TIMEOUT).await.is_err());
    assert_eq!(process.check(&Check::Alive(Span::milliseconds(0)), TIMEOUT).await, Ok(()));
}

#[tokio::test]
async fn a_stranger_on_the_port_is_told_and_our_own_is_not_in_the_way() {
    let machine = Machine::new();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = stranger.local_addr().unwrap();
    let taken = ProcessSpec { listen: Listen::Direct(address), ..spec() };
    let script = "HTTP/1.1 200 OK\r\n\r\n";
    let run = machine.artifact("run", format!("#!/bin/sh\n{}\n", serve(script)).as_bytes());
    machine.install(vec![run]).await.unwrap();
    for error in [
        machine.host.verify(&taken, &[]).await.unwrap_err(),
        machine.host.start(&taken).await.unwrap_err(),
    ] {
        assert!(matches!(error, StartError::Port { address: found, .. } if found == address));
    }
    drop(stranger);
    let old = machine.host.start(&taken).await.unwrap();
    assert_eq!(settled(&old, &Check::Tcp).await, Ok(()));
    assert!(machine.host.verify(&taken, &[]).await.is_err());
    assert!(machine.host.verify(&taken, std::slice::from_ref(&old)).await.is_ok());
    let elsewhere =
        ProcessSpec { listen: Listen::Direct("192.0.2.1:80".parse().unwrap()), ..spec() };
    assert!(matches!(machine.host.verify(&elsewhere, &[]).await, Err(StartError::Port { .. })));
    old.stop(Stop { signal: inventory::Signal::Kill, grace: Span::ZERO, ..Stop::default() }).await;
    until("the port is free again", || TcpListener::bind(address).ok()).await;
}
