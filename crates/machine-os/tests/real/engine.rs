//! An engine in a process of its own, which can be killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::machine::{Machine, program};

/// One that holds one workload of a machine; killed with the value.
pub(crate) struct Engine {
    child: Child,
}

impl Engine {
    /// Starts it on the machine's own folder, and says which process it holds.
    pub(crate) fn start(machine: &Machine, script: &str) -> (Self, u32) {
        Self::start_by(machine, script, "exec \"$@\"")
    }

    /// One that a shell starts, which may have something in store for it first.
    pub(crate) fn start_by(machine: &Machine, script: &str, shell: &str) -> (Self, u32) {
        let mut command = Command::new("sh");
        command.args(["-c", shell, "sh"]).arg(program());
        let mut engine = Self::spawn(command, machine, script);
        let pid = engine.pids().next().unwrap();
        (engine, pid)
    }

    /// One that may be killed before it holds anything.
    pub(crate) fn launch(machine: &Machine, script: &str) -> Self {
        Self::spawn(Command::new(program()), machine, script)
    }

    fn spawn(mut command: Command, machine: &Machine, script: &str) -> Self {
        let script = machine.artifact("run", format!("#!/bin/sh\n{script}\n").as_bytes());
        command
            .arg("engine")
            .args([machine.root(), machine.folder.path().join("artifacts")])
            .arg(script.digest.as_str())
            .stdout(Stdio::piped());
        Self { child: command.spawn().unwrap() }
    }

    /// The processes that it holds, one after another. It ends with the engine.
    pub(crate) fn pids(&mut self) -> impl Iterator<Item = u32> {
        let lines = BufReader::with_capacity(1, self.child.stdout.as_mut().unwrap()).lines();
        lines.map_while(Result::ok).filter_map(|line| line.parse().ok())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
