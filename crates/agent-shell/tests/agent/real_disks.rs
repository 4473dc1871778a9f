//! Whole agents on this machine: artifacts and disks that are not as they should be.

use std::fs;
use std::path::Path;
use std::process::Command;

use tar::{Builder, Header};
use tempfile::TempDir;
use wire::{ModuleOutcome, ResourceState, UnableBecause};

use crate::declared::{B, blog, build, declaration, manifest};
use crate::real::{Bed, QUICK, is_alive};

/// A file system of its own, of 4 MiB, taken away with the value.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    /// `None` for who is not root: then nothing can be mounted, and the test has nothing to say.
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(at).status();
        mount.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Waits until build B is reported unable for this reason, and shows that A runs on as the process that it was.
async fn unable(bed: &mut Bed, because: UnableBecause, a: u32) -> String {
    let is_so = |number, outcome: &ModuleOutcome| {
        number == 2
            && matches!(outcome, ModuleOutcome::Unable { because: found, .. } if *found == because)
    };
    let report = bed.controller.until_report("unable", is_so).await;
    let row = bed.controller.until_row("A stands", |_| true).await;
    assert_eq!(row.state, ResourceState::Healthy);
    assert_eq!(row.process.unwrap().pid, a);
    assert!(is_alive(a));
    let ModuleOutcome::Unable { why, .. } = &report.modules.values().next().unwrap().outcome else {
        unreachable!("it was waited for")
    };
    why.clone()
}

async fn applied(bed: &mut Bed) {
    bed.controller
        .until_report("applied", |number, outcome| {
            number == 2 && *outcome == ModuleOutcome::Applied
        })
        .await;
    let row = bed.controller.until_row("B runs", |row| row.build == build(B)).await;
    assert!(row.process.is_some());
}

#[tokio::test]
async fn a_missing_artifact_is_unable_and_gets_well() {
    without_its_artifact(None, "is not at its source").await;
}

#[tokio::test]
async fn a_wrong_artifact_is_unable_and_gets_well() {
    without_its_artifact(Some("#!/bin/sh\nfalse\n"), "does not match").await;
}

async fn without_its_artifact(instead: Option<&str>, words: &str) {
    let mut bed = Bed::new().await;
    let a = bed.runs_a().await;
    let b = bed.build(B, QUICK, "exec sleep 1001");
    let source = bed.folder.path().join("artifacts").join(b.artifacts[0].digest.as_str());
    let good = fs::read(&source).unwrap();
    match instead {
        None => fs::remove_file(&source).unwrap(),
        Some(content) => fs::write(&source, content).unwrap(),
    }
    bed.controller.declare(declaration(2, Some(b))).await;
    let why = unable(&mut bed, UnableBecause::Artifact, a).await;
    assert!(why.contains(words), "{why}");
    fs::write(&source, good).unwrap();
    applied(&mut bed).await;
}

#[tokio::test]
async fn a_hostile_archive_is_unable_and_writes_nothing_outside() {
    let mut bed = Bed::new().await;
    let a = bed.runs_a().await;
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..7].copy_from_slice(b"../evil");
    header.set_size(0);
    header.set_mode(0o644);
    header.set_cksum();
    let mut archive = Builder::new(Vec::new());
    archive.append(&header, std::io::empty()).unwrap();
    let archive = bed.artifact("blog.tar", &archive.into_inner().unwrap());
    let b = blog(B, manifest(QUICK), vec![archive]);
    bed.controller.declare(declaration(2, Some(b))).await;
    let why = unable(&mut bed, UnableBecause::Artifact, a).await;
    assert!(why.contains("`../evil` leaves the build's folder"), "{why}");
    let find = Command::new("find").arg(bed.folder.path()).args(["-name", "evil"]).output();
    assert!(find.unwrap().stdout.is_empty());
}

#[tokio::test]
async fn a_full_disk_is_unable_and_gets_well() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("disk");
    let Some(_disk) = Disk::mount(&at) else { return };
    let mut bed = Bed::over(folder, &at).await;
    let a = bed.runs_a().await;
    let ballast = at.join("ballast");
    fs::write(&ballast, vec![1; 3 * 1024 * 1024]).unwrap();
    let large = format!("exec sleep 1001 #{}", "x".repeat(2 * 1024 * 1024));
    let b = bed.build(B, QUICK, &large);
    bed.controller.declare(declaration(2, Some(b))).await;
    let why = unable(&mut bed, UnableBecause::Disk, a).await;
    assert!(why.starts_with("no space is left on the disk"), "{why}");
    fs::remove_file(&ballast).unwrap();
    applied(&mut bed).await;
    // The disk goes before its folder does.
    bed.agent.stop().await.unwrap();
}
