//! One workload on its leash.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use host::Exit;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Mutex, watch};
use tokio::task::spawn_blocking;

use crate::leash::{Errand, Fact, Order};
use crate::proc::{self, Stat};

/// How soon what a lost leash left is killed once more.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How often. It is a bound for what cannot be killed: a process that the kernel holds in a system call.
const KILLS_MAX: u32 = 250;

/// A workload that was started. When this is dropped its whole tree is killed.
#[derive(Debug)]
pub(crate) struct Leashed {
    /// The leash's number: all that the workload starts descends from it.
    leash: u32,
    pid: u32,
    started: u64,
    // Two who order at once must not mix their lines.
    orders: Mutex<ChildStdin>,
    ended: watch::Receiver<Option<Exit>>,
}

/// Why a workload does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeashError {
    #[error("there is no leash to start")]
    NoLeash,
    #[error("the leash does not start")]
    Spawn(#[source] io::Error),
    #[error("the leash cannot be spoken to")]
    Pipe(#[source] io::Error),
    #[error("the errand cannot be written")]
    Errand(#[source] serde_json::Error),
    #[error("the leash ended before it had started anything")]
    Silent,
    /// The workload was refused; in words, by whom and why.
    #[error("{0}")]
    Refused(String),
}

impl Leashed {
    /// Starts a workload. When the future is dropped before its end, nothing stays.
    pub(crate) async fn start(leash: &[OsString], errand: &Errand) -> Result<Self, LeashError> {
        let (program, arguments) = leash.split_first().ok_or(LeashError::NoLeash)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(LeashError::Spawn)?;
        let (Some(leash), Some(mut orders), Some(facts)) =
            (child.id(), child.stdin.take(), child.stdout.take())
        else {
            return Err(LeashError::Silent);
        };
        let mut line = serde_json::to_vec(errand).map_err(LeashError::Errand)?;
        line.push(b'\n');
        orders.write_all(&line).await.map_err(LeashError::Pipe)?;
        let mut facts = BufReader::new(facts).lines();
        let (pid, started) = match next(&mut facts).await {
            Some(Fact::Started { pid, started }) => (pid, started),
            Some(Fact::Refused(why)) => {
                // It has nothing left to do; waiting for it leaves no zombie.
                let _ = child.wait().await;
                return Err(LeashError::Refused(why));
            }
            Some(Fact::Exited(_)) | None => return Err(LeashError::Silent),
        };
        let (say, ended) = watch::channel(None);
        tokio::spawn(async move {
            let exit = hear_out(facts, child, leash).await;
            say.send_replace(Some(exit));
        });
        Ok(Self { leash, pid, started, orders: Mutex::new(orders), ended })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn started(&self) -> u64 {
        self.started
    }

    /// Waits until the whole tree is gone.
    pub(crate) async fn ended(&self) -> Exit {
        let mut ended = self.ended.clone();
        // Only a runtime that ends takes the one away who would say it.
        ended.wait_for(Option::is_some).await.ok().and_then(|exit| *exit).unwrap_or(Exit::Unknown)
    }

    /// Sends the signal, kills what is left after the grace, and waits until the whole tree is gone.
    pub(crate) async fn stop(&self, signal: Signal, grace: Duration) -> Exit {
        if signal != Signal::KILL {
            self.order(Order::Signal(signal.as_raw())).await;
            if let Ok(exit) = tokio::time::timeout(grace, self.ended()).await {
                return exit;
            }
        }
        self.order(Order::Kill).await;
        self.ended().await
    }

    /// Whether the workload itself is alive.
    pub(crate) fn is_alive(&self) -> bool {
        let is_it = |one: &Stat| !one.is_zombie && one.started == self.started;
        self.ended.borrow().is_none() && proc::stat(self.pid).as_ref().is_some_and(is_it)
    }

    /// The numbers of the workload and all that descends from it.
    pub(crate) fn tree(&self) -> Vec<u32> {
        let tree = proc::descendants(self.leash).unwrap_or_default();
        tree.iter().map(|one| one.pid).collect()
    }

    async fn order(&self, order: Order) {
        let mut orders = self.orders.lock().await;
        // A leash that cannot be told is gone, and then so is its tree.
        let _ = orders.write_all(format!("{order}\n").as_bytes()).await;
        let _ = orders.flush().await;
    }
}

/// Hears a leash until the tree is gone. A leash that was killed takes nothing along: then the engine does its work.
async fn hear_out(mut facts: Lines<BufReader<ChildStdout>>, mut child: Child, leash: u32) -> Exit {
    let mut exit = None;
    while let Some(fact) = next(&mut facts).await {
        match fact {
            Fact::Exited(how) => exit = Some(how),
            Fact::Started { .. } | Fact::Refused(_) => {}
        }
    }
    if exit.is_none() {
        kill_session(leash).await;
    }
    let _ = child.wait().await;
    exit.unwrap_or(Exit::Unknown)
}

/// The next fact; lines that say none are passed over.
async fn next(facts: &mut Lines<BufReader<ChildStdout>>) -> Option<Fact> {
    loop {
        let line = facts.next_line().await.ok()??;
        if let Ok(fact) = line.parse() {
            return Some(fact);
        }
    }
}

/// Kills all that is in the session that a lost leash led. What left that session cannot be told from others any more.
async fn kill_session(leash: u32) {
    for _ in 0..KILLS_MAX {
        let left = spawn_blocking(move || {
            let left = proc::session(leash).unwrap_or_default();
            let left = left.into_iter().filter(|one| one.pid != leash && !one.is_zombie);
            left.inspect(|one| proc::signal(one, Signal::KILL)).count()
        });
        if left.await.unwrap_or(0) == 0 {
            return;
        }
        tokio::time::sleep(KILL_AGAIN_AFTER).await;
    }
}
