//! Break-glass: an instance is freed of exactly what holds it, and that is kept.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
};

use serde_json::{Value, json};

use super::kept::{DOCUMENT, begin, bytes, held, identity, machine_with};
use crate::machine::{Machine, Outcome};

fn free(machine: &Machine, more: &[&str]) -> Outcome<crate::machine::Answered> {
    machine.ask(&[&["book", "free", "--reason", "the disk was full"], more].concat())
}

fn written(machine: &Machine) -> Outcome<Vec<Value>> {
    let text = fs::read_to_string(machine.dir().join("freed.jsonl"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[test]
fn an_instance_is_freed_of_exactly_what_holds_it_and_that_is_written_down() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let (mut expected, id) = (held(&machine)?, identity(&machine)?);
    let mut free = machine.program(&["book", "free", "blog-1", "--reason", " the disk was full "]);
    free.env("SUDO_USER", "anna");
    crate::machine::finished(free)?.ended(
        0,
        &[
            "freed blog/blog-1 of the account default:\n",
            "  it may be moved onto build b1 again, and is not held down by it any more\n",
            "  it may be moved onto build b2 again\n",
            "  its marker is gone: it may fall back from build b2 again\n",
            "written down in ",
            "note: start the engine again",
        ],
    )?;
    // Listed as retried, not held down, without its marker; and all else as it was.
    let [b1, b2] = [0, 1].map(|nth| expected["records"][nth].as_object_mut().cloned());
    let (mut b1, mut b2) = (b1.ok_or("no record")?, b2.ok_or("no record")?);
    b1.remove("held_down");
    b1.insert("retried".to_owned(), json!(["blog-3", "blog-1"]));
    b2.insert("retried".to_owned(), json!(["blog-1"]));
    expected["records"][0] = b1.into();
    expected["records"][1] = b2.into();
    expected.as_object_mut().ok_or("no object")?.remove("hold_ran");
    assert_eq!(held(&machine)?, expected);
    assert_eq!(identity(&machine)?, id);

    let [line] = &written(&machine)?[..] else { return Err("one line is wanted".into()) };
    assert_eq!(line["sudo_user"], "anna");
    assert_eq!(line["uid"], rustix::process::getuid().as_raw());
    assert_eq!(line["reason"], "the disk was full");
    assert_eq!(line["book"], *id);
    let of = json!({"blocked": ["b1", "b2"], "held_down": ["b1"], "marker": "b2"});
    assert_eq!(line["held"], of);
    machine
        .ask(&["book", "show"])?
        .ended(0, &["freed by hand", "blog-1    blog  ", "the disk was full"])
}

#[test]
fn where_nothing_holds_it_nothing_is_touched() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    free(&machine, &["till-1"])?.ended(0, &["freed shop/till-1 of the account ac"])?;
    let before = bytes(machine.dir())?;
    for instance in ["till-1", "shop/till-1"] {
        free(&machine, &[instance])?.ended(0, &["nothing in the failure book holds", instance])?;
    }
    assert_eq!(bytes(machine.dir())?, before, "nothing is written where nothing is done");
    Ok(())
}

#[test]
fn who_is_not_known_is_not_freed_by_a_guess() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let before = bytes(machine.dir())?;
    free(&machine, &["blgo-1"])?.failed(
        1,
        &["says nothing of an instance `blgo-1`", "against instances of shop (account ac), blog"],
    )?;
    free(&machine, &["blog/till-1", "--account", "ac"])?.failed(1, &["says nothing of"])?;
    for usage in [&["blog-1", "--reason", " "][..], &["blog-1"], &["a/b/c", "--reason", "why"]] {
        machine.ask(&[&["book", "free"], usage].concat())?.failed(2, &["error: "])?;
    }
    assert_eq!(bytes(machine.dir())?, before);
    // Whose output is here is known, although the book names only others of its module.
    fs::create_dir_all(machine.dir().join("output/blog/blog-9"))?;
    free(&machine, &["blog-9"])?
        .ended(0, &["freed blog/blog-9", "onto build b1", "onto build b2"])?;
    fs::create_dir_all(machine.dir().join("output/chat/chat-1"))?;
    free(&machine, &["chat-1"])?.ended(0, &["nothing in the failure book holds chat-1"])?;
    free(&machine, &["blog/blog-8"])?.ended(0, &["is the name right?", "freed blog/blog-8"])
}

#[test]
fn of_several_that_could_be_meant_none_is_freed() -> Outcome {
    let record = |account: &str, module: &str| {
        format!(r#"{{"account": "{account}", "app": "{module}", "build": "b1", "host": "one"}}"#)
    };
    let records = [record("default", "blog"), record("default", "shop"), record("ac", "shop")];
    let machine = machine_with(&format!(r#"{{"schema": 3, "records": [{}]}}"#, records.join(",")))?;
    let before = held(&machine)?;
    free(&machine, &["one"])?.failed(
        2,
        &["`one` can be any of shop/one of the account ac, blog/one of the account default, shop/one of"],
    )?;
    free(&machine, &["shop/one"])?
        .failed(2, &["name one of them: MODULE/INSTANCE, with --account"])?;
    assert_eq!(held(&machine)?, before);
    free(&machine, &["shop/one", "--account", "ac"])?
        .ended(0, &["freed shop/one of the account ac"])?;
    free(&machine, &["shop/one"])?.ended(0, &["freed shop/one of the account default"])?;
    free(&machine, &["one"])?.ended(0, &["freed blog/one of the account default"])
}

#[test]
fn the_marker_of_another_module_stays() -> Outcome {
    let machine = machine_with(
        r#"{"schema": 3,
            "records": [{"account": "default", "app": "blog", "build": "b1", "host": "one", "mode": "hold"}],
            "hold_ran": {"one": {"account": "default", "app": "shop", "build": "b7", "seq": 1}}}"#,
    )?;
    let before = held(&machine)?;
    let freed = free(&machine, &["blog/one"])?;
    freed.ended(0, &["onto build b1 again"])?;
    assert!(!freed.stdout.contains("marker"), "{}", freed.stdout);
    assert_eq!(held(&machine)?["hold_ran"], before["hold_ran"]);
    free(&machine, &["one"])?.ended(0, &["freed shop/one", "its marker is gone"])
}

#[test]
fn an_execution_without_an_outcome_is_freed_too() -> Outcome {
    let machine = Machine::new()?;
    begin(&machine, "blog-1", "b1")?;
    free(&machine, &["blog-1"])?.ended(
        0,
        &[
            "onto build b1 again, and is not held down",
            "its marker is gone",
            "1 execution had no outcome",
        ],
    )?;
    let shown = machine.ask(&["book", "show"])?;
    shown.ended(0, &["1 failure record, 0 markers, 0 intents", "blocks every instance but blog-1"])
}

#[test]
fn no_damage_to_what_was_written_down_keeps_anybody_from_freeing() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    let file = machine.dir().join("freed.jsonl");
    fs::write(&file, b"\xff\0garbage\n{\"at\": \"2026-")?;
    free(&machine, &["blog-1"])?.done()?;
    let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(
        serde_json::from_str::<Value>(last)?["instance"],
        "blog-1",
        "a cut line is left alone"
    );
    machine
        .ask(&["book", "show"])?
        .ended(0, &["blog-1    blog  ", "2 of the newest lines of", "cannot be read"])?;

    fs::remove_file(&file)?;
    fs::create_dir(&file)?;
    machine.ask(&["book", "show"])?.ended(0, &["freed.jsonl cannot be read"])?;
    free(&machine, &["blog-2"])?.ended(0, &["is set aside as", "freed blog/blog-2"])?;
    assert_eq!(written(&machine)?.len(), 1);

    // Nor does it lead root elsewhere.
    let elsewhere = machine.join("elsewhere");
    fs::write(&elsewhere, "")?;
    fs::remove_file(&file)?;
    std::os::unix::fs::symlink(&elsewhere, &file)?;
    free(&machine, &["till-1"])?.ended(0, &["is set aside as", "freed shop/till-1"])?;
    assert_eq!((fs::read(&elsewhere)?.len(), written(&machine)?.len()), (0, 1));
    Ok(())
}

#[test]
fn only_the_newest_are_told() -> Outcome {
    let machine = machine_with(DOCUMENT)?;
    free(&machine, &["blog-1"])?.done()?;
    let line = fs::read_to_string(machine.dir().join("freed.jsonl"))?;
    let many: String =
        (0..1_000).map(|nth| line.replace("the disk was full", &format!("time {nth}."))).collect();
    fs::write(machine.dir().join("freed.jsonl"), many)?;
    let shown = machine.ask(&["book", "show"])?;
    shown.ended(0, &["time 995.", "time 999."])?;
    assert!(!shown.stdout.contains("time 994."), "{}", shown.stdout);
    assert!(!shown.stdout.contains("cannot be read"), "{}", shown.stdout);
    Ok(())
}

/// Nobody in particular: no program runs as this user here.
const SOMEBODY: u32 = 54_321;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        // Not through the test's captured output: whoever reads the run should see it.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED a test of other users: not root\n",
        );
    }
    is_root
}

#[test]
fn another_user_is_told_whose_it_is() -> Outcome {
    use std::os::unix::process::CommandExt;
    if !is_root() {
        return Ok(());
    }
    let machine = machine_with(DOCUMENT)?;
    let before = bytes(machine.dir())?;
    let place = machine.dir().parent().ok_or("no folder")?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o755))?;
    for command in [&["show"][..], &["rotate-identity"], &["free", "blog-1", "--reason", "why"]] {
        let mut command = machine.program(&[&["book"], command].concat());
        command.uid(SOMEBODY).gid(SOMEBODY);
        crate::machine::finished(command)?.failed(
            1,
            &["Permission denied", "do this as root, or as the engine's own user (number 0)"],
        )?;
    }
    assert_eq!(bytes(machine.dir())?, before);
    Ok(())
}

#[test]
fn what_root_makes_in_the_folder_of_another_user_is_that_users() -> Outcome {
    if !is_root() {
        return Ok(());
    }
    let machine = Machine::new()?;
    fs::create_dir(machine.dir())?;
    chown(machine.dir(), Some(SOMEBODY), Some(SOMEBODY))?;
    let file = machine.join("document.json");
    fs::write(&file, DOCUMENT)?;
    machine.ask(&["book", "import", super::kept::text(&file)?])?.done()?;
    free(&machine, &["blog-1"])?.done()?;
    for name in crate::damage::files(machine.dir())? {
        let path = machine.dir().join(&name);
        assert_eq!(fs::metadata(&path)?.uid(), SOMEBODY, "{}", name.display());
        let folder = path.parent().ok_or("no folder")?;
        assert_eq!(fs::metadata(folder)?.uid(), SOMEBODY, "{}", folder.display());
    }
    Ok(())
}
