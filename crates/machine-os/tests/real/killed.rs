//! Engine and shim killed at any moment, on a busy machine: exactly one copy runs afterwards, and who asks it notices only
//! when its shim was killed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine::Engine;
use crate::machine::{Machine, is_alive, program, until};

const ROUNDS: u32 = 50;

/// How many lost requests are told.
const LOST_TOLD: usize = 5;

/// Draws from a seed, so that a round that once was bad can be come back to. The constants are Knuth's.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Something that runs beside, ended with the value.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What each copy wrote of itself when it started.
#[derive(Debug, Clone)]
struct Copies(PathBuf);

#[derive(Debug, PartialEq, Eq)]
struct Copy {
    child: u32,
    pid: u32,
    port: u16,
}

impl Copies {
    fn all(&self) -> Vec<Copy> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let copy = |line: &str| {
            let mut words = line.split(' ');
            let (child, pid) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some(Copy { child, pid, port: words.next()?.parse().ok()? })
        };
        text.lines().filter_map(copy).collect()
    }

    fn last(&self) -> Option<Copy> {
        self.all().pop()
    }
}

/// Asks whatever copy is the newest, all the while.
struct Client {
    is_over: Arc<AtomicBool>,
    /// Whether requests may fail: a copy was or is being killed.
    is_excused: Arc<AtomicBool>,
    served: Arc<AtomicU32>,
    asking: JoinHandle<Vec<String>>,
}

impl Client {
    fn start(copies: Copies) -> Self {
        let [is_over, is_excused] = [false, true].map(|begin| Arc::new(AtomicBool::new(begin)));
        let served = Arc::new(AtomicU32::new(0));
        let (over, excused, count) = (is_over.clone(), is_excused.clone(), served.clone());
        let asking = thread::spawn(move || {
            let mut lost = Vec::new();
            while !over.load(Ordering::SeqCst) {
                let may_fail = excused.load(Ordering::SeqCst);
                let answer = copies.last().map(|copy| (ask(copy.port), copy));
                // It may also have been killed in the middle.
                match answer {
                    Some((Ok(answer), _)) if answer == "served" => {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                    other if !may_fail && !excused.load(Ordering::SeqCst) => {
                        lost.push(format!("{other:?}"));
                        lost.truncate(LOST_TOLD);
                    }
                    _ => {}
                }
                thread::sleep(Duration::from_millis(1));
            }
            lost
        });
        Self { is_over, is_excused, served, asking }
    }

    fn served(&self) -> u32 {
        self.served.load(Ordering::SeqCst)
    }

    /// From now on requests may fail.
    fn excuse(&self) {
        self.is_excused.store(true, Ordering::SeqCst);
    }

    /// From now on none may, once one more was served.
    async fn insist(&self) {
        self.is_excused.store(false, Ordering::SeqCst);
        let before = self.served();
        until("the client is served", || (self.served() > before).then_some(())).await;
    }

    /// Ends, and tells which requests were lost without an excuse.
    fn lost(self) -> Vec<String> {
        self.is_over.store(true, Ordering::SeqCst);
        self.asking.join().unwrap()
    }
}

fn ask(port: u16) -> std::io::Result<String> {
    let mut request = TcpStream::connect(("127.0.0.1", port))?;
    request.write_all(b"GET /")?;
    let mut answer = String::new();
    request.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The shim of a process, if that has its own still: one that lost it is the child of somebody who must not be killed.
fn shim(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
    let line = fs::read_to_string(format!("/proc/{parent}/cmdline")).ok()?;
    line.ends_with("\0shim\0").then_some(parent)
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}

/// A copy that says who it is, with a child that left group and session, and then serves.
fn script(copies: &Path) -> String {
    format!(
        "setsid sleep 1000 & echo $! $$ $PORT >> {}; exec {} serve $PORT served",
        copies.display(),
        program().display()
    )
}

#[tokio::test]
async fn whoever_is_killed_exactly_one_copy_runs_afterwards_and_serves_unless_it_was_its_shim() {
    let machine = Machine::new();
    let mut draws = Draws(7);
    let _load: Vec<Beside> = (0..2)
        .map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
        .map(Beside)
        .collect();
    let copies = Copies(machine.folder.path().join("copies"));
    let script = script(&copies.0);
    let client = Client::start(copies.clone());
    for round in 0..ROUNDS {
        // Killed while it starts or adopts, or once it holds.
        let mut hasty = Engine::launch(&machine, &script);
        if draws.below(2) == 0 {
            tokio::time::sleep(Duration::from_millis(draws.below(40))).await;
        } else {
            assert!(hasty.pids().next().is_some());
        }
        let shim = copies.last().filter(|copy| is_alive(copy.pid)).and_then(|copy| shim(copy.pid));
        match (draws.below(3), shim) {
            (0, _) | (_, None) => kill(hasty.id()),
            (1, Some(shim)) => {
                client.excuse();
                kill(shim);
            }
            (_, Some(shim)) => {
                client.excuse();
                kill(shim);
                kill(hasty.id());
            }
        }
        drop(hasty);
        let mut last = Engine::launch(&machine, &script);
        let held = last.pids().find(|pid| is_alive(*pid));
        let Some(held) = held else { unreachable!("round {round}: no engine holds anything") };
        until(&format!("in round {round} one copy runs, whole, and serves"), || {
            let all = copies.all();
            let (own, before) = all.split_last()?;
            let is_whole = own.pid == held && is_alive(own.pid) && is_alive(own.child);
            let is_alone = !before.iter().any(|one| is_alive(one.pid) || is_alive(one.child));
            (is_whole && is_alone && ask(own.port).is_ok()).then_some(())
        })
        .await;
        client.insist().await;
    }
    assert_eq!(client.lost(), Vec::<String>::new());
}
