//! A fleet as a test sees it: the real program, a folder of its own, and no trace of it elsewhere.

use std::{
    error::Error,
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long anything may take: several times what the longest takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A place for one test: its temporary folders and its state are below it, and nothing of a user's own is touched.
#[derive(Debug)]
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Outcome<Self> {
        let place = Self(TempDir::new()?);
        fs::create_dir(place.temporary())?;
        Ok(place)
    }

    /// The folder of the fleet.
    pub(crate) fn dir(&self) -> PathBuf {
        self.0.path().join("fleet")
    }

    /// Where the program makes its temporary folders.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.0.path().join("tmp")
    }

    /// Where the program remembers which fleet was started last.
    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with these arguments, and no environment but what is needed.
    pub(crate) fn controller(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_controller"));
        command.args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("TMPDIR", self.temporary()).env("XDG_STATE_HOME", self.state());
        command.stdin(Stdio::null());
        command
    }

    /// The same, about this place's fleet.
    pub(crate) fn of_fleet(&self, arguments: &[&str]) -> Command {
        let mut command = self.controller(arguments);
        command.env("BELLWETHER_DIR", self.dir());
        command
    }

    /// Asks this place's fleet.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Outcome<Answered> {
        finished(self.of_fleet(arguments))
    }

    /// What the fleet answers, for programs.
    pub(crate) fn json(&self, arguments: &[&str]) -> Outcome<Value> {
        let mut all = vec!["--output", "json"];
        all.extend(arguments);
        let answered = self.ask(&all)?;
        if answered.status != Some(0) {
            return Err(format!("{arguments:?}: {answered:?}").into());
        }
        Ok(serde_json::from_str(&answered.stdout)?)
    }

    /// The processes that are about this place: what they were started with, or their environment, names it.
    pub(crate) fn processes(&self) -> Outcome<Vec<String>> {
        let mark = self.0.path().display().to_string();
        let mut found = Vec::new();
        for process in fs::read_dir("/proc")? {
            let process = process?.path();
            // One that ends while it is looked at is gone.
            let read = |file| fs::read(process.join(file)).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            let is_number = process
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit));
            if is_number && (line.contains(&mark) || environment.contains(&mark)) {
                found.push(format!("{}: {line}", process.display()));
            }
        }
        Ok(found)
    }

    /// Waits until no process is about this place.
    pub(crate) fn nothing_runs(&self) -> Outcome {
        eventually("no process is left", || {
            let left = self.processes()?;
            if left.is_empty() { Ok(Ok(())) } else { Ok(Err(format!("{left:?}"))) }
        })
    }

    /// Nothing that the program should have removed is there.
    pub(crate) fn nothing_is_left(&self) -> Outcome {
        self.nothing_runs()?;
        let temporary: Vec<_> = fs::read_dir(self.temporary())?.collect::<Result<_, _>>()?;
        if !temporary.is_empty() {
            return Err(format!("temporary folders are left: {temporary:?}").into());
        }
        let socket = self.dir().join("controller.sock");
        if socket.exists() { Err("a socket is left".into()) } else { Ok(()) }
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
    /// It ended with this status, and said each of these on stderr.
    pub(crate) fn failed(&self, status: i32, said: &[&str]) -> Outcome {
        let missing = said.iter().find(|text| !self.stderr.contains(**text));
        if self.status == Some(status) && missing.is_none() {
            return Ok(());
        }
        Err(format!("status {status} and {missing:?} are wanted, this is {self:?}").into())
    }

    /// It did what was asked.
    pub(crate) fn done(&self) -> Outcome {
        self.failed(0, &[])
    }
}

/// Runs a command to its end; one that has none is killed, and that is an error.
pub(crate) fn finished(mut command: Command) -> Outcome<Answered> {
    Started::new(&mut command)?.finished()
}

/// A command that was started.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Started {
    pub(crate) fn new(command: &mut Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdout = reading(child.stdout.take().ok_or("no stdout")?);
        let stderr = reading(child.stderr.take().ok_or("no stderr")?);
        Ok(Self { child, stdout, stderr })
    }

    pub(crate) fn finished(mut self) -> Outcome<Answered> {
        let ended = eventually("the command has ended", || {
            Ok(self.child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
        });
        if ended.is_err() {
            self.child.kill()?;
        }
        let text = |reading: JoinHandle<String>| reading.join().map_err(|_| "reading broke off");
        let (stdout, stderr) = (text(self.stdout)?, text(self.stderr)?);
        match ended {
            Ok(status) => Ok(Answered { status: status.code(), stdout, stderr }),
            Err(error) => Err(format!("{error}\n{stdout}\n{stderr}").into()),
        }
    }
}

fn reading(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before it broke is worth reading too.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A started `dev`. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Dev {
    child: Child,
    /// What it says on stderr, line by line.
    lines: Receiver<String>,
    /// What it has said so far.
    pub(crate) said: Vec<String>,
}

impl Dev {
    pub(crate) fn start(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        let (said, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines, said: Vec::new() })
    }

    /// Starts this place's fleet and waits until its story is told.
    pub(crate) fn serving(place: &Place) -> Outcome<Self> {
        let mut dev = Self::start(place.of_fleet(&["dev"]))?;
        dev.wait_for_line("serving until Ctrl-C")?;
        Ok(dev)
    }

    pub(crate) fn wait_for_line(&mut self, part: &str) -> Outcome {
        let deadline = now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(now());
            match self.next_line(left)? {
                Some(line) if line.contains(part) => return Ok(()),
                Some(_) => {}
                None => return Err(format!("`{part}` was never said: {:#?}", self.said).into()),
            }
        }
    }

    /// The next line that it says; none when it says nothing for so long. It is an error when it has said all.
    pub(crate) fn next_line(&mut self, within: Duration) -> Outcome<Option<String>> {
        match self.lines.recv_timeout(within) {
            Ok(line) => {
                self.said.push(line.clone());
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("it has ended: {:#?}", self.said).into())
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) -> Outcome {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or("no process")?, signal)?)
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(&mut self) -> Outcome<ExitStatus> {
        eventually("the program has ended", || {
            Ok(self.child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
        })
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It is gone already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

/// Writes a build's folder: its manifest and its files.
pub(crate) fn write_build(folder: &Path, manifest: &str, files: &[(&str, &str)]) -> Outcome {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("bellwether.toml"), manifest)?;
    for (name, content) in files {
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}
