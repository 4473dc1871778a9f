//! Killed in the middle of a change, at each call by which it writes: the book is as it was before, or as it is after.

use std::{
    fs,
    io::{Write, stderr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::kept::{DOCUMENT, machine_with, text};
use crate::machine::{Answered, Machine, Outcome, finished};

/// The calls by which a change reaches the disk.
const CALLS: [&str; 4] = ["write", "pwrite64", "fsync", "fdatasync"];

/// More calls of one kind than any change makes.
const CALLS_MAX: u32 = 200;

fn strace_is_here(test: &str) -> Outcome<bool> {
    let is_here = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !is_here {
        writeln!(stderr(), "SKIPPED {test}: there is no strace here")?;
    }
    Ok(is_here)
}

/// Runs a command that is killed at this call of it.
fn killed_at(machine: &Machine, command: &[&str], call: &str, nth: u32) -> Outcome<Answered> {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
    traced.args(["-e", &format!("inject={call}:signal=KILL:when={nth}")]);
    let program = machine.program(command);
    traced.arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
    finished(traced)
}

/// What shows of a book.
#[derive(Debug, PartialEq)]
struct Seen {
    records: Value,
    markers: Value,
}

fn seen(machine: &Machine) -> Outcome<Seen> {
    let shown = machine.ask(&["book", "show", "--output", "json"])?;
    shown.done()?;
    let mut shown: Value = serde_json::from_str(&shown.stdout)?;
    Ok(Seen { records: shown["records"].take(), markers: shown["markers"].take() })
}

/// Kills it at each call, each time on a machine that is as `made` left it; what it is afterwards is one of two things, and
/// what else is looked at is right.
fn at_any_call(
    made: impl Fn(&Path) -> Outcome,
    machine: &Machine,
    command: &[&str],
    also: impl Fn(&Machine, &Seen) -> Outcome,
) -> Outcome {
    made(machine.dir())?;
    let before = seen(machine)?;
    machine.ask(command)?.done()?;
    let after = seen(machine)?;
    let (mut befores, mut afters) = (0, 0);
    for call in CALLS {
        for nth in 1.. {
            if nth > CALLS_MAX {
                return Err(format!("{call} has no end").into());
            }
            made(machine.dir())?;
            let answered = killed_at(machine, command, call, nth)?;
            let at = |error| format!("killed at {call} {nth}: {error}");
            let found = seen(machine).map_err(at)?;
            also(machine, &found).map_err(at)?;
            match (found == before, found == after) {
                (true, false) => befores += 1,
                (false, true) => afters += 1,
                (true, true) | (false, false) => {
                    return Err(format!("{call} {nth}: {found:?}").into());
                }
            }
            if answered.status == Some(0) {
                assert_eq!(found, after, "{call} {nth}");
                break;
            }
        }
    }
    assert!(befores > 1 && afters >= CALLS.len(), "{befores} before, {afters} after");
    Ok(())
}

/// The machine's folder, out of the way of its copies.
fn moved_away(machine: &Machine) -> Outcome<PathBuf> {
    let copy = machine.join("copy");
    fs::rename(machine.dir(), &copy)?;
    Ok(copy)
}

fn copied(from: &Path, dir: &Path) -> Outcome {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    let copied = Command::new("cp").arg("-a").arg(from).arg(dir).status()?;
    if copied.success() { Ok(()) } else { Err("cp failed".into()) }
}

#[test]
fn an_import_that_is_killed_is_there_whole_or_not_at_all() -> Outcome {
    if !strace_is_here("an_import_that_is_killed_is_there_whole_or_not_at_all")? {
        return Ok(());
    }
    // Not even a book is there yet.
    let machine = Machine::new()?;
    fs::create_dir(machine.dir())?;
    let file = machine.join("full.json");
    fs::write(&file, DOCUMENT)?;
    let copy = moved_away(&machine)?;
    let made = |dir: &Path| copied(&copy, dir);
    at_any_call(made, &machine, &["book", "import", text(&file)?], |_, _| Ok(()))
}

#[test]
fn a_freeing_that_is_killed_frees_of_all_or_of_nothing_and_never_unwritten() -> Outcome {
    if !strace_is_here("a_freeing_that_is_killed_frees_of_all_or_of_nothing_and_never_unwritten")? {
        return Ok(());
    }
    let machine = machine_with(DOCUMENT)?;
    let before = seen(&machine)?;
    let copy = moved_away(&machine)?;
    let made = |dir: &Path| copied(&copy, dir);
    let is_written_first = |machine: &Machine, found: &Seen| {
        let path = machine.dir().join("freed.jsonl");
        let is_written = fs::read(path).is_ok_and(|text| text.ends_with(b"\n"));
        if is_written || *found == before { Ok(()) } else { Err("freed and not written".into()) }
    };
    let command = ["book", "free", "blog-1", "--reason", "why"];
    at_any_call(made, &machine, &command, is_written_first)
}
