//! The machine's own file, `agent.toml`: who this machine is, where things lie, and what a controller may ask for.

mod read;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use machine_os::{Allowed, Bounds, Users};
use names::MachineName;
use terminal::{failure::Failure, words::count};
use wire::signed::{Role, TrustedKeys};

/// Where the file is when nobody says otherwise. A machine without one has all the defaults.
pub(crate) const DEFAULT_PATH: &str = "/etc/bellwether/agent.toml";

/// What the owner of a machine says; the defaults where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// The machine's name; none: that of the host.
    pub(crate) machine: Option<MachineName>,
    /// Where the engine keeps everything.
    pub(crate) dir: PathBuf,
    /// The socket of the bus.
    pub(crate) bus: PathBuf,
    /// Where artifacts come from; none: a folder of that name in `dir`.
    pub(crate) artifacts: Option<PathBuf>,
    /// What a controller may ask for.
    pub(crate) bounds: Bounds,
    /// Whose signed word counts on this machine.
    pub(crate) trust: TrustedKeys,
    /// The `PATH` of workloads.
    pub(crate) path: String,
    /// What becomes of what runs when the engine is asked to end.
    pub(crate) at_stop: AtStop,
}

/// What becomes of what runs when the engine is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AtStop {
    /// It goes on, and the next engine finds it
    Keep,
    /// It is stopped first
    Stop,
}

/// Where a config came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    File,
    /// There is no file at the default place.
    Defaults,
}

impl Config {
    fn defaults(said_in: &Path) -> Self {
        let bounds = Bounds {
            users: Users::AllButRoot,
            default_user: None,
            programs: Allowed::All,
            listen: Allowed::All,
            said_in: said_in.to_owned(),
        };
        Self {
            machine: None,
            dir: "/var/lib/bellwether".into(),
            bus: "/run/bellwether/bus.sock".into(),
            artifacts: None,
            bounds,
            trust: TrustedKeys::default(),
            path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
            at_stop: AtStop::Keep,
        }
    }

    /// Reads the file that was named, or the one at the default place, if there is one.
    pub(crate) fn load(named: Option<&Path>) -> Result<(Self, Origin), Failure> {
        let path = named.unwrap_or(Path::new(DEFAULT_PATH));
        match fs::read(path) {
            Ok(bytes) => Ok((Self::of_file(&bytes, path)?, Origin::File)),
            Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {
                Ok((Self::defaults(path), Origin::Defaults))
            }
            Err(error) => {
                let what = format!("the config {} cannot be read", path.display());
                Err(Failure::because(what, &error))
            }
        }
    }

    fn of_file(bytes: &[u8], path: &Path) -> Result<Self, Failure> {
        let read = |field, found: &mut _| read::config(field, found, Self::defaults(path));
        toml_fields::read_toml(bytes, read).map_err(|faults| {
            let told = faults.in_file(&path.display().to_string()).to_string();
            Failure::failed(format!("the config has faults, and none of it is used:\n{told}"))
                .hint("what runs goes on meanwhile; mend the file, and check it: node-agent doctor")
        })
    }

    /// Where artifacts come from, for an engine in this folder.
    pub(crate) fn artifacts(&self, dir: &Path) -> PathBuf {
        self.artifacts.clone().unwrap_or_else(|| dir.join("artifacts"))
    }

    /// Whom it trusts, in words.
    pub(crate) fn trusts(&self) -> String {
        let keys = |role, name| match self.trust.of(role).count() {
            0 => format!("no key of {name}"),
            number => format!("{} of {name}", count(number, "key")),
        };
        let operators = keys(Role::Operator, "an operator");
        format!("{operators} and {} count here", keys(Role::Controller, "a controller"))
    }

    /// The machine's name, or that of the host.
    pub(crate) fn machine(&self) -> Result<MachineName, Failure> {
        self.machine.clone().map_or_else(host_name, Ok)
    }
}

fn host_name() -> Result<MachineName, Failure> {
    let hint = "give this machine a name in its config: machine = \"box-1\"";
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .map_err(|error| Failure::because("the host's name cannot be read", &error).hint(hint))?;
    let name = name.trim();
    name.parse().map_err(|error: names::NameError| {
        Failure::because(format!("the host's name, `{name}`, cannot be the machine's"), &error)
            .hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        Config::of_file(text.as_bytes(), Path::new("/agent.toml"))
            .map_err(|failure| failure.message)
    }

    const SHIPPED: &str = include_str!("../dist/agent.toml");

    #[test]
    fn the_file_that_is_shipped_says_the_defaults() {
        let defaults = Config::defaults(Path::new("/agent.toml"));
        assert_eq!(read(""), Ok(defaults.clone()));
        let artifacts = Some("/var/lib/bellwether/artifacts".into());
        assert_eq!(read(SHIPPED), Ok(Config { artifacts, ..defaults }));
    }

    #[test]
    fn each_example_in_the_file_that_is_shipped_can_be_used() {
        let is_example = |line: &str| {
            line.strip_prefix("# ").is_some_and(|rest| {
                let key = rest.split(" = ").next().unwrap_or_default();
                rest.contains(" = ") && !key.is_empty() && !key.contains(' ')
            })
        };
        let examples: Vec<_> = SHIPPED.lines().filter(|line| is_example(line)).collect();
        assert!(examples.len() >= 6, "{examples:?}");
        for example in examples {
            let (key, _) = example.trim_start_matches("# ").split_once(" = ").unwrap();
            let lines = SHIPPED.lines().filter(|line| !line.starts_with(&format!("{key} = ")));
            let used = lines.map(|line| if line == example { &line[2..] } else { line });
            let text = used.collect::<Vec<_>>().join("\n");
            assert!(read(&text).is_ok(), "{example}: {:?}", read(&text));
            assert_ne!(read(&text), read(SHIPPED), "{example}");
        }
    }

    #[test]
    fn what_is_said_is_read() {
        let text = r#"
machine = "box-1"
dir = "/data"
bus = "/data/bus.sock"

[workloads]
users = ["blog", "root"]
default_user = "blog"
programs = ["/usr/bin"]
listen = ["*:8000-8999"]
path = "/opt/bin"
at_stop = "stop"

[trust]
operators = ["OC22HHDHAF7NLZVB6JCDZPYKID2AB5JRKH7Y2C2TK5MZCOA5DSKRPEZZ"]
controllers = []
"#;
        let config = read(text).unwrap();
        assert_eq!(config.machine().unwrap().as_str(), "box-1");
        assert_eq!(config.artifacts(Path::new("/data")), Path::new("/data/artifacts"));
        assert_eq!((config.path.as_str(), config.at_stop), ("/opt/bin", AtStop::Stop));
        let users = ["blog", "root"].map(str::to_owned).into();
        let bounds = Bounds {
            users: Users::Only(users),
            default_user: Some("blog".to_owned()),
            programs: Allowed::Only(vec!["/usr/bin".into()]),
            listen: Allowed::Only(vec!["*:8000-8999".parse().unwrap()]),
            said_in: "/agent.toml".into(),
        };
        assert_eq!(config.bounds, bounds);
        let operators: Vec<_> = config.trust.of(Role::Operator).map(ToString::to_string).collect();
        assert_eq!(operators, ["OC22HHDHAF7NLZVB6JCDZPYKID2AB5JRKH7Y2C2TK5MZCOA5DSKRPEZZ"]);
        assert_eq!(config.trusts(), "1 key of an operator and no key of a controller count here");
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        let text = r#"machine = "Box 1"
dir = "relative"
bus = 7
colour = "red"

[workload]
users = "all"

[workloads]
users = "everybody"
default_user = ""
programs = ["bin"]
listen = ["somewhere"]
path = ""
at_stop = "restart"
user = "x"

[trust]
operators = ["CCMI6GCEX6KCPKYETZ37JFBMGSAIHPK2WOYE57ZFGGHUA65EVI5FZNKZ", "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY", "OC22HHDHAF7NLZVB6JCDZPYKID2AB5JRKH7Y2C2TK5MZCOA5DSKRPEZZ"]
controllers = "CCMI6GCEX6KCPKYETZ37JFBMGSAIHPK2WOYE57ZFGGHUA65EVI5FZNKZ"
machines = []
"#;
        let told = read(text).unwrap_err();
        let expected = "the config has faults, and none of it is used:
/agent.toml:1:11: machine: ";
        assert!(told.starts_with(expected), "{told}");
        for fault in [
            "/agent.toml:2:7: dir: an absolute path is wanted",
            "/agent.toml:3:7: bus: an absolute path in quotes is wanted, this is a number",
            "/agent.toml:4:1: colour: unknown key; allowed are `machine`, `dir`, `bus`, `artifacts`, `trust` and `workloads`",
            "/agent.toml:6:2: workload: unknown key; did you mean `workloads`?",
            "/agent.toml:10:9: workloads.users: `everybody` is not allowed; allowed are `all`, `all-but-root` and a list of names",
            "/agent.toml:11:16: workloads.default_user: a user has",
            "/agent.toml:12:13: workloads.programs[0]: an absolute path is wanted",
            "/agent.toml:13:11: workloads.listen[0]: `somewhere` is neither",
            "/agent.toml:14:8: workloads.path: folders are wanted, each by an absolute path, with `:` between them",
            "/agent.toml:15:11: workloads.at_stop: `restart` is not allowed; allowed are `keep` and `stop`",
            "/agent.toml:16:1: workloads.user: unknown key; did you mean `users`?",
            "/agent.toml:19:14: trust.operators[0]: this is a key of a controller, and a key of an operator is wanted, which begins with O",
            "trust.operators[1]: this is a seed, which is secret",
            "/agent.toml:20:15: trust.controllers: a list of public keys is wanted, this is a text",
            "/agent.toml:21:1: trust.machines: unknown key; allowed are `operators` and `controllers`",
        ] {
            assert!(told.contains(fault), "{fault}\n{told}");
        }
        assert_eq!(told.lines().count(), 17, "{told}");
        assert!(!told.contains("SUACS"), "a secret is not told on: {told}");
    }

    #[test]
    fn a_file_that_was_named_must_be_there() {
        let failure = Config::load(Some(Path::new("/nowhere/agent.toml"))).unwrap_err();
        assert!(failure.message.contains("/nowhere/agent.toml"), "{failure:?}");
    }
}
