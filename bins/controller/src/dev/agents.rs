//! The agents of a fleet's machines: each a process of its own, and started again when it ends by itself.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use names::MachineName;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{home::Home, keys::FleetKeys};
use crate::{
    NODE_AGENT,
    failure::Failure,
    folder::Folder,
    output::Output,
    paint::{Tone, harmless},
};

/// How often a machine says how it stands when nothing changes. A gate's pass wants a newer word than the pass before, so
/// this is what a quick gate waits for.
const STATEMENT_EVERY: &str = "500ms";

/// How long workloads go on without their fleet: long enough to start a kept one again, which takes them over, and too short
/// to be a nuisance. With a temporary fleet's folder they end at once.
const ORPHAN_AFTER: &str = "60s";

/// How often in a row an agent may end by itself before there is no use in starting it again.
const FALLS_MAX: u32 = 5;

/// One that has run for so long has come up, and what was before it is forgiven.
const CAME_UP_AFTER: Duration = Duration::from_secs(10);

/// The pause before an agent is started again: this, doubled with each time in a row.
const PAUSE: Duration = Duration::from_millis(200);

/// So much of the end of an agent's log is told when it does not stay up.
const LAST_WORDS_BYTES: u64 = 2_000;

/// A log that is longer than this when a fleet starts is put aside, in place of the one before.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// The running agents. Dropped, they end as if they had been killed: each ends when nobody holds the other end of its
/// standard input.
#[derive(Debug)]
pub(super) struct Agents {
    looked_after: JoinSet<Result<(), Failure>>,
    stop: watch::Sender<bool>,
}

impl Agents {
    /// Starts the agent of each machine.
    pub(super) fn start(home: &Home, output: Output) -> Result<Self, Failure> {
        let (stop, stopped) = watch::channel(false);
        let mut looked_after = JoinSet::new();
        for machine in &home.machines {
            let agent = Agent::prepare(home, machine).map_err(|error| {
                Failure::because(format!("the folder of {machine} cannot be made ready"), &error)
            })?;
            looked_after.spawn(agent.look_after(stopped.clone(), output));
        }
        Ok(Self { looked_after, stop })
    }

    /// Waits until an agent does not stay up, and says why.
    pub(super) async fn broken(&mut self) -> Failure {
        while let Some(ended) = self.looked_after.join_next().await {
            match ended {
                Ok(Err(failure)) => return failure,
                Err(error) => return Failure::because("an agent is not looked after", &error),
                Ok(Ok(())) => {}
            }
        }
        std::future::pending().await
    }

    /// Asks them to end with all that they run, and waits until they have.
    pub(super) async fn stop(mut self) {
        // Where nobody looks after an agent, none is left to be stopped.
        let _ = self.stop.send(true);
        while self.looked_after.join_next().await.is_some() {}
    }
}

/// What one agent is started from.
#[derive(Debug)]
struct Agent {
    machine: MachineName,
    image: PathBuf,
    config: PathBuf,
    log: PathBuf,
}

impl Agent {
    fn prepare(home: &Home, machine: &MachineName) -> io::Result<Self> {
        let folder = &home.folder;
        let agent = Self {
            machine: machine.clone(),
            image: folder.image(),
            config: folder.agent_config(machine),
            log: folder.agent_log(machine),
        };
        let dir = folder.machine(machine);
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let config = config(machine, &dir, folder, &home.keys)?;
        let new = agent.config.with_extension("new");
        fs::write(&new, config)?;
        fs::rename(&new, &agent.config)?;
        put_long_log_aside(&agent.log);
        Ok(agent)
    }

    async fn look_after(
        self,
        mut stopped: watch::Receiver<bool>,
        output: Output,
    ) -> Result<(), Failure> {
        let machine = &self.machine;
        let mut falls = 0;
        loop {
            let since = Instant::now();
            let mut child = self.start().map_err(|error| {
                Failure::because(format!("the agent of {machine} does not start"), &error)
            })?;
            // Waiting would close it first, and that is how an agent hears that its fleet is gone.
            let _tether = child.stdin.take();
            let ended = tokio::select! {
                ended = child.wait() => ended,
                () = asked(&mut stopped) => return self.stop(child).await,
            };
            let how = match ended {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            };
            falls = if since.elapsed() >= CAME_UP_AFTER { 1 } else { falls + 1 };
            if falls > FALLS_MAX {
                let what =
                    format!("the agent of {machine} does not stay up: the last ended with {how}");
                let log = self.log.display();
                return Err(Failure::failed(format!("{what}\n{}", last_words(&self.log)))
                    .hint(format!("its whole log is {log}")));
            }
            let note = format!("{machine}: its agent ended ({how}) and is started again");
            output.status(&output.status.tone(Tone::Faint, note));
            tokio::select! {
                () = sleep(PAUSE * 2_u32.pow(falls - 1)) => {}
                () = asked(&mut stopped) => return Ok(()),
            }
        }
    }

    /// In a process group of its own, so that Ctrl-C reaches the fleet and not each of its agents.
    fn start(&self) -> io::Result<Child> {
        let log = open_log(&self.log)?;
        Command::new(&self.image)
            .args([NODE_AGENT, "run", "--tether", "--at-stop", "stop"])
            .args(["--statement-every", STATEMENT_EVERY, "--orphan-after", ORPHAN_AFTER])
            .arg("--config")
            .arg(&self.config)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .spawn()
    }

    /// It stops what it runs, and ends.
    async fn stop(&self, mut child: Child) -> Result<(), Failure> {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that has just ended is what is wanted.
            let _ = kill_process(pid, Signal::TERM);
        }
        child.wait().await.map(drop).map_err(|error| {
            Failure::because(format!("the agent of {} is not waited for", self.machine), &error)
        })
    }
}

/// Waits until the fleet is to stop; a fleet that is gone wants its agents gone.
async fn asked(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// The owner of these machines is whoever tries them out, so they allow what any machine could.
fn config(
    machine: &MachineName,
    dir: &Path,
    folder: &Folder,
    keys: &FleetKeys,
) -> io::Result<String> {
    let quoted = |path: &Path| {
        // The strings of JSON are strings of TOML.
        let text = path.to_str().ok_or_else(|| io::Error::other("its path is no text"))?;
        Ok::<_, io::Error>(serde_json::Value::from(text).to_string())
    };
    let FleetKeys { operator, controller } = keys;
    Ok(format!(
        "# Written anew by each start of the fleet.\nmachine = \"{machine}\"\ndir = {}\nbus = {}\nartifacts = {}\n\n\
         [workloads]\nusers = \"all\"\n\n\
         [trust]\noperators = [\"{operator}\"]\ncontrollers = [\"{controller}\"]\n",
        quoted(dir)?,
        quoted(&folder.bus())?,
        quoted(&folder.artifacts())?,
    ))
}

fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// What cannot be put aside is written on.
fn put_long_log_aside(path: &Path) {
    if fs::metadata(path).is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
        let _ = fs::rename(path, path.with_added_extension("before"));
    }
}

fn last_words(path: &Path) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_else(|error| format!("its log cannot be read: {error}"));
    text.trim().lines().map(harmless).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_config_says_where_things_are_whatever_the_folder_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(&dir.path().join("a \"b\"\\n")).unwrap();
        let keys = FleetKeys::make(&folder, &mut Vec::new()).unwrap();
        let machine = "box-1".parse().unwrap();
        let text = config(&machine, &folder.machine(&machine), &folder, &keys).unwrap();
        assert!(text.contains(r#"/a \"b\"\\n/machines/box-1""#), "{text}");
        assert!(text.contains(r#"/a \"b\"\\n/bus.sock""#), "{text}");
        assert!(text.contains(&format!("operators = [\"{}\"]", keys.operator)), "{text}");
        assert!(text.contains(&format!("controllers = [\"{}\"]", keys.controller)), "{text}");
    }

    #[test]
    fn a_long_log_is_put_aside_and_its_end_can_be_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.log");
        let mut log = open_log(&path).unwrap();
        writeln!(log, "the beginning").unwrap();
        log.write_all(&vec![b'.'; usize::try_from(LOG_BYTES_MAX).unwrap()]).unwrap();
        writeln!(log, "\nthe end").unwrap();
        let words = last_words(&path);
        assert!(words.ends_with("the end") && !words.contains("beginning"), "{words}");
        put_long_log_aside(&path);
        assert!(!path.exists() && dir.path().join("agent.log.before").exists());
        writeln!(open_log(&path).unwrap(), "short").unwrap();
        put_long_log_aside(&path);
        assert_eq!(last_words(&path), "short");
    }
}
