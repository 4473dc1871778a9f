//! Processes of their own: `examples/peer.rs`, started, killed, stopped, and run as somebody else.

use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::served::PATIENCE;

/// The program.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/peer");
    assert!(program.exists(), "{} is built with all tests of this crate", program.display());
    program
}

/// A process, killed when it is dropped.
pub(crate) struct Peer {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// One that has said that it is ready.
    pub(crate) async fn ready(arguments: &[&str]) -> Self {
        let mut command = Command::new(program());
        command.args(arguments);
        let mut peer = Self::start(command);
        assert_eq!(peer.line().await.as_deref(), Some("ready"));
        peer
    }

    /// The next line that it says; none when it has said all.
    pub(crate) async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.lines.next_line()).await.unwrap().unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// As `kill -9` does.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}
