//! Files of the host's own, damaged or gone: nothing panics, exactly one copy runs, and what can be kept going is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::machine::{Machine, STOP, bundle, is_alive, open, shim_of, spec, until, until_gone};
use host::{Exit, Host, InstallError, Process};
use inventory::Artifact;
use machine_os::{OsHost, OsProcess};
use tokio::task::JoinSet;
use wire::TroubleKind;

const RUN: &[u8] = b"#!/bin/sh\necho here; exec sleep 1000\n";

/// What can become of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Harm {
    Emptied,
    Cut,
    Random,
    Replaced,
    Removed,
}

const HARMS: [Harm; 5] = [Harm::Emptied, Harm::Cut, Harm::Random, Harm::Replaced, Harm::Removed];

/// Tries what can become of something, all of it at once: most of that is waiting.
async fn each_harm<F: Future<Output = ()> + Send + 'static>(attempt: impl Fn(Harm) -> F) {
    let mut all = JoinSet::new();
    for harm in HARMS {
        all.spawn(attempt(harm));
    }
    all.join_all().await;
}

impl Harm {
    fn befall(self, path: &Path) {
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
            match self {
                // What is left of it is an empty folder, a file of some kind, or nothing.
                Self::Emptied => fs::create_dir(path).unwrap(),
                Self::Cut => fs::write(path, "").unwrap(),
                Self::Random | Self::Replaced => fs::write(path, [0xa5; 300]).unwrap(),
                Self::Removed => {}
            }
            return;
        }
        let content = fs::read(path).unwrap_or_default();
        fs::remove_file(path).unwrap();
        match self {
            Self::Emptied => fs::write(path, "").unwrap(),
            Self::Cut => fs::write(path, &content[..content.len() / 2]).unwrap(),
            Self::Random => fs::write(path, [0xa5; 300]).unwrap(),
            Self::Replaced => fs::create_dir(path).unwrap(),
            Self::Removed => {}
        }
    }
}

/// A machine with a workload that an engine before started.
struct Bed {
    machine: Machine,
    artifact: Artifact,
    pid: u32,
}

impl Bed {
    async fn new() -> Self {
        let machine = Machine::new();
        let artifact = machine.artifact("run", RUN);
        machine.install(vec![artifact.clone()]).await.unwrap();
        let process = machine.host.start(&spec()).await.unwrap();
        speaks(&process).await;
        Self { pid: process.identity().pid, machine, artifact }
    }

    fn root(&self) -> PathBuf {
        self.machine.root()
    }

    fn next_engine(&self) -> OsHost {
        open(self.machine.folder.path(), &self.root())
    }

    /// Goes on as an agent does: it keeps what runs, and starts what does not. Asserts that one copy runs then, and says
    /// whether that is the one from before.
    async fn goes_on(&self, what: &str) -> bool {
        let host = self.next_engine();
        let mut running = Vec::new();
        for adopted in host.adopt().await.unwrap() {
            // Whose end is known by now has ended by itself.
            let ended = tokio::time::timeout(Duration::from_millis(1), adopted.process.ended());
            if ended.await.is_err() {
                running.push(adopted.process);
            }
        }
        if running.is_empty() {
            host.install(&bundle(vec![self.artifact.clone()])).await.unwrap();
            host.verify(&spec(), &[]).await.unwrap();
            running.push(host.start(&spec()).await.unwrap());
        }
        let [process] = &running[..] else { unreachable!("{what}: {running:?}") };
        let pid = process.identity().pid;
        assert!(is_alive(pid), "{what}");
        assert!(pid == self.pid || !is_alive(self.pid), "{what}: a second copy runs");
        host.troubles().await;
        host.collect(&Default::default()).await;
        assert!(is_alive(pid), "{what}");
        process.stop(STOP).await;
        until_gone(&[pid, self.pid]).await;
        pid == self.pid
    }
}

/// Waits until a workload runs its own program.
async fn speaks(process: &OsProcess) {
    while process.last_lines().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_damaged_file_of_a_shim_stops_nothing() {
    for name in
        ["keepsake", "keepsake.copy", "errand", "errand.copy", "identity", "identity.copy", "exit"]
    {
        each_harm(move |harm| async move {
            let bed = Bed::new().await;
            let path = bed.machine.shim_folder().join(name);
            if name == "exit" {
                fs::write(&path, "not written yet").unwrap();
            }
            harm.befall(&path);
            let what = format!("{name} {harm:?}");
            let host = bed.next_engine();
            assert!(bed.goes_on(&what).await, "{what}: it was started anew");
            // What was damaged and is good again is told, so that somebody looks at the disk.
            let told = host.troubles().await;
            let is_told = told.iter().any(|one| one.kind == TroubleKind::FileDamaged);
            assert_eq!(is_told, name != "exit" && harm != Harm::Removed, "{what}: {told:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn what_nobody_can_tell_any_more_is_ended_and_never_runs_twice() {
    for name in ["keepsake", "errand", "identity"] {
        each_harm(move |harm| async move {
            let bed = Bed::new().await;
            let folder = bed.machine.shim_folder();
            for name in [name.to_owned(), format!("{name}.copy")] {
                harm.befall(&folder.join(name));
            }
            bed.goes_on(&format!("{name} twice {harm:?}")).await;
        })
        .await;
    }
    each_harm(|harm| async move {
        let bed = Bed::new().await;
        harm.befall(&bed.machine.shim_folder());
        bed.goes_on(&format!("the shim's folder {harm:?}")).await;
        let bed = Bed::new().await;
        harm.befall(&bed.machine.shim_folder().join("socket"));
        // It has another name.
        assert!(bed.goes_on(&format!("the shim's socket {harm:?}")).await, "{harm:?}");
    })
    .await;
}

#[tokio::test]
async fn no_damage_to_the_hosts_folders_makes_a_second_copy_or_keeps_it_from_going_on() {
    for path in [
        "builds",
        "builds/blog",
        "output",
        "output/blog",
        "output/blog/blog-1/web.log",
        "shims",
        "incoming",
        "set-aside",
    ] {
        each_harm(move |harm| async move {
            let bed = Bed::new().await;
            let place = bed.root().join(path);
            if !place.exists() {
                fs::create_dir_all(&place).unwrap();
            }
            harm.befall(&place);
            bed.goes_on(&format!("{path} {harm:?}")).await;
        })
        .await;
    }
}

#[tokio::test]
async fn what_runs_does_not_notice_that_the_folders_of_its_host_are_gone() {
    let bed = Bed::new().await;
    let host = bed.next_engine();
    let [adopted] = &host.adopt().await.unwrap()[..] else { unreachable!("one runs") };
    for path in ["builds", "output", "shims", "incoming"] {
        Harm::Removed.befall(&bed.root().join(path));
    }
    // The same engine can go on: it holds what runs, and starts more.
    host.install(&bundle(vec![bed.artifact.clone()])).await.unwrap();
    let more = host::ProcessSpec { instance: "blog-2".parse().unwrap(), ..spec() };
    let more = host.start(&more).await.unwrap();
    assert!(is_alive(bed.pid) && is_alive(more.identity().pid));
    adopted.process.stop(STOP).await;
    assert_eq!(adopted.process.ended().await, Exit::Signal(15));
    more.stop(STOP).await;
}

#[tokio::test]
async fn a_shim_that_was_killed_after_its_folder_was_lost_leaves_nothing() {
    let machine = Machine::new();
    let artifact = machine.artifact("run", RUN);
    machine.install(vec![artifact]).await.unwrap();
    let process = machine.host.start(&spec()).await.unwrap();
    speaks(&process).await;
    let (pid, shim) = (process.identity().pid, shim_of(&process));
    drop(process);
    fs::remove_dir_all(machine.shim_folder()).unwrap();
    crate::machine::kill(shim);
    until_gone(&[shim]).await;
    assert!(is_alive(pid));
    assert!(machine.adopt().await.is_empty());
    until_gone(&[pid]).await;
}

#[tokio::test]
async fn another_hosts_workloads_are_none_of_its_business() {
    let bed = Bed::new().await;
    let other = Machine::new();
    assert!(other.adopt().await.is_empty());
    assert!(is_alive(bed.pid));
    assert!(bed.goes_on("beside another host").await);
}

#[tokio::test]
async fn a_build_that_was_damaged_is_mended_and_not_judged() {
    for harm in HARMS {
        for path in
            ["blog/01ARZ3NDEKTSV4RRFFQ69G5FAV/run", "blog/01ARZ3NDEKTSV4RRFFQ69G5FAV", "blog"]
        {
            let machine = Machine::new();
            let artifact = machine.artifact("run", RUN);
            machine.install(vec![artifact.clone()]).await.unwrap();
            harm.befall(&machine.root().join("builds").join(path));
            let is_left = machine.build().join("run").symlink_metadata().is_ok();
            machine.install(vec![artifact]).await.unwrap();
            assert_eq!(fs::read(machine.build().join("run")).unwrap(), RUN, "{path} {harm:?}");
            // What was there instead is kept, and told.
            let told = machine.host.troubles().await;
            assert!(!is_left || told.iter().any(|one| one.kind == TroubleKind::FileDamaged));
            let process = machine.host.start(&spec()).await.unwrap();
            process.stop(STOP).await;
        }
    }
}

#[tokio::test]
async fn a_record_that_was_damaged_says_nothing_against_its_build() {
    for harm in HARMS {
        let machine = Machine::new();
        let artifact = machine.artifact("run", RUN);
        machine.install(vec![artifact.clone()]).await.unwrap();
        harm.befall(&machine.build().with_extension("files"));
        fs::remove_dir_all(machine.folder.path().join("artifacts")).unwrap();
        machine.install(vec![artifact]).await.unwrap();
    }
}

#[tokio::test]
async fn a_build_is_mended_under_what_runs_from_it() {
    let bed = Bed::new().await;
    let build = bed.machine.build();
    fs::write(build.join("state"), "of the workload's own").unwrap();
    fs::write(build.join("run"), "#!").unwrap();
    bed.machine.install(vec![bed.artifact.clone()]).await.unwrap();
    assert_eq!(fs::read(build.join("run")).unwrap(), RUN);
    assert_eq!(fs::read(build.join("state")).unwrap(), b"of the workload's own");
    assert!(is_alive(bed.pid));
    assert!(bed.goes_on("mended").await);
}

#[tokio::test]
async fn a_damaged_build_that_cannot_be_mended_is_the_disks_doing() {
    let machine = Machine::new();
    let artifact = machine.artifact("run", RUN);
    machine.install(vec![artifact.clone()]).await.unwrap();
    fs::write(machine.build().join("run"), "#!").unwrap();
    fs::remove_dir_all(machine.folder.path().join("artifacts")).unwrap();
    let error = machine.install(vec![artifact.clone()]).await.unwrap_err();
    let InstallError::Failed { what, source } = &error else { unreachable!("{error}") };
    assert!(what.contains("was damaged (`run` has 2 bytes, not"), "{what}");
    assert!(source.to_string().contains("is not at its source"), "{source}");
    // Of one that is not there, its record says nothing.
    fs::remove_dir_all(machine.build()).unwrap();
    let error = machine.install(vec![artifact]).await.unwrap_err();
    assert!(matches!(error, InstallError::Missing { .. }), "{error}");
}

#[tokio::test]
async fn a_part_that_was_damaged_is_fetched_anew() {
    for harm in HARMS {
        let machine = Machine::new();
        let large = machine.artifact("run", &vec![7; 200_000]);
        let part = machine.root().join("incoming").join(format!("{}.part", large.digest));
        fs::create_dir_all(part.parent().unwrap()).unwrap();
        fs::write(&part, vec![7; 150_000]).unwrap();
        harm.befall(&part);
        machine.install(vec![large]).await.unwrap();
        assert_eq!(fs::read(machine.build().join("run")).unwrap(), vec![7; 200_000]);
        until("nothing is left", || (!part.exists()).then_some(())).await;
    }
}
