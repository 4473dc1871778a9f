//! A machine in a temporary folder, for the tests of real processes and real disks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::{Adopted, Bundle, Host, InstallError, Notify, Process, ProcessSpec};
use inventory::{Artifact, Listen, Signal, Span, Stop};
use machine_os::{Bounds, OsConfig, OsHost, OsProcess};
use names::Digest;
use rustix::process::{Pid, kill_process};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

pub(crate) const STOP: Stop =
    Stop { signal: Signal::Term, grace: Span::seconds(20), drain: Span::ZERO };

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
    OsHost::open(OsConfig { root, artifacts, shim, path: None, bounds, router: None, orphan_after })
        .unwrap()
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
        listen: Listen::Private,
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

/// How long a fact is waited for: a deadline for what never becomes true, not a time that anything takes.
const DEADLINE: Duration = Duration::from_secs(40);

/// Waits for a fact.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        if let Some(found) = look() {
            return found;
        }
        sleep(Duration::from_millis(10)).await;
    }
    unreachable!("this never became true: {what}")
}

/// Waits for a fact that is asked for.
pub(crate) async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        if is_so().await {
            return;
        }
        sleep(Duration::from_millis(10)).await;
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
    let said = async || process.last_lines().await.len() >= count;
    eventually("the script said its numbers", said).await;
    let lines = process.last_lines().await;
    lines.iter().map(|line| line.trim().parse().unwrap()).collect()
}

/// The shim of a process: whose child it is.
pub(crate) fn shim_of(process: &OsProcess) -> u32 {
    stat_parent(process.identity().pid)
}

pub(crate) fn stat_parent(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Where a process was told to listen.
pub(crate) async fn port_of(pid: u32) -> u16 {
    // While it executes another program its environment is not to be seen.
    let port = || {
        let environment = fs::read_to_string(format!("/proc/{pid}/environ")).ok()?;
        environment.split('\0').find_map(|one| one.strip_prefix("PORT="))?.parse().ok()
    };
    until("it knows where to listen", port).await
}

/// Says that there is something that cannot be shown here.
pub(crate) fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {what}");
}

pub(crate) fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), rustix::process::Signal::KILL).unwrap();
}

/// Waits until none of these processes is there.
pub(crate) async fn until_gone(pids: &[u32]) {
    until("all are gone", || (!pids.iter().any(|pid| is_alive(*pid))).then_some(())).await;
}

/// The processes whose place is below a folder.
pub(crate) fn count_in(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let places = processes.filter_map(|one| fs::read_link(one.path().join("cwd")).ok());
    places.filter(|place| place.starts_with(folder)).count()
}

/// What a process takes of memory.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) resident_kib: u64,
    /// What is its alone and was written.
    pub(crate) own_kib: u64,
}

pub(crate) fn memory_of(pid: u32) -> Memory {
    let memory = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let kib = |key: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
    };
    Memory { resident_kib: kib("Rss:"), own_kib: kib("Anonymous:") }
}
