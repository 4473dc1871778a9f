//! A program on a disk that answers some system calls with errors.

use std::io::{BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::trace::Traced;

/// Far more than the numbers take; a program that hangs stays for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a program in this folder, with some of its calls failing, until it has said all these numbers.
/// Answers how many tries failed before they landed.
///
/// # Errors
/// When it cannot be started, hangs, or fails for good.
pub fn run(child: &str, error: &str, root: &Path, numbers: RangeInclusive<u64>) -> Traced<usize> {
    let mut child = Command::new("strace")
        .args(["-f", "-e", "trace=pwrite64,sync_file_range,fsync,fdatasync,ftruncate,rename", "-e"])
        .arg(format!("inject={error}"))
        .arg("-o")
        .arg(root.with_extension("trace"))
        .arg(child)
        .arg(root)
        .args(["1", &numbers.end().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            said.send(line).ok();
        }
    });
    let mut complaints = child.stderr.take().ok_or("no errors")?;
    // While it runs: it would wait for a pipe that is full.
    let complaints = thread::spawn(move || {
        let mut text = String::new();
        complaints.read_to_string(&mut text).map(|_| text)
    });
    let outcome = wait_for_all(&heard, numbers).map_err(|what| format!("{error}: {what}"));
    if outcome.is_err() {
        end(&mut child)?;
    }
    let status = child.wait()?;
    let complaints = complaints.join().map_err(|_| "whoever read its errors broke off")??;
    outcome.map_err(|what| format!("{what}; {status}; {complaints}"))?;
    Ok(complaints.lines().filter(|line| line.starts_with("commit ")).count())
}

fn wait_for_all(
    heard: &mpsc::Receiver<String>,
    numbers: RangeInclusive<u64>,
) -> Result<(), String> {
    for number in numbers {
        let line = heard.recv_timeout(PATIENCE);
        let line = line.map_err(|error| format!("before {number} was acknowledged: {error}"))?;
        if line != number.to_string() {
            return Err(format!("{line} was acknowledged in place of {number}"));
        }
    }
    Ok(())
}

/// Ends strace's child with it: a killed strace would let it run on.
fn end(child: &mut Child) -> Traced {
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    for traced in std::fs::read_to_string(children)?.split_whitespace() {
        Command::new("kill").args(["-9", traced]).status()?;
    }
    Ok(child.kill()?)
}
