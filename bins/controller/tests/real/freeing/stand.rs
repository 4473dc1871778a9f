//! A controller as the program has it, with machines by script on its bus: what the real commands are asked against.

#![expect(
    clippy::disallowed_methods,
    reason = "words are signed by the real program, with the time of day, so the stand has it too"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use bus::{Bytes, InProcessBus};
use chrono::{DateTime, Utc};
use controller_core::Reading;
use controller_shell::{Clock, Config, Controller, Handle, Ids};
use inventory::{Instances, Machine, Manifest};
use names::{BuildId, MachineName};
use serde::{Deserialize, Serialize};
use store::MemoryStore;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixListener,
    runtime::Runtime,
};
use wire::api::{Answer, Ask, Pace, Registration, Run};

use super::machine::{self, Script};
use crate::fleet::{Outcome, Place, eventually, finished};

/// The stand: everything ends when it is dropped.
pub(crate) struct Stand {
    pub(crate) place: Place,
    runtime: Runtime,
    bus: InProcessBus,
    store: MemoryStore,
    controller: Option<Controller>,
    handle: Arc<Mutex<Option<Handle>>>,
    /// Every byte that a command said to the controller.
    heard: Arc<Mutex<Vec<u8>>>,
    pub(crate) machines: BTreeMap<String, Arc<Mutex<Script>>>,
    pub(crate) build: BuildId,
}

impl Stand {
    /// These machines are assigned `blog`, whose one build has been released. An operator's key is in `operator.seed`, and
    /// each machine trusts it.
    pub(crate) fn new(machines: &[&str]) -> Outcome<Self> {
        let place = Place::new()?;
        fs::create_dir(place.dir())?;
        finished(place.controller(&[
            "keys",
            "new",
            "operator",
            "--out",
            &place.join("operator.seed").display().to_string(),
        ]))?
        .done()?;
        let key = keys::load(&place.join("operator.seed"))?;
        let runtime = Runtime::new()?;
        let (bus, store) = (InProcessBus::new(), MemoryStore::new());
        let mut stand = Self {
            place,
            runtime,
            bus,
            store,
            controller: None,
            handle: Arc::default(),
            heard: Arc::default(),
            machines: BTreeMap::new(),
            build: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?,
        };
        stand.start()?;
        stand.listen()?;
        for name in machines {
            let machine: MachineName = name.parse()?;
            let script = Arc::new(Mutex::new(Script::new(machine.clone(), &key)));
            let enrolled = Machine {
                name: machine,
                labels: BTreeMap::new(),
                public_key: None,
                enrolled_at: now(),
                roles: Default::default(),
                hold: None,
            };
            let handle = stand.handle()?;
            stand.runtime.block_on(handle.enroll(enrolled))?.map_err(|refusal| refusal.why)?;
            stand.runtime.spawn(machine::live(stand.bus.clone(), Arc::clone(&script)));
            stand.machines.insert((*name).to_owned(), script);
        }
        stand.release(&machines.join(","))?;
        Ok(stand)
    }

    /// Starts the controller, or stops it and starts the next one on the same store.
    pub(crate) fn start(&mut self) -> Outcome {
        if let Some(before) = self.controller.take() {
            self.runtime.block_on(before.stop());
        }
        let config = Config { tick: Duration::from_millis(100), ..Config::default() };
        let (store, bus) = (self.store.clone(), self.bus.clone());
        let start = Controller::start(config, store, bus, RealClock, Counted(now()));
        let controller = self.runtime.block_on(start)?;
        *self.handle.lock().map_err(|_| "poisoned")? = Some(controller.handle());
        self.controller = Some(controller);
        Ok(())
    }

    fn handle(&self) -> Outcome<Handle> {
        Ok(self.handle.lock().map_err(|_| "poisoned")?.clone().ok_or("no controller")?)
    }

    pub(crate) fn ask(&self, ask: Ask) -> Outcome<Answer> {
        Ok(self.runtime.block_on(self.handle()?.ask("the stand", ask))?)
    }

    fn release(&mut self, to: &str) -> Outcome {
        let manifest = "[module]\nname = 'blog'\n[[resource]]\nname = 'web'\ncommand = ['./blog']\n\
             [gate]\npasses = 1\nevery = '1s'\nsettle = '0s'\nbound = '5s'";
        let registration = Registration {
            commit: "v1".parse()?,
            manifest: Manifest::from_toml(manifest)?,
            artifacts: Vec::new(),
            source_fingerprint: None,
        };
        let Answer::Registered(registered) = self.ask(Ask::Register(Box::new(registration)))?
        else {
            return Err("not registered".into());
        };
        self.build = registered.build;
        let (module, to) = ("blog".parse()?, to.parse()?);
        self.ask(Ask::Assign { module, to, instances: Instances::default() })?;
        let builds = vec!["blog".parse()?];
        self.ask(Ask::Release { builds, pace: Pace::InTurn, run: Run::Real })?;
        let machines = self.machines.len();
        eventually("every machine is declared it", || {
            let Answer::Instances(all) =
                self.ask(Ask::Instances { module: None, machine: None })?
            else {
                return Err("no instances".into());
            };
            Ok(if all.len() == machines { Ok(()) } else { Err(format!("{all:?}")) })
        })
    }

    /// What commands say to the controller comes in here, as in the program.
    fn listen(&self) -> Outcome {
        let _inside = self.runtime.enter();
        let listener = UnixListener::bind(self.place.dir().join("controller.sock"))?;
        let (handle, heard) = (Arc::clone(&self.handle), Arc::clone(&self.heard));
        self.runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (handle, heard) = (Arc::clone(&handle), Arc::clone(&heard));
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let mut line = String::new();
                    while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                        let asked = serde_json::from_str::<Asked>(&line);
                        if let Ok(mut heard) = heard.lock() {
                            heard.extend_from_slice(line.as_bytes());
                        }
                        line.clear();
                        let now = handle.lock().ok().and_then(|handle| handle.clone());
                        let (Ok(asked), Some(handle)) = (asked, now) else { return };
                        let Ok(answer) = handle.ask("a person", asked.request).await else {
                            return;
                        };
                        let Ok(mut text) = serde_json::to_vec(&Said { version: 1, answer }) else {
                            return;
                        };
                        text.push(b'\n');
                        if stream.write_all(&text).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Ok(())
    }

    /// Changes or looks at what a machine does.
    pub(crate) fn machine<T>(&self, name: &str, does: impl FnOnce(&mut Script) -> T) -> Outcome<T> {
        let script = self.machines.get(name).ok_or("no such machine")?;
        Ok(does(&mut *script.lock().map_err(|_| "poisoned")?))
    }

    /// The file of the operator's secret.
    pub(crate) fn key(&self) -> String {
        self.seed_file().display().to_string()
    }

    pub(crate) fn seed_file(&self) -> PathBuf {
        self.place.join("operator.seed")
    }

    /// Whether any command ever said this to the controller.
    pub(crate) fn was_told(&self, text: &str) -> Outcome<bool> {
        let heard = self.heard.lock().map_err(|_| "poisoned")?;
        Ok(String::from_utf8_lossy(&heard).contains(text))
    }
}

#[derive(Deserialize)]
struct Asked {
    request: Ask,
}

#[derive(Serialize)]
struct Said {
    version: u32,
    answer: Answer,
}

/// The time of day.
pub(crate) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

#[derive(Debug, Clone)]
struct RealClock;

impl Clock for RealClock {
    fn read(&self) -> Reading {
        let wall = now();
        let since_boot_ms = u64::try_from(wall.timestamp_millis()).unwrap_or_default();
        Reading { wall, since_boot_ms, boot: "boot".into() }
    }
}

/// Ids that begin after those of an earlier start.
struct Counted(DateTime<Utc>);

impl Ids for Counted {
    fn fresh(&mut self, _wall: DateTime<Utc>) -> String {
        self.0 += Duration::from_millis(1);
        format!("01{:024}", self.0.timestamp_millis())
    }
}

/// A message of the machine's.
pub(super) fn message<T: Serialize>(machine: &MachineName, body: T) -> Bytes {
    let envelope = wire::Envelope::new("1".into(), machine.to_string(), now(), body);
    Bytes::from(envelope.encode().unwrap_or_default())
}
