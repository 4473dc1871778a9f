//! Killed in the middle of a change, at each call by which it writes: the book is as it was before, or as it is after.

use std::{
    fs,
    io::{Write, stderr},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::kept::{DOCUMENT, held, machine_with, text};
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

/// Kills it at each call, each time on a machine that is as `made` left it; what it is afterwards is one of two things.
fn at_any_call(
    made: impl Fn(&Path) -> Outcome,
    machine: &Machine,
    command: &[&str],
    [before, after]: [&Option<Value>; 2],
) -> Outcome {
    let (mut befores, mut afters) = (0, 0);
    for call in CALLS {
        for nth in 1.. {
            if nth > CALLS_MAX {
                return Err(format!("{call} has no end").into());
            }
            made(machine.dir())?;
            let answered = killed_at(machine, command, call, nth)?;
            let found = whatever_is_held(machine)?;
            if found == *after {
                afters += 1;
            } else if found == *before {
                befores += 1;
            } else {
                return Err(format!("killed at {call} {nth}: {found:?}").into());
            }
            if answered.status == Some(0) {
                assert_eq!(found, *after, "{call} {nth}");
                break;
            }
        }
    }
    assert!(befores > 1 && afters > CALLS.len(), "{befores} before, {afters} after");
    Ok(())
}

fn whatever_is_held(machine: &Machine) -> Outcome<Option<Value>> {
    let shown: Value =
        serde_json::from_str(&machine.ask(&["book", "show", "--output", "json"])?.stdout)?;
    if shown["book"].is_null() { Ok(None) } else { held(machine).map(Some) }
}

#[test]
fn an_import_that_is_killed_is_there_whole_or_not_at_all() -> Outcome {
    if !strace_is_here("an_import_that_is_killed_is_there_whole_or_not_at_all")? {
        return Ok(());
    }
    let whole = machine_with(DOCUMENT)?;
    let machine = Machine::new()?;
    let file = machine.join("document.json");
    fs::write(&file, DOCUMENT)?;
    let made = |dir: &Path| {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        Ok(fs::create_dir(dir)?)
    };
    let after = Some(held(&whole)?);
    at_any_call(made, &machine, &["book", "import", text(&file)?], [&None, &after])
}

#[test]
fn a_freeing_that_is_killed_frees_of_all_or_of_nothing_and_never_unwritten() -> Outcome {
    if !strace_is_here("a_freeing_that_is_killed_frees_of_all_or_of_nothing_and_never_unwritten")? {
        return Ok(());
    }
    let machine = machine_with(DOCUMENT)?;
    let copy = machine.join("copy");
    fs::rename(machine.dir(), &copy)?;
    let made = |dir: &Path| {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        let copied = Command::new("cp").arg("-a").arg(&copy).arg(dir).status()?;
        if copied.success() { Ok(()) } else { Err("cp failed".into()) }
    };
    made(machine.dir())?;
    let before = Some(held(&machine)?);
    let command = ["book", "free", "blog-1", "--reason", "why"];
    machine.ask(&command)?.done()?;
    let after = Some(held(&machine)?);
    at_any_call(made, &machine, &command, [&before, &after])?;
    // Whatever was freed was written down first.
    for nth in 1..CALLS_MAX {
        made(machine.dir())?;
        let answered = killed_at(&machine, &command, "write", nth)?;
        let is_written =
            machine.dir().join("freed.jsonl").metadata().is_ok_and(|file| file.len() > 0);
        assert!(is_written || whatever_is_held(&machine)? == before, "write {nth}");
        if answered.status == Some(0) {
            break;
        }
    }
    Ok(())
}
