//! kill -9 at any moment loses no acknowledged write, and leaves none half there.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: u64 = 50;

#[tokio::test]
async fn kill_9_loses_no_acknowledged_write() -> Outcome {
    let folder = tempfile::tempdir()?;
    let mut contents = model::Contents::new();
    let (mut last, mut unacknowledged) = (0, 0);
    for round in 0..ROUNDS {
        let seed = mixed(round);
        let acknowledged = write_and_kill(folder.path(), last + 1, seed)?;
        for number in last + 1..=acknowledged {
            model::apply(&mut contents, number)?;
        }
        last = acknowledged;
        // The commit that nobody acknowledged may be there too, then whole.
        let found = model::read(folder.path()).await?;
        if found != contents {
            last += 1;
            unacknowledged += 1;
            model::apply(&mut contents, last)?;
        }
        assert!(
            found == contents,
            "round {round}: after {acknowledged} was acknowledged, the store has neither that nor the next"
        );
    }
    println!(
        "{ROUNDS} rounds, {last} commits, {unacknowledged} there without having been acknowledged"
    );
    Ok(())
}

/// Starts the writer, waits for a seeded number of acknowledgements, lets a seeded moment pass, and kills it.
/// Answers the last acknowledged commit.
fn write_and_kill(folder: &Path, first: u64, seed: u64) -> Outcome<u64> {
    let mut child = KilledOnDrop(
        Command::new(env!("CARGO_BIN_EXE_store-sled-writer"))
            .arg(folder)
            .args([first.to_string(), u64::MAX.to_string()])
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut lines = BufReader::new(child.0.stdout.take().ok_or("no output")?).lines();
    let mut acknowledged = first - 1;
    for _ in 0..seed % 23 + 1 {
        acknowledged = lines.next().ok_or("the writer ended by itself")??.parse()?;
    }
    // Not a wait for anything: only so that the kill hits each part of a commit in some round.
    for _ in 0..seed / 23 % 200 {
        std::thread::yield_now();
    }
    child.0.kill()?;
    for line in lines {
        acknowledged = line?.parse()?;
    }
    Ok(acknowledged)
}

struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It may be dead already; what is left is to collect it.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// One step of SplitMix64: seeds that are far apart for rounds that are not.
fn mixed(round: u64) -> u64 {
    let seed = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
