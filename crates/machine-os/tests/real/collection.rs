//! Builds that nobody needs any more are removed, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use crate::disk::Disk;
use crate::machine::{Machine, STOP, bundle, is_alive, open, spec};
use host::{Host, Process, ProcessSpec};
use machine_os::OsHost;
use names::{BuildId, ModuleName};
use tempfile::TempDir;

type Kept = BTreeSet<(ModuleName, BuildId)>;

const A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAA";
const B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAB";
const C: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAC";

fn builds(ids: &[&str]) -> Kept {
    ids.iter().map(|id| ("blog".parse().unwrap(), id.parse().unwrap())).collect()
}

/// Installs some builds that only sleep.
async fn install(machine: &Machine, host: &OsHost, ids: &[&str]) {
    let run = machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n");
    for id in ids {
        let mut bundle = bundle(vec![run.clone()]);
        bundle.build = id.parse().unwrap();
        host.install(&bundle).await.unwrap();
    }
}

fn names(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_is_not_kept_goes_with_all_that_belongs_to_it() {
    let machine = Machine::new();
    install(&machine, &machine.host, &[A, B, C]).await;
    let blog = machine.root().join("builds/blog");
    assert_eq!(machine.host.collect(&builds(&[A, C])).await, builds(&[B]));
    assert_eq!(names(blog.clone()), [A, &format!("{A}.files"), C, &format!("{C}.files")]);
    assert_eq!(names(machine.root().join("incoming/trash")), Vec::<String>::new());
    assert_eq!(machine.host.collect(&builds(&[A, C])).await, builds(&[]));
    // It can come again, and go with its module.
    install(&machine, &machine.host, &[B]).await;
    assert_eq!(machine.host.collect(&builds(&[])).await, builds(&[A, B, C]));
    assert!(!blog.exists());
}

#[tokio::test]
async fn putting_a_kept_build_back_needs_no_source() {
    let machine = Machine::new();
    install(&machine, &machine.host, &[A, B]).await;
    assert_eq!(machine.host.collect(&builds(&[A])).await, builds(&[B]));
    let host = open(machine.folder.path(), &machine.root());
    let mut back = bundle(vec![machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n")]);
    fs::remove_dir_all(machine.folder.path().join("artifacts")).unwrap();
    back.build = A.parse().unwrap();
    host.install(&back).await.unwrap();
    let spec = ProcessSpec { build: A.parse().unwrap(), ..spec() };
    host.verify(&spec, &[]).await.unwrap();
    let process = host.start(&spec).await.unwrap();
    assert!(is_alive(process.identity().pid));
    process.stop(STOP).await;
}

#[tokio::test]
async fn a_build_that_something_runs_from_stays_whatever_is_asked() {
    let machine = Machine::new();
    install(&machine, &machine.host, &[A, B]).await;
    let spec = ProcessSpec { build: A.parse().unwrap(), ..spec() };
    let process = machine.host.start(&spec).await.unwrap();
    assert_eq!(machine.host.collect(&builds(&[])).await, builds(&[B]));
    let next = open(machine.folder.path(), &machine.root());
    let adopted = next.adopt().await.unwrap();
    assert_eq!(next.collect(&builds(&[])).await, builds(&[]));
    assert!(is_alive(process.identity().pid));
    adopted[0].process.stop(STOP).await;
    process.ended().await;
    // Its folder goes with its end.
    crate::machine::until("nothing is left of it", || {
        names(machine.root().join("shims")).is_empty().then_some(())
    })
    .await;
    assert_eq!(next.collect(&builds(&[])).await, builds(&[A]));
}

#[tokio::test]
async fn what_is_no_build_is_left_alone_and_what_removal_left_is_not() {
    let machine = Machine::new();
    install(&machine, &machine.host, &[A]).await;
    let blog = machine.root().join("builds/blog");
    fs::create_dir_all(blog.join("notes of an operator")).unwrap();
    fs::create_dir_all(machine.root().join("builds/UPPER/x")).unwrap();
    fs::write(blog.join("todo"), "").unwrap();
    // A removal was interrupted, and an install before its build had its name.
    fs::create_dir_all(machine.root().join("incoming/trash/0000/bin")).unwrap();
    fs::write(blog.join(format!("{B}.files")), "").unwrap();
    assert_eq!(machine.host.collect(&builds(&[])).await, builds(&[A]));
    assert_eq!(names(blog), ["notes of an operator", "todo"]);
    assert_eq!(names(machine.root().join("builds")), ["UPPER", "blog"]);
    assert_eq!(names(machine.root().join("incoming/trash")), Vec::<String>::new());
}

#[tokio::test]
async fn on_a_disk_that_takes_no_writes_everything_stays() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    let Some(disk) = Disk::mount(at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    install(&machine, &host, &[A, B]).await;
    disk.remount("ro");
    assert_eq!(host.collect(&builds(&[A])).await, builds(&[]));
    assert_eq!(names(at.path().join("builds/blog")).len(), 4);
    disk.remount("rw");
    assert_eq!(host.collect(&builds(&[A])).await, builds(&[B]));
}

#[tokio::test]
async fn a_disk_that_is_full_gets_room_by_what_is_removed() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    let Some(_disk) = Disk::mount_with("size=4m,nr_inodes=200", at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    let large = machine.artifact("run", &vec![7; 1024 * 1024]);
    for id in [A, B] {
        let mut bundle = bundle(vec![large.clone()]);
        bundle.build = id.parse().unwrap();
        host.install(&bundle).await.unwrap();
    }
    // Bytes first, inodes then: not even a folder can be made.
    let mut ballast = fs::File::create(at.path().join("ballast")).unwrap();
    while ballast.write_all(&[1; 4096]).is_ok() {}
    let mut nth = 0;
    while fs::write(at.path().join(format!("more-{nth}")), "").is_ok() {
        nth += 1;
    }
    assert_eq!(host.collect(&builds(&[A])).await, builds(&[B]));
    assert!(ballast.write_all(&[1; 4096]).is_ok(), "there is room again");
}

#[tokio::test]
async fn what_is_installed_while_others_are_removed_is_whole() {
    let machine = Machine::new();
    let run = machine.artifact("run", &vec![7; 1024 * 1024]);
    for _ in 0..20 {
        let mut bundle = bundle(vec![run.clone()]);
        bundle.build = B.parse().unwrap();
        let nothing = builds(&[]);
        let (installed, removed) =
            tokio::join!(machine.host.install(&bundle), machine.host.collect(&nothing));
        installed.unwrap();
        // Either it came before, and was not kept; or it is there, and whole.
        let size = machine.root().join("builds/blog").join(B).join("run").metadata();
        match removed.is_empty() {
            true => assert_eq!(size.unwrap().len(), 1024 * 1024),
            false => assert!(size.is_err()),
        }
        machine.host.collect(&nothing).await;
    }
}
