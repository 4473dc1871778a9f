//! A disk that is full, read-only or failing: told apart, refused before anything is touched, and well again by itself.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::disk::Disk;
use crate::machine::{Machine, STOP, bundle, is_alive, open, spec};
use flate2::Compression;
use flate2::write::GzEncoder;
use host::{Host, InstallError, Process};
use inventory::Artifact;
use machine_os::OsHost;
use tempfile::TempDir;
use wire::TroubleKind;

const KIB: usize = 1024;

async fn install(host: &OsHost, artifact: &Artifact) -> Result<(), InstallError> {
    host.install(&bundle(vec![artifact.clone()])).await
}

async fn kinds(host: &OsHost) -> Vec<TroubleKind> {
    host.troubles().await.iter().map(|trouble| trouble.kind).collect()
}

/// All that lies under a folder.
fn everything(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path.clone());
            }
            found.push(path.display().to_string());
        }
    }
    found.sort();
    found
}

/// An archive of one file of zeros, small however large that is.
fn zeros(bytes: usize) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(bytes as u64);
    header.set_mode(0o644);
    header.set_cksum();
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    builder.append(&header, &vec![0; bytes][..]).unwrap();
    builder.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn what_does_not_fit_beside_the_reserve_is_refused_before_anything_is_touched() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    // A quarter is kept in reserve: 1 MiB.
    let Some(_disk) = Disk::mount(at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    let before = everything(at.path());
    let large = machine.artifact("large", &vec![7; 5 * KIB * KIB]);
    let into_reserve = machine.artifact("large", &vec![8; 3200 * KIB]);
    let archive = machine.artifact("large.tar", &vec![9; 2000 * KIB]);
    for artifact in [large, into_reserve, archive] {
        let error = install(&host, &artifact).await.unwrap_err();
        assert!(matches!(error, InstallError::Full { .. }), "{error}");
        assert_eq!(everything(at.path()), before);
    }
    // What a small archive takes is known once it was fetched, and nothing of it is unpacked.
    let bomb = machine.artifact("bomb.tar.gz", &zeros(3200 * KIB));
    assert!(matches!(install(&host, &bomb).await, Err(InstallError::Full { .. })));
    assert!(
        !at.path().join("incoming/content").exists() && !at.path().join("builds/blog").exists()
    );
    assert_eq!(kinds(&host).await, []);
    let fits = machine.artifact("fits.tar.gz", &zeros(2900 * KIB));
    install(&host, &fits).await.unwrap();
}

#[tokio::test]
async fn a_disk_without_inodes_is_full() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    let Some(_disk) = Disk::mount_with("size=4m,nr_inodes=100", at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    let mut builder = tar::Builder::new(Vec::new());
    for nth in 0..80 {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        builder.append_data(&mut header, nth.to_string(), &b""[..]).unwrap();
    }
    let many = machine.artifact("many.tar", &builder.into_inner().unwrap());
    let error = install(&host, &many).await.unwrap_err();
    assert!(matches!(error, InstallError::Full { .. }), "{error}");
    assert_eq!(kinds(&host).await, []);
    for nth in 0..70 {
        fs::write(at.path().join(nth.to_string()), "").unwrap();
    }
    let troubles = host.troubles().await;
    assert_eq!(kinds(&host).await, [TroubleKind::DiskFull]);
    assert!(troubles[0].why.contains("files free, and 25 are kept"), "{}", troubles[0].why);
}

#[tokio::test]
async fn a_full_disk_is_said_starts_nothing_new_and_is_well_again_with_room() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    let Some(_disk) = Disk::mount(at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    let run = machine.artifact("run", b"#!/bin/sh\nexec sleep 1000\n");
    install(&host, &run).await.unwrap();
    let process = host.start(&spec()).await.unwrap();
    let ballast = at.path().join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let troubles = host.troubles().await;
    assert_eq!(kinds(&host).await, [TroubleKind::DiskFull]);
    assert!(troubles[0].why.contains("0 MiB free, and 1 MiB are kept"), "{}", troubles[0].why);
    let other = machine.artifact("run", b"#!/bin/sh\n");
    let mut another = bundle(vec![other]);
    another.build = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().unwrap();
    let error = host.install(&another).await.unwrap_err();
    assert!(matches!(error, InstallError::Full { .. }), "{error}");
    // What is there needs no room, and what runs goes on.
    install(&host, &run).await.unwrap();
    assert!(is_alive(process.identity().pid));
    drop(file);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(kinds(&host).await, []);
    host.install(&another).await.unwrap();

    let read_only = Disk::read_only(at.path()).unwrap();
    assert_eq!(kinds(&host).await, [TroubleKind::DiskReadOnly]);
    another.build = "01ARZ3NDEKTSV4RRFFQ69G5FAX".parse().unwrap();
    let error = host.install(&another).await.unwrap_err();
    assert!(matches!(error, InstallError::ReadOnly), "{error}");
    install(&host, &run).await.unwrap();
    // Another engine can begin there, and finds what runs.
    let next = open(machine.folder.path(), at.path());
    assert_eq!(next.adopt().await.unwrap().len(), 1);
    drop(read_only);
    host.install(&another).await.unwrap();
    assert_eq!(kinds(&host).await, []);
    process.stop(STOP).await;
}

#[tokio::test]
async fn room_is_made_of_fetches_that_nobody_goes_on_with() {
    let machine = Machine::new();
    let at = TempDir::new().unwrap();
    let Some(_disk) = Disk::mount(at.path()) else { return };
    let host = open(machine.folder.path(), at.path());
    let missing = machine.artifact("missing", b"gone");
    let gone = machine.folder.path().join("artifacts").join(missing.digest.as_str());
    fs::remove_file(gone).unwrap();
    let large = machine.artifact("large", &vec![7; 2000 * KIB]);
    let error = host.install(&bundle(vec![large, missing])).await.unwrap_err();
    assert!(matches!(error, InstallError::Missing { .. }), "{error}");
    let other = machine.artifact("other", &vec![8; 2000 * KIB]);
    install(&host, &other).await.unwrap();
}

#[tokio::test]
async fn damaged_files_that_were_set_aside_are_told_until_they_are_removed() {
    let machine = Machine::new();
    let aside = machine.root().join("set-aside");
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("store"), "damaged").unwrap();
    let [trouble] = &machine.host.troubles().await[..] else { unreachable!("one is there") };
    assert_eq!(trouble.kind, TroubleKind::FileDamaged);
    assert!(trouble.why.contains("set-aside/store was damaged"), "{}", trouble.why);
    fs::remove_file(aside.join("store")).unwrap();
    assert_eq!(kinds(&machine.host).await, []);
}
