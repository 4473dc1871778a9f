//! A machine in a temporary folder, for the tests of real processes and real disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Adopted, Bundle, Host, InstallError, Notify, Process, ProcessSpec};
use inventory::{Artifact, Signal, Span, Stop};
use machine_os::{Bounds, OsConfig, OsHost, OsProcess};
use names::Digest;
use rustix::process::{Pid, kill_process};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

pub(crate) const STOP: Stop = Stop { signal: Signal::Term, grace: Span::seconds(20) };

pub(crate) const BUILD: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// A machine and the folder that its artifacts come from.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) folder: TempDir,
    pub(crate) host: OsHost,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let host = open(folder.path(), &folder.path().join("root"));
        Self { folder, host }
    }

    /// What another engine on this machine finds.
    pub(crate) async fn adopt(&self) -> Vec<Adopted<OsProcess>> {
        open(self.folder.path(), &self.root()).adopt().await.unwrap()
    }

    /// The folder of the only shim.
    pub(crate) fn shim_folder(&self) -> PathBuf {
        let mut folders = fs::read_dir(self.root().join("shims")).unwrap();
        let folder = folders.next().unwrap().unwrap().path();
        assert!(folders.next().is_none(), "there is one");
        folder
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Where a build lies when it is installed.
    pub(crate) fn build(&self) -> PathBuf {
        self.root().join("builds/blog").join(BUILD)
    }

    pub(crate) fn artifact(&self, name: &str, content: &[u8]) -> Artifact {
        artifact(self.folder.path(), name, content)
    }

    pub(crate) async fn install(&self, artifacts: Vec<Artifact>) -> Result<(), InstallError> {
        self.host.install(&bundle(artifacts)).await
    }

    /// Starts a shell script as the build's only program.
    pub(crate) async fn run(&self, script: &str) -> OsProcess {
        self.run_as(script, spec()).await
    }

    pub(crate) async fn run_as(&self, script: &str, spec: ProcessSpec) -> OsProcess {
        let run = self.artifact("run", format!("#!/bin/sh\n{script}\n").as_bytes());
        self.install(vec![run]).await.unwrap();
        self.host.start(&spec).await.unwrap()
    }
}

pub(crate) fn open(folder: &Path, root: &Path) -> OsHost {
    open_within(Bounds::open(), folder, root)
}

pub(crate) fn open_within(bounds: Bounds, folder: &Path, root: &Path) -> OsHost {
    let artifacts = folder.join("artifacts");
    fs::create_dir_all(&artifacts).unwrap();
    let shim = vec![program().into(), "shim".into()];
    // With its folder, whatever a test left running ends.
    let orphan_after = Some(Duration::from_secs(60));
    let root = root.to_owned();
    OsHost::open(OsConfig { root, artifacts, shim, path: None, bounds, orphan_after }).unwrap()
}

/// The example `machine`, which is built with the tests and lies beside them.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/machine");
    assert!(program.is_file(), "build it with `cargo build --example machine`");
    program
}

pub(crate) fn artifact(folder: &Path, name: &str, content: &[u8]) -> Artifact {
    let digest = Digest::from_bytes(Sha256::digest(content).into());
    fs::write(folder.join("artifacts").join(digest.as_str()), content).unwrap();
    Artifact { name: name.parse().unwrap(), size: content.len() as u64, digest }
}

pub(crate) fn bundle(artifacts: Vec<Artifact>) -> Bundle {
    Bundle { module: "blog".parse().unwrap(), build: BUILD.parse().unwrap(), artifacts }
}

pub(crate) fn spec() -> ProcessSpec {
    ProcessSpec {
        module: "blog".parse().unwrap(),
        instance: "blog-1".parse().unwrap(),
        resource: "web".parse().unwrap(),
        build: BUILD.parse().unwrap(),
        execution: "a1-1".parse().unwrap(),
        command: vec!["./run".to_owned()],
        environment: Default::default(),
        listen: None,
        user: None,
        limits: Default::default(),
        notify: Notify::Unheard,
        keepsake: "web of blog".to_owned(),
    }
}

/// What a host's file looks like that has this in it.
pub(crate) fn seal(content: &str) -> String {
    format!("{content}\n{}\n", Digest::from_bytes(Sha256::digest(content).into()))
}

/// Waits for a fact, at most ten seconds: a deadline for what never becomes true, not a time that anything takes.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("this never became true: {what}")
}

/// Whether a process with this number is there, zombies apart.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

/// The numbers that a script wrote, one a line, once there are as many as wanted.
pub(crate) async fn pids(process: &OsProcess, count: usize) -> Vec<u32> {
    for _ in 0..1_000 {
        let lines = process.last_lines().await;
        if lines.len() >= count {
            return lines.iter().map(|line| line.trim().parse().unwrap()).collect();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("the script did not say {count} numbers")
}

/// The shim of a process: whose child it is.
pub(crate) fn shim_of(process: &OsProcess) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.identity().pid)).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), rustix::process::Signal::KILL).unwrap();
}

/// Waits until none of these processes is there.
pub(crate) async fn until_gone(pids: &[u32]) {
    until("all are gone", || (!pids.iter().any(|pid| is_alive(*pid))).then_some(())).await;
}
