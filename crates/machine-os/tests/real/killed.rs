//! Engine and shim killed at any moment, on a busy machine: exactly one copy runs afterwards.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::machine::{Machine, is_alive, program, until};

const ROUNDS: u32 = 20;

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

/// The shim of a process, if that has its own still: one that lost it is the child of somebody who must not be killed.
fn shim(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
    let line = fs::read_to_string(format!("/proc/{parent}/cmdline")).ok()?;
    line.ends_with("\0shim\0").then_some(parent)
}

#[tokio::test]
async fn whoever_is_killed_exactly_one_copy_runs_afterwards() {
    let machine = Machine::new();
    let mut draws = Draws(7);
    let _load: Vec<Beside> = (0..2)
        .map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
        .map(Beside)
        .collect();
    let pids = machine.folder.path().join("pids");
    let script = format!(
        "#!/bin/sh\nsetsid sleep 1000 & echo $! >> {0}; echo $$ >> {0}; exec sleep 1000\n",
        pids.display()
    );
    let script = machine.artifact("run", script.as_bytes());
    let engine = || {
        let mut engine = Command::new(program());
        engine.arg("engine").args([machine.root(), machine.folder.path().join("artifacts")]);
        engine.arg(script.digest.as_str()).stdout(Stdio::piped());
        Beside(engine.spawn().unwrap())
    };
    let written = || -> Vec<u32> {
        let text = fs::read_to_string(&pids).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    for round in 0..ROUNDS {
        // Killed while it starts or adopts, or once it holds.
        let mut hasty = engine();
        if draws.below(2) == 0 {
            tokio::time::sleep(Duration::from_millis(draws.below(40))).await;
        } else {
            let mut line = String::new();
            BufReader::new(hasty.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        }
        let shim = written().last().copied().filter(|pid| is_alive(*pid)).and_then(shim);
        let kill = |pid: u32| {
            let _ =
                Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        };
        match (draws.below(3), shim) {
            (0, _) | (_, None) => kill(hasty.0.id()),
            (1, Some(shim)) => kill(shim),
            (_, Some(shim)) => {
                kill(shim);
                kill(hasty.0.id());
            }
        }
        drop(hasty);
        let mut last = engine();
        let lines = BufReader::new(last.0.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok).filter_map(|line| line.parse::<u32>().ok());
        let held = lines.find(|pid| is_alive(*pid));
        let Some(held) = held else { unreachable!("round {round}: {:?}", last.0.wait()) };
        until(&format!("in round {round} one copy runs, whole"), || {
            let all = written();
            let (before, own) = all.split_at_checked(all.len().checked_sub(2)?)?;
            let is_one = own.last() == Some(&held) && own.iter().all(|pid| is_alive(*pid));
            (is_one && !before.iter().any(|pid| is_alive(*pid))).then_some(())
        })
        .await;
    }
}
