//! A disk that fills up under a running fleet, and one that can only be read any more.

use std::fs;

use crate::fleet::{Dev, Outcome, Place, eventually, finished, write_build};
use program_test::Disk;
use rustix::process::Signal;

/// Waits until this is what is said of the store.
fn condition(place: &Place, wanted: Option<&str>) -> Outcome {
    eventually("the condition says how the store is", || {
        let conditions = place.json(&["conditions"])?;
        let all = conditions.as_array().ok_or("no conditions")?;
        let of_store = all.iter().find(|it| it["key"] == "core.controller.store-not-writable");
        let said = of_store.map(ToString::to_string);
        let is_right = match (&said, wanted) {
            (Some(said), Some(wanted)) => said.contains(wanted),
            (said, wanted) => said.is_none() && wanted.is_none(),
        };
        Ok(if is_right { Ok(()) } else { Err(format!("{said:?} and not {wanted:?}")) })
    })
}

#[test]
fn a_full_disk_refuses_changes_says_so_and_loses_nothing() -> Outcome {
    let place = Place::new()?;
    let Some(disk) = Disk::mount(&place.dir())? else { return Ok(()) };
    let mut dev = Dev::serving(&place)?;
    let source = place.join("hello");
    let manifest = "[module]\nname = \"hello\"\n[[resource]]\nname = \"a\"\ncommand = [\"/bin/sleep\", \"9\"]\n";
    write_build(&source, manifest, &[("file", "content")])?;
    let add = ["builds", "add", source.to_str().ok_or("no text")?];
    place.ask(&add)?.done()?;
    let before = place.json(&["modules"])?;

    disk.fill()?;
    let assign = ["assign", "hello", "--to", "box-1"];
    place.ask(&assign)?.failed(1, &["no space left"])?;
    fs::write(source.join("file"), vec![b'x'; 100_000])?;
    place.ask(&add)?.failed(1, &["cannot be kept", "make room on that disk"])?;
    // What does not write goes on, and says the same as before.
    assert_eq!(place.json(&["modules"])?, before);
    condition(&place, Some("no space left"))?;
    // With room it goes on by itself.
    disk.empty()?;
    condition(&place, None)?;
    place.ask(&assign)?.done()?;
    let before = place.json(&["modules"])?;

    disk.fill()?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()?;
    let full = finished(place.of_fleet(&["dev", "--exit"]))?;
    full.failed(1, &["o space left"])?;

    disk.empty()?;
    let mut dev = Dev::serving(&place)?;
    assert_eq!(place.json(&["modules"])?, before);
    eventually("the machine is assigned", || {
        let assigned = place.ask(&assign)?;
        Ok(if assigned.status == Some(0) { Ok(()) } else { Err(format!("{assigned:?}")) })
    })?;
    place.ask(&add)?.done()?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()
}

/// As a disk becomes whose journal fails: what runs goes on, and nothing is lost or said that is not so.
#[test]
fn a_disk_that_becomes_read_only_is_said_and_loses_nothing() -> Outcome {
    let place = Place::new()?;
    let image = place.join("image");
    let Some(disk) = Disk::mount_ext4(&place.dir(), &image)? else { return Ok(()) };
    let mut dev = Dev::serving(&place)?;
    let before = place.json(&["modules"])?;
    disk.remount("abort")?;
    let unassign = ["unassign", "sample", "--to", "box-1,box-2,box-3", "--yes"];
    place.ask(&unassign)?.failed(1, &["read-only"])?;
    condition(&place, Some("read-only"))?;
    assert_eq!(place.json(&["modules"])?, before);
    let machines = place.json(&["machines"])?.to_string();
    assert_eq!(machines.matches("\"healthy\"").count(), 3, "{machines}");

    dev.signal(Signal::TERM)?;
    dev.ended()?;
    place.nothing_runs()?;
    finished(place.of_fleet(&["dev", "--exit"]))?.failed(1, &["Read-only file system"])?;
    drop(disk);
    let disk = Disk::mounted(&place.dir(), &["-o", "loop", image.to_str().ok_or("not text")?])?;
    let disk = disk.ok_or("it could be mounted before")?;
    disk.remount("ro")?;
    let refused = finished(place.of_fleet(&["dev", "--exit"]))?;
    refused.failed(1, &["Read-only file system", place.dir().to_str().ok_or("not text")?])?;

    disk.remount("rw")?;
    let mut dev = Dev::serving(&place)?;
    assert_eq!(place.json(&["modules"])?, before);
    place.ask(&unassign)?.done()?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()
}
