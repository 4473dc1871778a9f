//! The errand: the workload to hold, as the engine hands it over and as it lies in the shim's folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use host::Notify;

use crate::user::User;

/// The workload to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Errand {
    /// Program and arguments, at least the program.
    pub(crate) command: Vec<String>,
    /// Its environment, beside what the shim adds.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    /// Whom it runs as, if not as the engine.
    pub(crate) user: Option<User>,
    /// What it may use, as far as that is limited.
    pub(crate) limits: inventory::Limits,
    /// Where its output goes; `None`: only its last lines are kept, in memory.
    pub(crate) output: Option<PathBuf>,
    /// The execution that it belongs to.
    pub(crate) execution: String,
    /// What stands before its output.
    pub(crate) title: String,
    /// Whether it says by itself that it is ready.
    pub(crate) notify: Notify,
    /// What becomes of it when nobody holds the other end.
    pub(crate) tie: Tie,
}

/// How a shim hangs together with its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    /// It ends with it.
    Tethered,
    /// It outlives it: for so long, or for ever.
    Standing { orphan_after: Option<Duration> },
}

impl Errand {
    /// Fields that each end with a zero byte, which nothing that can be handed to a program contains. `None` for what
    /// contains one all the same.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut fields = Fields::default();
        for word in &self.command {
            fields.push("arg", word.as_bytes());
        }
        for (key, value) in &self.environment {
            fields.push("env", format!("{key}={value}").as_bytes());
        }
        fields.push("folder", self.folder.as_os_str().as_bytes());
        if let Some(User { uid, gid }) = self.user {
            fields.push("uid", uid.to_string().as_bytes());
            fields.push("gid", gid.to_string().as_bytes());
        }
        let inventory::Limits { memory, tasks, files } = self.limits;
        for (key, limit) in [("memory", memory), ("tasks", tasks), ("files", files)] {
            if let Some(limit) = limit {
                fields.push(key, limit.to_string().as_bytes());
            }
        }
        if let Some(output) = &self.output {
            fields.push("output", output.as_os_str().as_bytes());
        }
        fields.push("execution", self.execution.as_bytes());
        fields.push("title", self.title.as_bytes());
        match self.notify {
            Notify::Heard { watchdog: None } => fields.push("notify", b""),
            Notify::Heard { watchdog: Some(bound) } => {
                fields.push("notify", bound.as_millis().to_string().as_bytes());
            }
            Notify::Unheard => {}
        }
        match self.tie {
            Tie::Tethered => {}
            Tie::Standing { orphan_after: None } => fields.push("standing", b""),
            Tie::Standing { orphan_after: Some(span) } => {
                fields.push("standing", span.as_millis().to_string().as_bytes());
            }
        }
        (!fields.is_broken).then_some(fields.bytes)
    }

    /// `None` for what no engine writes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut errand = Self {
            command: Vec::new(),
            environment: BTreeMap::new(),
            folder: PathBuf::new(),
            user: None,
            limits: inventory::Limits::default(),
            output: None,
            execution: String::new(),
            title: String::new(),
            notify: Notify::Unheard,
            tie: Tie::Tethered,
        };
        let (mut uid, mut gid) = (None, None);
        for field in bytes.strip_suffix(&[0])?.split(|byte| *byte == 0) {
            let at = field.iter().position(|byte| *byte == b'=')?;
            let (key, value) = (field.get(..at)?, field.get(at + 1..)?);
            let text = || std::str::from_utf8(value).ok().map(str::to_owned);
            let path = || PathBuf::from(OsStr::from_bytes(value));
            match key {
                b"arg" => errand.command.push(text()?),
                b"env" => {
                    let text = text()?;
                    let (key, value) = text.split_once('=')?;
                    errand.environment.insert(key.to_owned(), value.to_owned());
                }
                b"folder" => errand.folder = path(),
                b"uid" => uid = Some(text()?.parse().ok()?),
                b"gid" => gid = Some(text()?.parse().ok()?),
                b"memory" => errand.limits.memory = Some(text()?.parse().ok()?),
                b"tasks" => errand.limits.tasks = Some(text()?.parse().ok()?),
                b"files" => errand.limits.files = Some(text()?.parse().ok()?),
                b"output" => errand.output = Some(path()),
                b"execution" => errand.execution = text()?,
                b"title" => errand.title = text()?,
                b"notify" if value.is_empty() => {
                    errand.notify = Notify::Heard { watchdog: None };
                }
                b"notify" => {
                    let bound = Duration::from_millis(text()?.parse().ok()?);
                    errand.notify = Notify::Heard { watchdog: Some(bound) };
                }
                b"standing" if value.is_empty() => {
                    errand.tie = Tie::Standing { orphan_after: None };
                }
                b"standing" => {
                    let span = Duration::from_millis(text()?.parse().ok()?);
                    errand.tie = Tie::Standing { orphan_after: Some(span) };
                }
                // A newer engine's wish, of which this shim knows nothing.
                _ => return None,
            }
        }
        errand.user = match (uid, gid) {
            (Some(uid), Some(gid)) => Some(User { uid, gid }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some(errand)
    }
}

#[derive(Default)]
struct Fields {
    bytes: Vec<u8>,
    is_broken: bool,
}

impl Fields {
    fn push(&mut self, key: &str, value: &[u8]) {
        self.is_broken |= value.contains(&0);
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.push(b'=');
        self.bytes.extend_from_slice(value);
        self.bytes.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errand() -> Errand {
        Errand {
            command: ["./run", "", "two\nlines"].map(str::to_owned).into(),
            environment: [("A", "b=c"), ("EMPTY", "")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            folder: PathBuf::from(OsStr::from_bytes(b"/builds/\xff")),
            user: Some(User { uid: 1, gid: 2 }),
            limits: inventory::Limits { memory: Some(1), tasks: None, files: Some(3) },
            output: Some("/output/web.log".into()),
            execution: "a1-1".to_owned(),
            title: "execution a1-1".to_owned(),
            notify: Notify::Heard { watchdog: Some(Duration::from_secs(10)) },
            tie: Tie::Standing { orphan_after: Some(Duration::from_secs(60)) },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let plain = Errand {
            user: None,
            limits: inventory::Limits::default(),
            output: None,
            notify: Notify::Unheard,
            tie: Tie::Tethered,
            ..errand()
        };
        let for_ever = Errand {
            notify: Notify::Heard { watchdog: None },
            tie: Tie::Standing { orphan_after: None },
            ..errand()
        };
        for errand in [errand(), plain, for_ever] {
            assert_eq!(Errand::decode(&errand.encode().unwrap()), Some(errand));
        }
    }

    #[test]
    fn a_zero_byte_is_refused_and_so_is_what_nobody_writes() {
        let broken = Errand { command: vec!["./run\0".to_owned()], ..errand() };
        assert_eq!(broken.encode(), None);
        let broken =
            ["", "arg", "arg\0", "new=1\0", "uid=1\0", "files=x\0", "env=A\0", "notify=x\0"];
        for bytes in broken.map(str::as_bytes) {
            assert_eq!(Errand::decode(bytes), None, "{bytes:?}");
        }
    }
}
