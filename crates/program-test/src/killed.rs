//! A program that is killed while it does what one number after the other asks for.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::trace::Traced;

/// Starts a program in a folder, from this number on, waits until it has said a seeded count of numbers, at most `most`, lets a
/// seeded moment pass, and kills it. Answers the last number that it said.
///
/// # Errors
/// When it cannot be started, or ends by itself.
pub fn run(program: &str, folder: &Path, first: u64, round: u64, most: u64) -> Traced<u64> {
    let seed = mixed(round);
    let mut child = KilledOnDrop(
        Command::new(program)
            .arg(folder)
            .args([first.to_string(), u64::MAX.to_string()])
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut lines = BufReader::new(child.0.stdout.take().ok_or("no output")?).lines();
    let mut said = first.saturating_sub(1);
    for _ in 0..seed % most + 1 {
        said = lines.next().ok_or("the program ended by itself")??.parse()?;
    }
    // Not a wait for anything: only so that the kill hits each part of the work in some round.
    for _ in 0..seed / most % 200 {
        std::thread::yield_now();
    }
    child.0.kill()?;
    for line in lines {
        said = line?.parse()?;
    }
    Ok(said)
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
    let seed = round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}
