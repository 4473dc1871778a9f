//! Whole agents on this machine, with real processes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inventory::{Artifact, DeclaredModule};
use machine_os::{Bounds, OsConfig, OsHost};
use names::Digest;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use wire::{DeclareReply, ModuleOutcome, ResourceState};

use crate::controller::{Controller, Running};
use crate::declared::{A, B, blog, build, declaration, manifest};

/// Checked ten times a second, restarted after a twentieth, given up after two restarts.
pub(crate) const QUICK: &str = r#"
    command = ["./run"]
    health = { alive = "100ms", every = "100ms", timeout = "1s", passes = 1 }
    restart = { limit = 2, within = "1m", backoff = "50ms..100ms" }
    stop = { signal = "TERM", grace = "20s" }
"#;

/// This machine, with an agent on it.
pub(crate) struct Bed {
    pub(crate) controller: Controller,
    pub(crate) agent: Running,
    pub(crate) folder: TempDir,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().join("host");
        Self::over(folder, &root).await
    }

    /// The host's folder may lie on another disk.
    pub(crate) async fn over(folder: TempDir, root: &Path) -> Self {
        fs::create_dir_all(folder.path().join("artifacts")).unwrap();
        let host = OsHost::open(OsConfig {
            root: root.to_owned(),
            artifacts: folder.path().join("artifacts"),
            shim: vec![engine().into(), "shim".into()],
            path: None,
            bounds: Bounds::open(),
            // With its folder, whatever a test left running ends.
            router: None,
            orphan_after: Some(Duration::from_secs(60)),
        });
        let controller = Controller::new().await;
        let agent = controller.start(&host.unwrap(), 1);
        Self { controller, agent, folder }
    }

    pub(crate) fn artifact(&self, name: &str, content: &[u8]) -> Artifact {
        artifact(self.folder.path(), name, content)
    }

    /// A build whose only program is a shell script.
    pub(crate) fn build(&self, id: &str, resource: &str, script: &str) -> DeclaredModule {
        let run = self.artifact("run", format!("#!/bin/sh\n{script}\n").as_bytes());
        blog(id, manifest(resource), vec![run])
    }

    /// Declares build A, whose process prints its number and sleeps, and waits until it is healthy.
    pub(crate) async fn runs_a(&mut self) -> u32 {
        let a = self.build(A, QUICK, "exec sleep 1000");
        assert_eq!(self.controller.declare(declaration(1, Some(a))).await, DeclareReply::Taken);
        let applied = |_, outcome: &ModuleOutcome| *outcome == ModuleOutcome::Applied;
        self.controller.until_report("A is applied", applied).await;
        let healthy = |row: &wire::ResourceStatement| row.state == ResourceState::Healthy;
        self.controller.until_row("A is healthy", healthy).await.process.unwrap().pid
    }
}

/// The example `engine`, which is built with the tests and lies beside them.
fn engine() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let engine = test.parent().unwrap().parent().unwrap().join("examples/engine");
    assert!(engine.is_file(), "build it with `cargo build --example engine`");
    engine
}

fn artifact(folder: &Path, name: &str, content: &[u8]) -> Artifact {
    let digest = Digest::from_bytes(Sha256::digest(content).into());
    fs::write(folder.join("artifacts").join(digest.as_str()), content).unwrap();
    Artifact { name: name.parse().unwrap(), size: content.len() as u64, digest }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

/// The numbers in a file, once there are as many as wanted.
async fn numbers(path: &Path, count: usize) -> Vec<u32> {
    for _ in 0..1_000 {
        let text = fs::read_to_string(path).unwrap_or_default();
        let numbers: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if numbers.len() >= count {
            return numbers;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("{} never held {count} numbers", path.display())
}

#[tokio::test]
async fn a_crash_loop_is_reported_with_exit_status_and_last_lines_and_the_old_build_serves_on() {
    let mut bed = Bed::new().await;
    let a = bed.runs_a().await;
    let b = bed.build(B, QUICK, "echo opening the till; echo no till >&2; exit 3");
    bed.controller.declare(declaration(2, Some(b))).await;
    let words = "it ended with exit status 3; its last lines:\nopening the till\nno till";
    let words = format!("resource `web`: given up after 2 restarts within 1m of health: {words}");
    bed.controller
        .until_report("failed", |number, outcome| {
            number == 2 && matches!(outcome, ModuleOutcome::Failed { why, .. } if *why == words)
        })
        .await;
    let row = bed.controller.until_row("A serves", |_| true).await;
    assert_eq!((row.build, row.process.unwrap().pid), (build(A), a));
    assert_eq!(row.state, ResourceState::Healthy, "it never stopped");
}

#[tokio::test]
async fn a_move_leaves_nothing_of_the_old_tree_and_frees_its_port() {
    let mut bed = Bed::new().await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let listen = format!("{QUICK}\nlisten = \"{free}\"\ndirect = true");
    // A wrapper with a child that leaves group and session, and says who they are.
    let pids = bed.folder.path().join("pids");
    let script = format!("setsid sleep 1000 & echo $! > {0}; echo $$ >> {0}; wait", pids.display());
    let a = bed.build(A, &listen, &script);
    bed.controller.declare(declaration(1, Some(a))).await;
    bed.controller.until_row("A is healthy", |row| row.state == ResourceState::Healthy).await;
    let old = numbers(&pids, 2).await;
    assert!(old.iter().all(|pid| is_alive(*pid)));
    let b = bed.build(B, &listen, "exec sleep 1000");
    bed.controller.declare(declaration(2, Some(b))).await;
    let row = bed
        .controller
        .until_row("B runs", |row| row.build == build(B) && row.process.is_some())
        .await;
    assert!(!old.iter().any(|pid| is_alive(*pid)), "all of A is gone before B starts");
    assert_eq!(row.address, Some(free));
    bed.controller.declare(declaration(3, None)).await;
    bed.controller.until_report("withdrawn", |number, _| number == 3).await;
    assert!(!is_alive(row.process.unwrap().pid));
}

#[tokio::test]
async fn old_process_cannot_answer_for_the_new() {
    let mut bed = Bed::new().await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let resource = format!(
        r#"
        command = ["./run"]
        listen = "{free}"
        direct = true
        health = {{ http = "/", every = "50ms", timeout = "1s", passes = 1, start_up = "1h" }}
        "#
    );
    let b = bed.build(B, &resource, "exec sleep 1000");
    bed.controller.declare(declaration(1, Some(b))).await;
    bed.controller.until_row("it runs", |row| row.process.is_some()).await;
    // Whoever answers on its address now is somebody else, and says all that a check wants to hear.
    let stranger = TcpListener::bind(free).unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = stranger.accept() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    let why = format!("its check fails: another process listens on its port ({free})");
    bed.controller
        .until_row("told", |row| {
            assert_ne!(row.state, ResourceState::Healthy);
            row.why.as_deref() == Some(&why)
        })
        .await;
}

/// An engine of its own process, in the folder of a test, until it has stated the process of `blog` healthy.
struct Engine {
    child: Child,
    /// Which process it stated.
    pid: u32,
}

impl Engine {
    fn start(folder: &Path, declaration: &Path) -> Self {
        let run = [Path::new("run"), folder, declaration];
        let mut child = Command::new(engine()).args(run).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stated = lines.map_while(Result::ok);
        let healthy = stated.find_map(|line| line.strip_prefix("healthy ")?.parse().ok());
        // Its other words are read as well: an engine that cannot say them would end.
        std::thread::spawn(move || stated.for_each(drop));
        Self { child, pid: healthy.unwrap() }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.kill();
    }
}

#[tokio::test]
async fn an_engine_killed_by_kill_9_is_unnoticed_and_the_next_one_goes_on() {
    let folder = TempDir::new().unwrap();
    fs::create_dir_all(folder.path().join("artifacts")).unwrap();
    let pids = folder.path().join("pids");
    let script = format!(
        "#!/bin/sh\ntrap '' HUP\nsetsid sleep 1000 & echo $! >> {0}; echo $$ >> {0}; wait\n",
        pids.display()
    );
    let run = artifact(folder.path(), "run", script.as_bytes());
    let file = folder.path().join("declaration.json");
    let declare = |number, blog| {
        fs::write(&file, serde_json::to_vec(&declaration(number, blog)).unwrap()).unwrap();
    };
    declare(1, Some(blog(A, manifest(QUICK), vec![run])));
    let mut engine = Engine::start(folder.path(), &file);
    let all = numbers(&pids, 2).await;
    assert_eq!(engine.pid, all[1]);
    for _ in 0..3 {
        engine.kill();
        engine = Engine::start(folder.path(), &file);
        assert_eq!(engine.pid, all[1]);
    }
    assert_eq!(numbers(&pids, 2).await, all, "exactly one copy was ever started");
    assert!(all.iter().all(|pid| is_alive(*pid)));
    // An engine that finds something else declared moves the whole tree.
    engine.kill();
    let other = artifact(folder.path(), "run", b"#!/bin/sh\nexec sleep 1000\n");
    declare(2, Some(blog(B, manifest(QUICK), vec![other])));
    let mut engine = Engine::start(folder.path(), &file);
    if engine.pid == all[1] {
        // The old one is healthy too until the new one may start; nobody else is stated after that.
        engine.kill();
        engine = Engine::start(folder.path(), &file);
    }
    for _ in 0..1_000 {
        if !all.iter().any(|pid| is_alive(*pid)) {
            engine.kill();
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("{all:?} were not stopped")
}

#[tokio::test]
async fn an_agent_that_ends_stops_everything_and_returns() {
    let mut bed = Bed::new().await;
    let pid = bed.runs_a().await;
    bed.agent.stop().await.unwrap();
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_process_killed_from_outside_is_started_again() {
    let mut bed = Bed::new().await;
    let pid = bed.runs_a().await;
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    let row = bed
        .controller
        .until_row("it is back", |row| row.state == ResourceState::Healthy && row.restarts == 1)
        .await;
    assert_ne!(row.process.unwrap().pid, pid);
}
