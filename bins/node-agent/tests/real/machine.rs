//! A machine as a test sees it: a folder of its own, the real program on it, and a controller on its bus.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use inventory::{
    Artifact, Declaration, DeclarationNumber, DeclaredModule, Environment, Epoch, Manifest,
};
use names::{Digest, MachineName};
pub(crate) use program_test::{Answered, Outcome, Spoken, eventually, finished};
use rustix::process::Signal;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use wire::{DeclareReply, ResourceState, Statement};

use crate::bus::Controller;

pub(crate) const A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAA";
pub(crate) const B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAB";

/// A machine. What runs on it ends with its folder.
#[derive(Debug)]
pub(crate) struct Machine {
    place: TempDir,
    pub(crate) name: MachineName,
    /// Where the engine's folder is, if not in the machine's own.
    dir: PathBuf,
}

impl Machine {
    pub(crate) fn new() -> Outcome<Self> {
        let place = TempDir::new()?;
        fs::create_dir(place.path().join("artifacts"))?;
        let machine = Self { dir: place.path().join("dir"), place, name: "box-1".parse()? };
        machine.configure("")?;
        Ok(machine)
    }

    /// With this at the end of its config, in the table of workloads.
    pub(crate) fn configure(&self, more: &str) -> Outcome {
        let at = |name| self.join(name).display().to_string();
        let config = format!(
            "machine = \"{}\"\ndir = \"{}\"\nbus = \"{}\"\nartifacts = \"{}\"\n[workloads]\nusers = \"all\"\n{more}\n",
            self.name,
            self.dir().display(),
            at("bus.sock"),
            at("artifacts"),
        );
        Ok(fs::write(self.config(), config)?)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.join("agent.toml")
    }

    pub(crate) fn controller(&self) -> Outcome<Controller> {
        Controller::at(&self.join("bus.sock"), &self.name)
    }

    /// The program with these arguments about this machine, and no environment but what is needed.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_node-agent"));
        command.arg("--config").arg(self.config()).args(arguments);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
        command
    }

    pub(crate) fn ask(&self, arguments: &[&str]) -> Outcome<Answered> {
        finished(self.program(arguments))
    }

    pub(crate) fn engine(&self) -> Outcome<Engine> {
        self.engine_with(&[])
    }

    /// An engine that states often, and whose workloads do not outlive the test for long.
    pub(crate) fn engine_with(&self, flags: &[&str]) -> Outcome<Engine> {
        let mut arguments = vec!["run", "--statement-every", "200ms", "--orphan-after", "120s"];
        arguments.extend(flags);
        Spoken::on_stderr(self.program(&arguments))
    }

    /// A build of `blog` whose only program is this shell script, checked ten times a second.
    pub(crate) fn build(&self, id: &str, script: &str) -> Outcome<DeclaredModule> {
        let manifest = "[module]\nname = \"blog\"\nobserve = \"100ms\"\n[[resource]]\nname = \"web\"\ncommand = [\"./run\"]\n\
                        health = { alive = \"100ms\", every = \"100ms\", passes = 1 }\n\
                        restart = { limit = 2, within = \"1m\", backoff = \"50ms..100ms\" }\n";
        self.build_of(id, manifest, script)
    }

    pub(crate) fn build_of(
        &self,
        id: &str,
        manifest: &str,
        script: &str,
    ) -> Outcome<DeclaredModule> {
        let content = format!("#!/bin/sh\n{script}\n");
        let digest = Digest::from_bytes(Sha256::digest(content.as_bytes()).into());
        fs::write(self.join("artifacts").join(digest.as_str()), &content)?;
        let run = Artifact { name: "run".parse()?, size: content.len() as u64, digest };
        Ok(DeclaredModule {
            account: Default::default(),
            build: id.parse()?,
            commit: "abc".parse()?,
            manifest: Manifest::from_toml(manifest)?,
            artifacts: vec![run],
            instances: BTreeMap::from([("blog-1".parse()?, Environment::new())]),
        })
    }

    pub(crate) fn declaration(&self, number: u64, blog: DeclaredModule) -> Outcome<Declaration> {
        Ok(Declaration {
            machine: self.name.clone(),
            number: DeclarationNumber(number),
            epoch: Epoch(1),
            composed_at: None,
            modules: BTreeMap::from([("blog".parse()?, blog)]),
            withdrawn: BTreeSet::new(),
        })
    }

    /// Declares build A, whose process sleeps, and waits until it is healthy.
    pub(crate) fn runs_a(&self, controller: &Controller) -> Outcome<u32> {
        let a = self.declaration(1, self.build(A, "echo begun; exec sleep 1000")?)?;
        let reply = controller.declare(&a)?;
        if reply != DeclareReply::Taken {
            return Err(format!("{reply:?}").into());
        }
        // Before it has passed, an engine that dies condemns it.
        controller.until_reported("A is applied", |report| {
            let applied = |one: &wire::ModuleReport| one.outcome == wire::ModuleOutcome::Applied;
            report.modules.values().all(applied).then_some(())
        })?;
        controller.until_stated("A is healthy", |statement| healthy(statement, A))
    }
}

/// The process of the only resource, if it is healthy and of this build.
pub(crate) fn healthy(statement: &Statement, build: &str) -> Option<u32> {
    let [row] = &statement.resources[..] else { return None };
    let is_so = row.state == ResourceState::Healthy && row.build.as_str() == build;
    row.process.as_ref().filter(|_| is_so).map(|process| process.pid)
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// A running engine. Dropped, it is killed, and what it runs goes on until its folder is gone.
pub(crate) type Engine = Spoken;

/// A machine with an engine that runs build A.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) machine: Machine,
    pub(crate) controller: Controller,
    pub(crate) engine: Engine,
    /// The process of build A.
    pub(crate) pid: u32,
}

impl Bed {
    pub(crate) fn new() -> Outcome<Self> {
        Self::of(Machine::new()?)
    }

    pub(crate) fn of(machine: Machine) -> Outcome<Self> {
        let controller = machine.controller()?;
        let engine = machine.engine()?;
        let pid = machine.runs_a(&controller)?;
        Ok(Self { machine, controller, engine, pid })
    }

    /// Asks the engine to end, and waits until it has, well.
    pub(crate) fn stop(&mut self) -> Outcome {
        self.engine.signal(Signal::TERM)?;
        match self.engine.ended()?.code() {
            Some(0) => Ok(()),
            other => Err(format!("it ended with {other:?}: {:#?}", self.engine.said).into()),
        }
    }

    /// Starts another engine, and waits until it says that what runs goes on.
    pub(crate) fn start(&mut self) -> Outcome {
        self.engine = self.machine.engine()?;
        let found = format!("1 process was found and goes on: blog-1/web (process {})", self.pid);
        self.engine.wait_for_line(&found)
    }

    /// Waits until a new statement says that build A is healthy, as the process that it was.
    pub(crate) fn a_goes_on(&self) -> Outcome {
        let pid = self.controller.until_stated("A is healthy", |stated| healthy(stated, A))?;
        if pid == self.pid && is_alive(pid) {
            return Ok(());
        }
        Err(format!("A runs as {pid}, and was {}", self.pid).into())
    }
}
