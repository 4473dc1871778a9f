//! Builds on a real disk: whole or not there at all.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::machine::{Machine, bundle, open};
use host::{Host, InstallError};
use inventory::Artifact;
use tar::{Builder, EntryType, Header};

/// One entry of an archive: what a friendly packer would never write is possible here.
struct Entry {
    kind: EntryType,
    path: &'static str,
    link: &'static str,
    mode: u32,
}

fn entry(kind: EntryType, path: &'static str, link: &'static str) -> Entry {
    Entry { kind, path, link, mode: 0o644 }
}

fn file(path: &'static str) -> Entry {
    entry(EntryType::Regular, path, "")
}

fn link(path: &'static str, to: &'static str) -> Entry {
    entry(EntryType::Symlink, path, to)
}

fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        let content: &[u8] = if entry.kind == EntryType::Regular { b"content" } else { b"" };
        let mut header = Header::new_gnu();
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_size(content.len() as u64);
        // Written by hand: the builder itself refuses hostile names.
        let old = header.as_old_mut();
        old.name[..entry.path.len()].copy_from_slice(entry.path.as_bytes());
        old.linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

/// Every path under a folder, for seeing that nothing is left.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn a_build_of_archives_and_files_is_placed_whole() {
    let machine = Machine::new();
    let program = Entry { mode: 0o4755, ..file("./bin/blog") };
    let folder = entry(EntryType::Directory, "empty/", "");
    let archive = tar(&[
        folder,
        program,
        file("bin/data"),
        link("current", "bin/blog"),
        link("bin/up", "../empty"),
    ]);
    let artifacts = vec![
        machine.artifact("blog.tar", &archive),
        machine.artifact("more.tar.gz", &gz(&tar(&[file("more/page")]))),
        machine.artifact("tool", b"#!/bin/sh\n"),
    ];
    machine.install(artifacts).await.unwrap();
    let build = machine.build();
    let mode = |path: &str| build.join(path).metadata().unwrap().mode() & 0o7777;
    assert_eq!((mode("bin/blog"), mode("bin/data"), mode("tool")), (0o755, 0o644, 0o755));
    assert_eq!(fs::read(build.join("current")).unwrap(), b"content");
    assert!(build.join("bin/up").is_dir() && build.join("more/page").is_file());
    assert!(!machine.root().join("incoming/blog").join(crate::machine::BUILD).exists());
}

#[tokio::test]
async fn a_build_of_many_files_is_placed_whole() {
    let machine = Machine::new();
    let mut builder = Builder::new(Vec::new());
    for n in 0..300_u64 {
        let mut header = Header::new_gnu();
        header.set_size(8);
        header.set_mode(0o644);
        let path = format!("pages/{}/{n}", n % 7);
        builder.append_data(&mut header, path, &n.to_be_bytes()[..]).unwrap();
    }
    let archive = machine.artifact("pages.tar", &builder.into_inner().unwrap());
    machine.install(vec![archive]).await.unwrap();
    for n in 0..300_u64 {
        let page = machine.build().join(format!("pages/{}/{n}", n % 7));
        assert_eq!(fs::read(page).unwrap(), n.to_be_bytes());
    }
}

#[tokio::test]
async fn a_build_that_is_there_is_not_installed_again() {
    let machine = Machine::new();
    let artifact = machine.artifact("run", b"#!/bin/sh\n");
    machine.install(vec![artifact.clone()]).await.unwrap();
    fs::remove_dir_all(machine.folder.path().join("artifacts")).unwrap();
    let before = machine.build().join("run").metadata().unwrap().ino();
    machine.install(vec![artifact]).await.unwrap();
    assert_eq!(machine.build().join("run").metadata().unwrap().ino(), before);
}

#[tokio::test]
async fn an_artifact_that_is_not_what_was_declared_is_refused() {
    let machine = Machine::new();
    let good = machine.artifact("run", b"0123456789");
    let source = machine.folder.path().join("artifacts").join(good.digest.as_str());
    for (found, words) in [
        (Some("012345678"), "it has 9 bytes, not 10"),
        (Some("0123456789 and a page"), "it is longer than 10 bytes"),
        (Some("abcdefghij"), "its digest is"),
        (Some(""), "it has 0 bytes, not 10"),
        (None, "is not at its source"),
    ] {
        match found {
            Some(content) => fs::write(&source, content).unwrap(),
            None => fs::remove_file(&source).unwrap(),
        }
        let error = machine.install(vec![good.clone()]).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(files(&machine.root()), Vec::<String>::new());
    }
    // When the source has it, all is well without anybody's help.
    fs::write(&source, "0123456789").unwrap();
    machine.install(vec![good]).await.unwrap();
}

#[tokio::test]
async fn hostile_archives_are_refused_before_anything_outside_exists() {
    let hostile = [
        ("climbs", tar(&[file("../evil")]), "leaves the build's folder"),
        ("climbs late", tar(&[file("a/../../evil")]), "leaves the build's folder"),
        ("absolute", tar(&[file("/tmp/bellwether-evil")]), "leaves the build's folder"),
        ("link out", tar(&[link("x", "..")]), "may lie outside"),
        ("link to the root", tar(&[link("x", "/")]), "may lie outside"),
        ("through a link", tar(&[link("x", "."), file("x/evil")]), "lies in what is no folder"),
        ("link by a link", tar(&[link("a", "."), link("b", "a/..")]), "may lie outside"),
        ("hard link", tar(&[entry(EntryType::Link, "x", "/etc/passwd")]), "is neither a file"),
        ("device", tar(&[entry(EntryType::Char, "x", "")]), "is neither a file"),
        ("pipe", tar(&[entry(EntryType::Fifo, "x", "")]), "is neither a file"),
        ("twice", tar(&[file("x"), file("x")]), "is there twice"),
        ("file and folder", tar(&[file("x"), file("x/y")]), "lies in what is no folder"),
        ("link over a file", tar(&[file("x"), link("./x", "y")]), "is there twice"),
        ("no archive", b"not an archive at all".repeat(100), "cannot be read as an archive"),
        ("cut off", tar(&[file("x")])[..515].to_vec(), "cannot be read as an archive"),
    ];
    for (name, bytes, words) in hostile {
        for (name, bytes) in [("x.tar", bytes.clone()), ("x.tar.gz", gz(&bytes))]
            .map(|one| (format!("{name} {}", one.0), (one.0, one.1)))
        {
            let machine = Machine::new();
            let artifact = machine.artifact(bytes.0, &bytes.1);
            let error = machine.install(vec![artifact]).await.unwrap_err();
            assert!(
                matches!(&error, InstallError::Unsafe { why, .. } if why.contains(words)),
                "{name}: {error}"
            );
            assert_eq!(files(&machine.root()), Vec::<String>::new(), "{name}");
            assert!(!machine.folder.path().join("evil").exists(), "{name}");
        }
    }
}

#[tokio::test]
async fn two_artifacts_with_one_file_are_refused() {
    let machine = Machine::new();
    let plain = machine.artifact("x", b"plain");
    let archive = machine.artifact("x.tar", &tar(&[file("x")]));
    for artifacts in [vec![plain.clone(), archive.clone()], vec![archive, plain]] {
        let error = machine.install(artifacts).await.unwrap_err();
        assert!(matches!(error, InstallError::Unsafe { .. }), "{error}");
    }
}

#[tokio::test]
async fn what_an_interrupted_install_left_is_removed() {
    let machine = Machine::new();
    let left =
        machine.root().join("incoming/blog").join(crate::machine::BUILD).join("content/half");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, "half a file").unwrap();
    let run = machine.artifact("run", b"#!/bin/sh\n");
    machine.install(vec![run]).await.unwrap();
    assert!(!left.exists() && !machine.build().join("half").exists());
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    open(machine.folder.path(), &machine.root());
    assert!(!left.exists());
}

/// A small file system of its own, taken away with the value.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    /// `None` for who is not root: then nothing can be mounted, and the test has nothing to say.
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at).status();
        mount.is_ok_and(|status| status.success()).then_some(Self(at))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_and_a_read_only_one_are_told_apart_and_get_well() {
    let machine = Machine::new();
    let at = machine.folder.path().join("disk");
    let Some(_disk) = Disk::mount(&at) else { return };
    let host = open(machine.folder.path(), &at);
    let fits: Artifact = machine.artifact("run", b"#!/bin/sh\n");
    let large = machine.artifact("large", &vec![7; 3 * 1024 * 1024]);
    let install = |artifact: &Artifact| {
        let (host, bundle) = (host.clone(), bundle(vec![artifact.clone()]));
        async move { host.install(&bundle).await }
    };
    assert!(matches!(install(&large).await, Err(InstallError::Full { .. })));
    // An archive that is small and unpacks to more than there is room for is found out in the middle.
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(3 * 1024 * 1024);
    header.set_mode(0o644);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, std::io::repeat(0).take(3 * 1024 * 1024)).unwrap();
    let bomb = machine.artifact("bomb.tar.gz", &gz(&builder.into_inner().unwrap()));
    assert!(matches!(install(&bomb).await, Err(InstallError::Full { .. })));
    assert_eq!(files(&at), Vec::<String>::new());

    let remount = |how: &str| {
        let status = Command::new("mount").args(["-o", how]).arg(&at).status().unwrap();
        assert!(status.success());
    };
    remount("remount,ro");
    assert!(matches!(install(&fits).await, Err(InstallError::ReadOnly)));
    remount("remount,rw");
    install(&fits).await.unwrap();
    let run = at.join("builds/blog").join(crate::machine::BUILD).join("run");
    assert_eq!(run.metadata().unwrap().permissions().mode() & 0o777, 0o755);
}
