//! A book on a machine, as its engine would have left it.

use std::{collections::BTreeMap, fs, path::Path};

use failure_book::{
    Book, BookId, Build, ExecutionId, FailureBook, Host, Intent, Kept, Mode, Rules, Time,
};
use journal_file::{FileJournal, Options};
use serde_json::Value;

use crate::{
    damage::files,
    machine::{Machine, Outcome},
};

/// A record that blocks, with one that is held down and one that was retried; another of an account; a marker.
pub(super) const DOCUMENT: &str = r#"{
    "schema": 3, "seq": 9, "durable_epochs": true, "book": "00112233445566778899aabbccddeeff",
    "records": [{
        "account": "default", "app": "blog", "build": "b1", "host": "blog-1", "cause": "release", "mode": "hold",
        "reason": "it exited\u001b[2J\nwith 3", "promoted_at": "2026-03-01T00:00:05Z", "at": "2026-03-01T00:00:06.5Z",
        "held_down": ["blog-1"], "retried": ["blog-3"]
    }, {
        "account": "default", "app": "blog", "build": "b2", "host": "blog-2", "cause": "release", "mode": "overlap",
        "reason": "it never answered", "promoted_at": "2026-03-01T00:00:05Z", "at": "2026-03-01T00:00:07Z"
    }, {
        "account": "ac", "app": "shop", "build": "b7", "host": "till-1", "cause": "release", "mode": "overlap",
        "reason": "it crashed", "promoted_at": "2026-03-01T00:00:05Z", "at": "2026-03-01T00:00:08Z"
    }],
    "hold_ran": {"blog-1": {
        "account": "default", "app": "blog", "build": "b2", "exec": "a3", "seq": 4, "at": "2026-03-01T00:00:04Z"
    }},
    "gens": {"default/blog": 8, "ac/shop": 9}
}"#;

/// A machine with a book that holds what a document says.
pub(super) fn machine_with(document: &str) -> Outcome<Machine> {
    let machine = Machine::new()?;
    let file = machine.join("document.json");
    fs::write(&file, document)?;
    machine.ask(&["book", "import", text(&file)?])?.done()?;
    Ok(machine)
}

pub(super) fn text(path: &Path) -> Outcome<&str> {
    Ok(path.to_str().ok_or("not text")?)
}

/// Changes the book as an engine would.
pub(super) fn change(machine: &Machine, change: impl FnOnce(&mut Book)) -> Outcome {
    fs::create_dir_all(machine.dir())?;
    let opened = FileJournal::open(Options::new(machine.dir().join("book")))?;
    let fresh = || Ok::<_, std::convert::Infallible>(BookId::from_random([7; 16]));
    let mut book = FailureBook::open(opened.journal, Time::UNIX_EPOCH, fresh, Rules::default())?;
    let answer = book.run(|book| {
        change(book);
        book.save_if_dirty()
    });
    answer.error.map_or(Ok(()), |error| Err(error.into()))
}

/// An execution that was begun, and whose outcome nobody wrote.
pub(super) fn begin(machine: &Machine, host: &str, build: &str) -> Outcome {
    let intent = Intent {
        build: Build::new("default", "blog", build)?,
        mode: Mode::HOLD,
        id: ExecutionId::new("a1f-1")?,
        start: Some(Time::UNIX_EPOCH),
    };
    let host = Host::new(host)?;
    change(machine, |book| drop(book.begin(&host, intent)))
}

/// All that is in the book, as a document without its identity, its numbers and the times that an open gives.
pub(super) fn held(machine: &Machine) -> Outcome<Value> {
    let exported = machine.ask(&["book", "export"])?;
    exported.done()?;
    Kept::from_document(exported.stdout.as_bytes())?;
    let mut document: Value = serde_json::from_str(&exported.stdout)?;
    let object = document.as_object_mut().ok_or("no object")?;
    object.retain(|key, _| ["records", "hold_ran", "intents"].contains(&key.as_str()));
    Ok(document)
}

pub(super) fn identity(machine: &Machine) -> Outcome<String> {
    let shown: Value =
        serde_json::from_str(&machine.ask(&["book", "show", "--output", "json"])?.stdout)?;
    Ok(shown["book"].as_str().ok_or("no identity")?.to_owned())
}

/// Every file of a folder, with what is in it.
pub(super) fn bytes(dir: &Path) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for file in files(dir)? {
        let content = fs::read(dir.join(&file))?;
        found.insert(file.display().to_string(), content);
    }
    Ok(found)
}
