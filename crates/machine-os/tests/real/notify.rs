//! Workloads that say themselves how they are: ready, alive, broken.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::machine::{Machine, STOP, eventually, program, spec};
use host::{CheckFailed, Exit, Notify, Process, ProcessSpec};
use inventory::{Check, Span};
use machine_os::OsProcess;

const TIMEOUT: Duration = Duration::from_secs(10);

/// What a shell says with this.
fn says(words: &str) -> String {
    format!("{} notify '{words}'", program().display())
}

async fn ask(process: &OsProcess, watchdog: Option<Span>) -> Result<(), String> {
    let asked = process.check(&Check::Notify { watchdog }, TIMEOUT).await;
    asked.map_err(|CheckFailed(why)| why)
}

/// Where it is heard.
fn address(process: &OsProcess) -> SocketAddr {
    let environment = format!("/proc/{}/environ", process.identity().pid);
    let environment = fs::read_to_string(environment).unwrap();
    let name = environment.split('\0').find_map(|one| one.strip_prefix("NOTIFY_SOCKET=@")).unwrap();
    SocketAddr::from_abstract_name(name).unwrap()
}

fn heard(watchdog: Option<Span>) -> ProcessSpec {
    let watchdog = watchdog.map(Span::as_duration);
    ProcessSpec { notify: Notify::Heard { watchdog }, ..spec() }
}

#[tokio::test]
async fn a_process_is_ready_when_it_says_so_and_nobody_else_says_it() {
    let machine = Machine::new();
    let go = machine.folder.path().join("go");
    let script = format!(
        "{}; until test -e {}; do sleep 0.01; done; {}; exec sleep 1000",
        says("STATUS=warming up"),
        go.display(),
        says("READY=1")
    );
    let process = machine.run_as(&script, heard(None)).await;
    let warming = Err("it has not said that it is ready; it says: warming up".to_owned());
    eventually("it warms up", async || ask(&process, None).await == warming).await;
    let stranger = UnixDatagram::unbound().unwrap();
    stranger.send_to_addr(b"STATUS=I am no child of it\nREADY=1", &address(&process)).unwrap();
    assert_eq!(ask(&process, None).await, warming);
    fs::write(go, "").unwrap();
    eventually("it is ready", async || ask(&process, None).await == Ok(())).await;
    drop(process);
    let [adopted] = &machine.adopt().await[..] else { unreachable!("one runs") };
    assert_eq!(ask(&adopted.process, None).await, Ok(()));
}

#[tokio::test]
async fn one_that_gives_no_sign_of_life_for_too_long_fails_until_it_does() {
    let watchdog = Some(Span::seconds(3));
    let machine = Machine::new();
    let [alive, broken] = ["alive", "broken"].map(|name| machine.folder.path().join(name));
    let script = format!(
        "{}; while :; do if test -e {}; then {}; fi; if test -e {}; then {}; fi; sleep 0.05; done",
        says("READY=1\nSTATUS=at work"),
        alive.display(),
        says("WATCHDOG=1"),
        broken.display(),
        says("WATCHDOG=trigger"),
    );
    let process = machine.run_as(&script, heard(watchdog)).await;
    let is_late = |why: &str| {
        why.starts_with("no sign of life (WATCHDOG=1) for 3.")
            && why.ends_with(" s, and its watchdog allows 3s; it says: at work")
    };
    let late = async || ask(&process, watchdog).await.is_err_and(|why| is_late(&why));
    let well = async || ask(&process, watchdog).await == Ok(());
    eventually("it is ready, which is a sign of life", well).await;
    eventually("and then it is quiet", late).await;
    assert_eq!(ask(&process, None).await, Ok(()), "who asks for no sign of life misses none");
    fs::write(&alive, "").unwrap();
    eventually("it is well again", well).await;
    fs::write(&broken, "").unwrap();
    fs::remove_file(&alive).unwrap();
    let triggered = "it said itself that it does not work (WATCHDOG=trigger); it says: at work";
    let triggered = async || ask(&process, None).await == Err(triggered.to_owned());
    eventually("it says that it is broken", triggered).await;
    drop(process);
    // What it said outlives an engine, and so does how long ago that was.
    fs::remove_file(&broken).unwrap();
    fs::write(&alive, "").unwrap();
    let [adopted] = &machine.adopt().await[..] else { unreachable!("one runs") };
    let well = async || ask(&adopted.process, watchdog).await == Ok(());
    eventually("it is well for the next engine too", well).await;
}

#[tokio::test]
async fn one_is_told_its_watchdog_and_only_if_it_has_one() {
    for (watchdog, told) in [(Some(Span::milliseconds(2_500)), "<2500000>"), (None, "<>")] {
        let machine = Machine::new();
        let process = machine.run_as("echo \"<$WATCHDOG_USEC>\"", heard(watchdog)).await;
        process.ended().await;
        assert_eq!(process.last_lines().await, [told]);
    }
}

#[tokio::test]
async fn strangers_who_never_stop_talking_keep_a_shim_from_nothing() {
    let machine = Machine::new();
    let process = machine.run_as(&format!("{}; sleep 1000", says("READY=1")), heard(None)).await;
    eventually("it is ready", async || ask(&process, None).await == Ok(())).await;
    let to = address(&process);
    let is_over = Arc::new(AtomicBool::new(false));
    let talk = || {
        let (to, is_over) = (to.clone(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let mouth = UnixDatagram::unbound().unwrap();
            while !is_over.load(Ordering::Relaxed) {
                // It fails once nobody is there to hear it.
                let _ = mouth.send_to_addr(b"WATCHDOG=trigger", &to);
            }
        })
    };
    let talking: Vec<_> = (0..16).map(|_| talk()).collect();
    for _ in 0..20 {
        assert_eq!(ask(&process, None).await, Ok(()));
    }
    process.stop(STOP).await;
    assert_eq!(process.ended().await, Exit::Signal(15));
    is_over.store(true, Ordering::Relaxed);
    talking.into_iter().for_each(|one| one.join().unwrap());
}

#[tokio::test]
async fn a_process_that_is_not_asked_for_words_is_given_no_way_to_say_any() {
    let machine = Machine::new();
    let process = machine.run("echo \"<$NOTIFY_SOCKET>\"; exec sleep 1000").await;
    eventually("it runs", async || process.last_lines().await == ["<>"]).await;
    let not_ready = "it has not said that it is ready".to_owned();
    assert_eq!(ask(&process, None).await, Err(not_ready));
}
