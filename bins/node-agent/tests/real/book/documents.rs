//! Exports and imports: a round trip, documents of each schema, and what is refused.

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
};

use serde_json::Value;

use super::kept::{DOCUMENT, bytes, held, identity, machine_with, text};
use crate::machine::{Machine, Outcome, finished};

#[test]
fn what_was_exported_is_the_same_on_another_machine_under_a_new_identity() -> Outcome {
    let old = machine_with(DOCUMENT)?;
    let file = old.join("book.json");
    old.ask(&["book", "export", text(&file)?])?
        .failed(0, &["exported 3 failure records, 1 marker, 0 intents to"])?;
    let new = Machine::new()?;
    let mut import = new.program(&["book", "import", "-"]);
    import.stdin(Stdio::from(File::open(&file)?));
    let imported = finished(import)?;
    let id = identity(&new)?;
    imported.ended(
        0,
        &[
            "imported 3 failure records, 1 marker, 0 intents into",
            &format!("the book is {id}, a new identity: every retry grant"),
            "note: start the engine again",
        ],
    )?;
    assert_eq!(held(&new)?, held(&old)?);
    assert_ne!(id, identity(&old)?);
    Ok(())
}

#[test]
fn an_export_replaces_no_file_unless_it_is_told_to() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let file = machine.join("book.json");
    let path = text(&file)?;
    fs::write(&file, "mine")?;
    machine.ask(&["book", "export", path])?.failed(3, &["is there already", "--force"])?;
    assert_eq!(fs::read_to_string(&file)?, "mine");
    machine.ask(&["book", "export", path, "--force"])?.done()?;
    let written = fs::read_to_string(&file)?;
    let said = machine.ask(&["book", "export", "-"])?;
    assert_eq!(said.stdout, written);
    serde_json::from_str::<Value>(&written)?;
    for (place, status) in [(machine.dir(), 3), (Path::new("/nowhere/book.json"), 1)] {
        machine.ask(&["book", "export", text(place)?, "--force"])?.failed(status, &["error: "])?;
    }
    let around = fs::read_dir(file.parent().ok_or("no folder")?)?;
    let left: Vec<_> = around.flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "{left:?}");
    Ok(())
}

#[test]
fn a_dry_run_shows_what_would_come_and_changes_nothing() -> Outcome {
    let machine = Machine::new()?;
    let file = machine.join("document.json");
    fs::write(&file, DOCUMENT)?;
    let import = ["book", "import", text(&file)?, "--dry-run"];
    machine.ask(&import)?.ended(
        0,
        &[
            "an import gives it another",
            "blocks every instance but blog-3; holds blog-1 down",
            "a dry run: nothing was changed; 3 failure records, 1 marker, 0 intents would come",
        ],
    )?;
    assert!(!machine.dir().exists());
    machine.ask(&import[..3])?.done()?;
    machine.ask(&import)?.failed(3, &["only an empty book takes a document"])
}

#[test]
fn an_execution_without_an_outcome_in_a_document_counts_as_failed() -> Outcome {
    let machine = machine_with(
        r#"{"schema": 3, "intents": {"blog-1": {
            "account": "default", "app": "blog", "build": "b1", "mode": "hold", "id": "a1f-1"}}}"#,
    )?;
    machine.ask(&["book", "show"])?.ended(
        0,
        &["1 failure record, 1 marker, 0 intents", "holds blog-1 down", "its outcome is not known"],
    )
}

#[test]
fn what_is_no_document_is_refused_with_its_place_and_nothing_is_touched() -> Outcome {
    let machine = machine_with(r#"{"schema": 3}"#)?;
    let before = bytes(machine.dir())?;
    let file = machine.join("bad.json");
    for (document, said) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        (
            "{\n\"schema\": 3,\n\"records\": 7}",
            "invalid type: integer `7`, expected a sequence at line 3 column",
        ),
        (
            "{\"schema\": 3,\n\"records\": [{\"app\": \"a/b\"}]}",
            "the name \"a/b\" has a `/` at line 2 column",
        ),
        ("{\"schema\": 3, \"hold_ran\": {\"h/1\": {}}}", "the name \"h/1\" has a `/`"),
        (
            "{\"schema\": 4}",
            "the document has schema 4, and only the schemas 1, 2 and 3 can be read",
        ),
        ("{\"records\": []}", "the document has schema 0"),
        ("{\"schema\": 3} x", "trailing characters at line 1 column 15"),
    ] {
        fs::write(&file, document)?;
        for import in
            [&["book", "import", text(&file)?][..], &["book", "import", text(&file)?, "--dry-run"]]
        {
            machine
                .ask(import)?
                .failed(1, &["cannot be imported, and nothing was changed", said])?;
        }
    }
    machine
        .ask(&["book", "import", "/nowhere.json"])?
        .failed(1, &["/nowhere.json cannot be read"])?;
    File::create(&file)?.set_len(64 * 1024 * 1024 + 1)?;
    machine.ask(&["book", "import", text(&file)?])?.failed(1, &["more than 64 MiB"])?;
    assert_eq!(bytes(machine.dir())?, before);
    Ok(())
}

#[test]
fn a_book_that_holds_something_takes_no_document_and_is_not_touched() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let before = bytes(machine.dir())?;
    let file = machine.join("document.json");
    machine
        .ask(&["book", "import", text(&file)?])?
        .failed(3, &["holds 3 records", "only an empty book takes a document", "is as it was"])?;
    assert_eq!(bytes(machine.dir())?, before);
    Ok(())
}

/// The documents with which recorded traces begin: of each schema, and of none.
fn recorded() -> Outcome<Vec<Value>> {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/failure-book/tests/vectors/book-directed.jsonl");
    let mut found: Vec<Value> = Vec::new();
    for line in fs::read_to_string(traces)?.lines() {
        let mut trace: Value = serde_json::from_str(line)?;
        let document = trace["initial_file"].take();
        let is_read = (1..=3).contains(&document["schema"].as_i64().unwrap_or(0));
        // A book at the end of its numbers takes nothing.
        let has_numbers = document["seq"].as_u64().unwrap_or(0) < 1_000_000;
        if is_read && has_numbers && !found.contains(&document) {
            found.push(document);
        }
    }
    Ok(found)
}

fn length(value: &Value) -> usize {
    value.as_array().map(Vec::len).or(value.as_object().map(serde_json::Map::len)).unwrap_or(0)
}

#[test]
fn documents_of_each_schema_are_imported_and_shown() -> Outcome {
    let all = recorded()?;
    for schema in 1..=3 {
        let documents = all.iter().filter(|document| document["schema"] == schema).take(8);
        let mut imported = 0;
        for document in documents {
            let machine = Machine::new()?;
            let file = machine.join("document.json");
            fs::write(&file, document.to_string())?;
            let answer = machine.ask(&["book", "import", text(&file)?, "--output", "json"])?;
            answer.done().map_err(|error| format!("{document}: {error}"))?;
            let answer: Value = serde_json::from_str(&answer.stdout)?;
            let [records, markers, intents] =
                ["records", "hold_ran", "intents"].map(|kind| length(&document[kind]));
            assert_eq!(answer["records"], records, "{document}");
            assert_eq!(answer["markers"], markers, "{document}");
            assert_eq!(answer["intents"], intents, "{document}");
            let shown = machine.ask(&["book", "show", "--output", "json"])?;
            let shown: Value = serde_json::from_str(&shown.stdout)?;
            assert_eq!(shown["book"], answer["book"]);
            assert_ne!(shown["book"], document["book"]);
            assert!(length(&shown["records"]) >= records, "{document}\n{shown}");
            assert_eq!(length(&shown["intents"]), 0, "{document}\n{shown}");
            machine.ask(&["book", "show"])?.done()?;
            imported += 1;
        }
        assert!(imported > 1, "schema {schema}");
    }
    Ok(())
}
