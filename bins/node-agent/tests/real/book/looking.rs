//! What is shown, and that looking changes nothing.

use std::fs;

use serde_json::Value;

use super::kept::{DOCUMENT, begin, bytes, held, identity, machine_with};
use crate::machine::{Machine, Outcome};

#[test]
fn no_folder_no_book_and_a_book_are_told_apart() -> Outcome {
    let machine = Machine::new()?;
    for command in
        [&["show"][..], &["export"], &["rotate-identity"], &["free", "blog-1", "--reason", "why"]]
    {
        let refused = machine.ask(&[&["book"], command].concat())?;
        refused.failed(1, &["there is no engine's folder at", "hint: name it: --dir PATH"])?;
    }
    fs::create_dir(machine.dir())?;
    machine
        .ask(&["book", "show"])?
        .ended(0, &["id      none: there is no failure book here yet", "holds   nothing"])?;
    machine.ask(&["book", "export"])?.failed(1, &["there is no failure book in"])?;
    machine.ask(&["book", "rotate-identity"])?.failed(1, &["there is no failure book in"])?;
    machine
        .ask(&["book", "free", "blog-1", "--reason", "why"])?
        .failed(1, &["says nothing of an instance `blog-1`", "the book is empty"])?;
    assert_eq!(bytes(machine.dir())?.len(), 0, "nobody made a book by looking for one");
    Ok(())
}

#[test]
fn a_book_is_shown_with_what_it_means_and_harms_no_terminal() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let before = bytes(machine.dir())?;
    let shown = machine.ask(&["book", "show"])?;
    shown.ended(
        0,
        &[
            "holds   3 failure records, 1 marker, 0 intents",
            "blog               b1     blog-1",
            "blocks every instance but blog-3; holds blog-1 down",
            "it exited [2J with 3",
            "shop (account ac)  b7     till-1",
            "nothing falls back on blog-1 by itself",
            "a retry grant has to name this generation",
            "node-agent book free",
        ],
    )?;
    let is_harmful = |c: char| c.is_control() && c != '\n';
    assert!(!shown.stdout.contains(is_harmful), "{:?}", shown.stdout);
    let json = machine.ask(&["book", "show", "--output", "json"])?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    assert_eq!(json["records"][0]["means"], "blocks every instance but blog-3; holds blog-1 down");
    assert_eq!(json["records"][0]["reason"], "it exited\u{1b}[2J\nwith 3");
    assert_eq!(json["markers"][0]["host"], "blog-1");
    assert_eq!(json["generations"]["ac/shop"], 9);
    assert_eq!(bytes(machine.dir())?, before, "looking changes nothing");
    Ok(())
}

#[test]
fn an_execution_without_an_outcome_is_shown_and_fails_when_the_book_is_opened() -> Outcome {
    let machine = Machine::new()?;
    begin(&machine, "blog-1", "b1")?;
    machine.ask(&["book", "show"])?.ended(
        0,
        &[
            "0 failure records, 0 markers, 1 intent",
            "has no outcome; the next who opens the book makes a failure of it, and holds the instance down",
        ],
    )?;
    machine.ask(&["book", "rotate-identity"])?.ended(
        0,
        &[
            "nothing was freed: 1 record and 1 marker stand",
            "1 execution had no outcome when its engine ended, and counts as failed now",
        ],
    )?;
    machine.ask(&["book", "show"])?.ended(0, &["1 failure record, 1 marker, 0 intents"])
}

#[test]
fn beside_an_engine_the_book_is_looked_at_and_not_changed() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let file = machine.join("document.json").display().to_string();
    let before = (held(&machine)?, identity(&machine)?);
    let mut engine = machine.engine()?;
    engine.wait_for_line(" begins on ")?;
    let runs = format!("engine  runs as process {}: only it changes the book", engine.pid());
    machine.ask(&["book", "show"])?.ended(0, &[&runs, "3 failure records"])?;
    machine.ask(&["book", "export"])?.ended(0, &["\"build\": \"b1\""])?;
    let holder = format!("an engine (process {}) runs on", engine.pid());
    for command in
        [&["rotate-identity"][..], &["import", &file], &["free", "blog-1", "--reason", "why"]]
    {
        let refused = machine.ask(&[&["book"], command].concat())?;
        refused.failed(3, &[&holder, "nothing was changed", "systemctl stop node-agent"])?;
    }
    engine.kill()?;
    assert_eq!((held(&machine)?, identity(&machine)?), before);
    assert!(!machine.dir().join("freed.jsonl").exists());
    machine.ask(&["book", "free", "blog-1", "--reason", "why"])?.done()
}
