//! A fleet as a test sees it: the real program, a folder of its own, and no trace of it elsewhere.

use std::{
    fs,
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(crate) use program_test::{Answered, Outcome, PATIENCE, Spoken, Started, eventually, finished};
use serde_json::Value;
use tempfile::TempDir;

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

/// A started `dev`. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Dev(Spoken);

impl Dev {
    pub(crate) fn start(command: Command) -> Outcome<Self> {
        Ok(Self(Spoken::on_stderr(command)?))
    }

    /// Starts this place's fleet and waits until its story is told.
    pub(crate) fn serving(place: &Place) -> Outcome<Self> {
        let mut dev = Self::start(place.of_fleet(&["dev"]))?;
        dev.wait_for_line("serving until Ctrl-C")?;
        Ok(dev)
    }
}

impl Deref for Dev {
    type Target = Spoken;

    fn deref(&self) -> &Spoken {
        &self.0
    }
}

impl DerefMut for Dev {
    fn deref_mut(&mut self) -> &mut Spoken {
        &mut self.0
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
