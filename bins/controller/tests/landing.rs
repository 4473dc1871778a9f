//! The order of system calls of a controller and an agent: what is said rests on what an fsync has put on the disk before.
//!
//! The example `landing` runs both, with a release that passes and one that is put back, and writes down each message just
//! before it is sent. strace tells when that was, and when the store's file was synced.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Something that is said, and what must be on which disk before.
struct Rule {
    what: &'static str,
    /// Whose store.
    store: &'static str,
    /// What all stands in the write that counts, the first that has it.
    written: Vec<String>,
    /// What all stands in the message, the first that has it.
    said: Vec<String>,
}

fn rule<const W: usize, const S: usize>(
    what: &'static str,
    store: &'static str,
    written: [&str; W],
    said: [&str; S],
) -> Rule {
    let [written, said] = [&written[..], &said].map(|all| all.iter().map(|one| one.to_string()));
    Rule { what, store, written: written.collect(), said: said.collect() }
}

/// Declaration 1 releases the good build, 2 the bad one, and 3 puts the good one back.
fn rules(good: &str, bad: &str) -> Vec<Rule> {
    let (first, second, third) = ("\"number\":1,", "\"number\":2,", "\"number\":3,");
    let sent = "request bw.v1.declare.box-1 ";
    let sending = "\"state\":{\"state\":\"sending\"";
    let target = format!("\"rolling-back\":{{\"to\":\"{good}\"}}");
    let mut rules = vec![
        rule("that a wave is being sent", "controller", [sending, good], [sent, first]),
        rule("that the next is being sent", "controller", [sending, bad], [sent, second]),
        rule(
            "what a machine is declared",
            "controller",
            ["declared/box-1", second],
            [sent, second],
        ),
        rule("that a gate failed", "controller", ["\"state\":\"putting-back\""], [sent, third]),
        rule("the verdict and what is put back", "controller", [&target, bad], [sent, third]),
        rule(
            "the declaration that puts back",
            "controller",
            ["declared/box-1", third],
            [sent, third],
        ),
    ];
    for revision in ["1000001", "1000002", "1000003"] {
        let kept = format!("\"revision\":{revision},\"modules\"");
        let acknowledged = format!("\"revision\":{revision}}}");
        let answer = "answer bw.v1.report.box-1 ";
        rules.push(rule("a report", "controller", [&kept], [answer, &acknowledged]));
    }
    for (number, answer) in [(first, "-d1\""), (second, "-d2\""), (third, "-d3\"")] {
        let taken = ["answer bw.v1.declare.box-1 ", answer, "\"taken\""];
        rules.push(rule("the declaration that is taken", "agent", [number, "\"build\":"], taken));
    }
    rules
}

#[test]
fn what_is_said_was_synced_before() -> Outcome {
    let here = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !here {
        // Not through the test's captured output: whoever reads the run should see it.
        writeln!(std::io::stderr(), "SKIPPED what_is_said_was_synced_before: no strace here")?;
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let folder = folder.path().canonicalize()?;
    let calls = trace(&folder)?;
    let sent = folder.join("sent");
    let [good, bad] = ["good", "bad"].map(|name| fs::read_to_string(folder.join(name)));
    for Rule { what, store, written, said } in rules(&good?, &bad?) {
        let db = folder.join(store).join("data/db");
        let is = |name: &str, path: &Path, call: &&Call| {
            call.text.starts_with(name) && call.text.contains(&format!("<{}>", path.display()))
        };
        let has = |all: &[String], call: &&Call| all.iter().all(|one| call.text.contains(one));
        let message = calls.iter().filter(|call| is("write(", &sent, call));
        let message = message.clone().find(|call| has(&said, call));
        let message = message.ok_or_else(|| format!("{what}: {said:?} was never said"))?;
        let write = calls.iter().filter(|call| is("pwrite64(", &db, call));
        let write = write.clone().find(|call| has(&written, call));
        let write = write.ok_or_else(|| format!("{what}: {written:?} was never written"))?;
        // The sync that follows covers the whole commit: the engine has nothing in hand when it is asked for.
        let synced = calls.iter().find(|call| {
            (is("fdatasync(", &db, call) || is("fsync(", &db, call))
                && call.text.ends_with("= 0")
                && call.began > write.returned
        });
        let is_before = synced.is_some_and(|synced| synced.returned < message.began);
        assert!(is_before, "{what} was not on the disk before it was said: {said:?}");
    }
    Ok(())
}

/// A system call, with the descriptors' paths in its text, and where in the trace it began and returned.
struct Call {
    text: String,
    began: usize,
    returned: usize,
}

/// The calls of the example.
fn trace(folder: &Path) -> Outcome<Vec<Call>> {
    let output = folder.join("trace");
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "1000000", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o"])
        .arg(&output)
        .arg(example())
        .arg(folder)
        .status()?;
    if !status.success() {
        return Err(format!("strace or the example ended with {status}").into());
    }
    parse(&fs::read_to_string(output)?)
}

/// The example is built with the tests, and lies beside them.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let example = test.parent().unwrap().parent().unwrap().join("examples/landing");
    assert!(example.is_file(), "build it with `cargo build --example landing`");
    example
}

/// Joins the two halves of a call that another thread's call came between.
fn parse(trace: &str) -> Outcome<Vec<Call>> {
    let mut calls = Vec::new();
    let mut unfinished = BTreeMap::new();
    for (place, line) in trace.lines().enumerate() {
        let (thread, text) = line.split_once(' ').ok_or("a line without a thread")?;
        let text = text.trim();
        let (text, began) = if let Some(begin) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (begin.trim(), place));
            continue;
        } else if let Some((_, end)) = text.split_once(" resumed>") {
            let (begin, began) = unfinished.remove(thread).ok_or("resumed and never begun")?;
            (format!("{begin}{end}"), began)
        } else {
            (text.to_owned(), place)
        };
        // The quotes of what is written, as they are.
        calls.push(Call { text: text.replace("\\\"", "\""), began, returned: place });
    }
    Ok(calls)
}
