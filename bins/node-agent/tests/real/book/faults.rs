//! A book that is damaged, foreign, of a newer version, or in doubt; and a full disk.

use std::fs;

use program_test::Disk;

use super::kept::{DOCUMENT, bytes, held, identity, machine_with, text};
use crate::machine::{Machine, Outcome};

/// A book that cannot be read: what is said, and that nobody touches it.
fn is_refused(machine: &Machine, how: &str, said: &[&str]) -> Outcome {
    let before = bytes(machine.dir())?;
    let file = machine.join("document.json").display().to_string();
    for command in [
        &["show"][..],
        &["export"],
        &["rotate-identity"],
        &["import", &file],
        &["import", &file, "--dry-run"],
        &["free", "blog-1", "--reason", "why"],
    ] {
        let refused = machine.ask(&[&["book"], command].concat())?;
        refused
            .failed(1, said)
            .and_then(|()| {
                refused.failed(
                    1,
                    &[
                        "cannot be read, and nothing of it was changed",
                        "hint: with a copy of it from before: stop the engine",
                        "node-agent book rotate-identity",
                        "node-agent book import FILE",
                        "what failed here since then is forgotten",
                    ],
                )
            })
            .map_err(|error| format!("{how}: {error}"))?;
    }
    assert_eq!(bytes(machine.dir())?, before, "{how}");
    Ok(())
}

#[test]
fn a_damaged_foreign_or_newer_book_is_named_and_left_alone() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let book = machine.dir().join("book");
    let journal = book.join("journal");
    let file = journal.display().to_string();
    let whole = fs::read(&journal)?;
    let is_refused = |how: &str, said: &str| is_refused(&machine, how, &[&file, said]);

    let line = String::from_utf8_lossy(&whole[..100]).replace("book 1,", "book 9,");
    fs::write(&journal, [line.as_bytes(), &whole[100..]].concat())?;
    is_refused("of a newer version", "failure book 9")?;
    fs::write(&journal, "bellwether store 2\n")?;
    is_refused("a store", "")?;
    fs::write(&journal, "")?;
    is_refused("emptied", "is damaged at byte 0")?;
    fs::write(&journal, &whole[..whole.len() / 2])?;
    is_refused("cut", "is damaged at byte")?;
    fs::remove_file(&journal)?;
    is_refused("gone", "it is missing")?;
    fs::create_dir(&journal)?;
    is_refused("a folder", "it is no file")?;
    fs::remove_dir(&journal)?;
    fs::write(&journal, &whole)?;
    machine.ask(&["book", "show"])?.done()?;

    fs::rename(&book, machine.join("copy"))?;
    fs::write(&book, "no folder")?;
    self::is_refused(&machine, "a file", &["it is no folder"])?;

    // As the hints say.
    fs::remove_file(&book)?;
    let file = machine.join("document.json");
    machine.ask(&["book", "import", text(&file)?])?.done()?;
    machine.ask(&["book", "show"])?.ended(0, &["3 failure records"])
}

#[test]
fn a_copy_that_was_restored_gets_another_identity_and_frees_nobody() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let (before, id) = (held(&machine)?, identity(&machine)?);
    let rotated = machine.ask(&["book", "rotate-identity"])?;
    let other = identity(&machine)?;
    rotated.ended(
        0,
        &[
            &format!("was {id}, and is {other} now"),
            "every retry grant that was issued before is void here",
            "nothing was freed: 3 records and 1 marker stand",
        ],
    )?;
    assert_ne!(id, other);
    assert_eq!(held(&machine)?, before);
    Ok(())
}

#[test]
fn a_book_in_doubt_gets_another_identity_with_the_first_change() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let mark = machine.dir().join("book/mark");
    for damage in [None, Some("no mark")] {
        let id = identity(&machine)?;
        match damage {
            Some(text) => fs::write(&mark, text)?,
            None => fs::remove_file(&mark)?,
        }
        let doubt = [
            "doubt   its newest changes may be missing",
            "whoever changes it next gives it a new identity",
        ];
        machine.ask(&["book", "show"])?.ended(0, &doubt)?;
        machine.ask(&["book", "export"])?.failed(0, &["warning: ", "its end is missing"])?;
        assert_eq!(identity(&machine)?, id, "looking changes nothing");
        let instance = if damage.is_some() { "blog-1" } else { "blog-2" };
        machine.ask(&["book", "free", instance, "--reason", "why"])?.ended(
            0,
            &["nothing could tell whether its end is missing", "so the book has a new identity"],
        )?;
        assert_ne!(identity(&machine)?, id);
        let shown = machine.ask(&["book", "show"])?;
        assert!(!shown.stdout.contains("doubt"), "{}", shown.stdout);
    }
    Ok(())
}

#[test]
fn on_a_full_disk_nothing_is_freed_and_that_is_said() -> Outcome {
    let machine = Machine::new()?;
    let Some(disk) = Disk::mount(machine.dir())? else { return Ok(()) };
    let file = machine.join("document.json");
    fs::write(&file, DOCUMENT)?;
    machine.ask(&["book", "import", text(&file)?])?.done()?;
    let before = held(&machine)?;
    disk.fill()?;
    machine.ask(&["book", "show"])?.ended(0, &["3 failure records"])?;
    machine
        .ask(&["book", "free", "blog-1", "--reason", "why"])?
        .failed(1, &["No space left on device", "so nothing is freed"])?;
    machine.ask(&["book", "rotate-identity"])?.failed(1, &["o space left"])?;
    machine
        .ask(&["book", "export", text(&machine.dir().join("book.json"))?])?
        .failed(1, &["cannot be written: No space left"])?;
    assert_eq!(held(&machine)?, before);
    disk.empty()?;
    machine.ask(&["book", "free", "blog-1", "--reason", "why"])?.done()
}
