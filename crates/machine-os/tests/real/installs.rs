//! Builds on a real disk: whole or not there at all.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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
    assert_eq!(files(&machine.root().join("incoming")), Vec::<String>::new());
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
async fn what_came_of_a_build_is_not_fetched_again() {
    let machine = Machine::new();
    let first = machine.artifact("first", &[1; 10_000]);
    let second = machine.artifact("second", &[2; 10_000]);
    let both = vec![first.clone(), second.clone()];
    let at_source = |artifact: &Artifact| {
        machine.folder.path().join("artifacts").join(artifact.digest.as_str())
    };
    let part = |artifact: &Artifact| {
        machine.root().join("incoming").join(format!("{}.part", artifact.digest))
    };
    let whole = fs::read(at_source(&second)).unwrap();
    fs::remove_file(at_source(&second)).unwrap();
    let error = machine.install(both.clone()).await.unwrap_err();
    assert!(matches!(error, InstallError::Missing { .. }), "{error}");
    assert!(!machine.build().exists() && part(&first).exists());
    // An engine that is gone and another in its place: it goes on with what there is, also in the middle.
    fs::remove_file(at_source(&first)).unwrap();
    fs::write(part(&second), &whole[..7_000]).unwrap();
    fs::write(at_source(&second), &whole).unwrap();
    let host = open(machine.folder.path(), &machine.root());
    host.install(&bundle(both)).await.unwrap();
    assert_eq!(fs::read(machine.build().join("second")).unwrap(), whole);
    assert_eq!(files(&machine.root().join("incoming")), Vec::<String>::new());
}

#[tokio::test]
async fn one_artifact_under_two_names_is_placed_twice() {
    let machine = Machine::new();
    let one = machine.artifact("one", b"#!/bin/sh\n");
    let other = Artifact { name: "other".parse().unwrap(), ..one.clone() };
    machine.install(vec![one, other]).await.unwrap();
    let inode = |name: &str| machine.build().join(name).metadata().unwrap().ino();
    assert_ne!(inode("one"), inode("other"));
}

#[tokio::test]
async fn hostile_archives_are_refused_before_anything_outside_exists() {
    let hostile = [
        ("climbs", tar(&[file("../evil")]), "leaves the build's folder"),
        ("absolute", tar(&[file("/tmp/bellwether-evil")]), "leaves the build's folder"),
        ("through a link", tar(&[link("x", "."), file("x/evil")]), "lies in what is no folder"),
        ("hard link", tar(&[entry(EntryType::Link, "x", "/etc/passwd")]), "is neither a file"),
        ("late", tar(&[file("good"), link("x", "/")]), "may lie outside"),
        ("no archive", b"not an archive at all".repeat(100), "cannot be read as an archive"),
        ("cut off", tar(&[file("x")])[..515].to_vec(), "cannot be read as an archive"),
    ];
    for (name, bytes, words) in hostile {
        for (packed, bytes) in [("x.tar", bytes.clone()), ("x.tar.gz", gz(&bytes))] {
            let machine = Machine::new();
            let artifact = machine.artifact(packed, &bytes);
            let left = [machine.root().join("incoming").join(format!("{}.part", artifact.digest))];
            let error = machine.install(vec![artifact]).await.unwrap_err();
            assert!(
                matches!(&error, InstallError::Unsafe { why, .. } if why.contains(words)),
                "{name}: {error}"
            );
            // It is as it was declared, so it need not be fetched again to be refused again.
            assert_eq!(files(&machine.root()), left.map(|part| part.display().to_string()));
            assert!(!machine.root().join("incoming/content").exists(), "{name}");
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
    let left = machine.root().join("incoming/content/half");
    let leave = || {
        fs::create_dir_all(left.parent().unwrap()).unwrap();
        fs::write(&left, "half a file").unwrap();
    };
    leave();
    let run = machine.artifact("run", b"#!/bin/sh\n");
    machine.install(vec![run]).await.unwrap();
    assert!(!left.exists() && !machine.build().join("half").exists());
    leave();
    open(machine.folder.path(), &machine.root());
    assert!(!left.exists());
}

#[tokio::test]
async fn many_installs_at_once_are_one_each() {
    let machine = Machine::new();
    let run = machine.artifact("run", b"#!/bin/sh\n");
    let more = machine.artifact("more.tar", &tar(&[file("page")]));
    let mut all = tokio::task::JoinSet::new();
    for nth in 0..24 {
        let (host, mut bundle) = (machine.host.clone(), bundle(vec![run.clone(), more.clone()]));
        bundle.module = format!("module-{}", nth % 4).parse().unwrap();
        all.spawn(async move { host.install(&bundle).await.map(|()| bundle.module) });
    }
    for done in all.join_all().await {
        let build = machine.root().join("builds").join(done.unwrap().as_str());
        assert!(build.join(crate::machine::BUILD).join("page").is_file());
    }
    assert_eq!(files(&machine.root().join("incoming")), Vec::<String>::new());
}
