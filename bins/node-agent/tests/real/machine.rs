//! A machine as a test sees it: a folder of its own, the real program on it, and a controller on its bus.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use inventory::{
    Artifact, Declaration, DeclarationNumber, DeclaredModule, Environment, Epoch, Manifest,
};
use names::{Digest, MachineName};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use wire::{DeclareReply, ResourceState, Statement};

use crate::bus::Controller;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long anything may take: several times what the longest takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAA";

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
        finished(&mut self.program(arguments))
    }

    pub(crate) fn engine(&self) -> Outcome<Engine> {
        self.engine_with(&[])
    }

    /// An engine that states often, and whose workloads do not outlive the test for long.
    pub(crate) fn engine_with(&self, flags: &[&str]) -> Outcome<Engine> {
        let mut arguments = vec!["run", "--statement-every", "200ms", "--orphan-after", "120s"];
        arguments.extend(flags);
        Engine::start(&mut self.program(&arguments))
    }

    /// A build of `blog` whose only program is this shell script, checked ten times a second.
    pub(crate) fn build(&self, id: &str, script: &str) -> Outcome<DeclaredModule> {
        let manifest = "[module]\nname = \"blog\"\n[[resource]]\nname = \"web\"\ncommand = [\"./run\"]\n\
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
#[derive(Debug)]
pub(crate) struct Engine {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Engine {
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&said);
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Ok(Self { child, said })
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn until_said(&self, part: &str) -> Outcome {
        eventually(&format!("`{part}` is said"), || {
            let said = self.said();
            let is_said = said.iter().any(|line| line.contains(part));
            Ok(if is_said { Ok(()) } else { Err(format!("{said:#?}")) })
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Outcome {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or("no process")?, signal)?)
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(&mut self) -> Outcome<ExitStatus> {
        eventually("the engine has ended", || {
            Ok(self.child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
        })
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Outcome<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.ended()
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    pub(crate) fn kill(mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It is gone already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answered {
    /// It ended with this status, and said each of these, anywhere.
    pub(crate) fn is(&self, status: i32, said: &[&str]) -> Outcome {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        let missing = said.iter().find(|text| !all.contains(**text));
        if self.status == Some(status) && missing.is_none() {
            return Ok(());
        }
        Err(format!("status {status} and {missing:?} are wanted, this is {self:#?}").into())
    }
}

/// Runs a command to its end; one that has none is killed, and that is an error.
pub(crate) fn finished(command: &mut Command) -> Outcome<Answered> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = reading(child.stdout.take().ok_or("no stdout")?);
    let stderr = reading(child.stderr.take().ok_or("no stderr")?);
    let ended = eventually("the command has ended", || {
        Ok(child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
    });
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    let text = |reading: JoinHandle<String>| reading.join().map_err(|_| "reading broke off");
    let (stdout, stderr) = (text(stdout)?, text(stderr)?);
    Ok(Answered { status: ended?.code(), stdout, stderr })
}

fn reading(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before it broke is worth reading too.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[expect(clippy::disallowed_methods, reason = "a test's deadline is real time")]
fn now() -> Instant {
    Instant::now()
}

/// Looks again and again until it is so; says what it saw last when it never is.
pub(crate) fn eventually<T>(
    what: &str,
    mut look: impl FnMut() -> Outcome<Result<T, String>>,
) -> Outcome<T> {
    let deadline = now() + PATIENCE;
    loop {
        let seen = match look()? {
            Ok(value) => return Ok(value),
            Err(seen) => seen,
        };
        if now() > deadline {
            return Err(format!("never came true: {what}; the last that was seen: {seen}").into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}
