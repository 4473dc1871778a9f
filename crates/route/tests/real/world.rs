//! A router as a test sees it: a process of its own, programs behind it, and this test as its engine.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use route::{RouterClient, Start, Table, To};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{sleep, timeout};

/// How long anything may take: several times what the longest takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for what comes soon.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("never came: {what}"),
    }
}

/// Looks again and again until it is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut look: impl FnMut() -> F) {
    soon(what, async {
        while !look().await {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// The program of this crate's tests.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/process");
    assert!(program.exists(), "{} is built with all tests of this crate", program.display());
    program
}

/// A process, killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn of(arguments: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(arguments);
        Self::start(command)
    }

    pub(crate) async fn line(&mut self) -> String {
        soon("a line", self.lines.next_line()).await.unwrap().unwrap_or_default()
    }

    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// A program that answers each line with its name.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) async fn start(name: &str) -> Self {
        Self::at(name, "127.0.0.1:0").await
    }

    pub(crate) async fn at(name: &str, address: &str) -> Self {
        let mut process = Process::of(&["server", name, address]);
        let address = process.line().await.parse().unwrap();
        Self { process, address }
    }

    pub(crate) async fn kill(self) {
        self.process.kill().await;
    }
}

/// A folder with a router, which ends with it.
pub(crate) struct Bed {
    pub(crate) folder: TempDir,
    pub(crate) engine: RouterClient,
    /// Where it listens, once it is told to.
    pub(crate) at: SocketAddr,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let engine = soon("a router", route::start(starts(&folder, "1"))).await.unwrap();
        Self { folder, engine, at: free("127.0.0.1") }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("route.sock")
    }

    pub(crate) fn starts(&self, version: &str) -> Start {
        starts(&self.folder, version)
    }

    /// Starts another router, which takes over.
    pub(crate) async fn upgrade(&mut self, version: &str) {
        self.engine = soon("an upgrade", route::start(self.starts(version))).await.unwrap();
        assert_eq!(self.engine.about().version, version);
    }

    /// Has the address of this bed as `to`, and nothing else.
    pub(crate) async fn set(&self, to: To) {
        self.set_all([(self.at, to)]).await;
    }

    pub(crate) async fn set_all(&self, entries: impl IntoIterator<Item = (SocketAddr, To)>) {
        let table = Table(entries.into_iter().collect());
        let faults = soon("a table", self.engine.set(&table)).await.unwrap();
        assert_eq!(faults, BTreeMap::new());
    }

    pub(crate) async fn queued(&self) -> u64 {
        self.engine.counts().await.unwrap().0.get(&self.at).map_or(0, |counts| counts.queued)
    }

    pub(crate) async fn open(&self, backend: SocketAddr) -> u64 {
        self.engine.counts().await.unwrap().open_to(backend)
    }

    /// Waits until so many wait.
    pub(crate) async fn until_queued(&self, count: u64) {
        until("so many wait", async || self.queued().await == count).await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        signal_process(self.engine.about().pid, signal);
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if rustix::process::test_kill_process(pid(self.engine.about().pid)).is_ok() {
            self.signal(Signal::KILL);
        }
    }
}

fn starts(folder: &TempDir, version: &str) -> Start {
    let socket = folder.path().join("route.sock");
    let words = ["router", socket.to_str().unwrap(), version].map(Into::into);
    let command = [program().into_os_string()].into_iter().chain(words).collect();
    Start { command, socket, lines: Stdio::inherit() }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.try_into().unwrap()).unwrap()
}

pub(crate) fn signal_process(number: u32, signal: Signal) {
    kill_process(pid(number), signal).unwrap();
}

/// An address on which nobody listens now.
pub(crate) fn free(ip: &str) -> SocketAddr {
    std::net::TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap()
}

pub(crate) fn forward(to: &[SocketAddr]) -> To {
    To::Forward { to: to.to_vec() }
}

/// Says a line on a new connection, and hears the answer.
pub(crate) async fn ask(at: SocketAddr, line: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    hear_line(&mut stream).await
}

/// The next line, read byte by byte so that nothing after it is.
pub(crate) async fn hear_line(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if byte == *b"\n" {
            return Ok(String::from_utf8(line).unwrap());
        }
        line.push(byte[0]);
    }
}
