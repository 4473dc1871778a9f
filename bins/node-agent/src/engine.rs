//! The engine: an agent on this machine, with its disk, its processes and the bus, until it is asked to end.

pub(crate) mod ending;
pub(crate) mod journal;
mod keeping;
mod shelf;
mod witness;

use std::{env, ffi::OsString, time::Duration};

use agent_shell::{Incarnation, Log, RunError, Severity};
use bus_socket::SocketBus;
use machine_os::{OsConfig, OsHost, RouterConfig};
use names::MachineName;
use store_sled::SledStore;
use terminal::{
    failure::{ExitStatus, Failure},
    output::Output,
};
use tokio::sync::{oneshot, watch};
use wire::{Statement, signed::TrustedKeys};

use self::{ending::Ending, journal::Journal, keeping::Keeping, witness::Witness};
use crate::{
    Image, ROUTE, SHIM,
    command_line::{Everywhere, Run},
    config::{AtStop, Config, DEFAULT_PATH, Origin},
    folder::Folder,
};

/// The version that a hello says.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything that an agent on this machine needs.
#[derive(Debug)]
struct Engine {
    machine: MachineName,
    folder: Folder,
    host: OsHost,
    bus: SocketBus,
    log: Log,
    at_stop: AtStop,
    /// Whose signed words count here.
    trusted: TrustedKeys,
    statement_every: Duration,
    /// The newest statement.
    stated: watch::Sender<Option<Statement>>,
    /// Why there is no store; none: there is one.
    storeless: watch::Sender<Option<String>>,
}

/// How a time without a store ended.
enum Ended {
    /// The engine was asked to end.
    Asked,
    /// There is a store again.
    StoreAgain(SledStore),
}

/// Runs the engine until it is asked to end. What it has to say it says in lines, also why it does not begin.
pub(crate) async fn run(
    run: &Run,
    everywhere: &Everywhere,
    image: Image,
    output: &Output,
) -> ExitStatus {
    let journal = match Journal::begin(output.status) {
        Ok(journal) => journal,
        Err(error) => return output.ended(Err(Failure::because("no thread for lines", &error))),
    };
    let log = journal.log();
    let status = match begin(run, everywhere, image, &log).await {
        Ok(()) => ExitStatus::Done,
        Err(failure) => {
            failure.message.lines().for_each(|line| log.say(Severity::Error, line));
            failure
                .hints
                .iter()
                .for_each(|hint| log.say(Severity::Error, &format!("hint: {hint}")));
            failure.kind.exit_status()
        }
    };
    journal.finish();
    status
}

async fn begin(run: &Run, everywhere: &Everywhere, image: Image, log: &Log) -> Result<(), Failure> {
    let broken = |what: &'static str| move |error| Failure::because(what, &error);
    if run.tether {
        ending::tether().map_err(broken("the standard input cannot be held"))?;
    }
    let ending = Ending::listen().map_err(broken("signals cannot be listened to"))?;
    let (config, origin) = Config::load(everywhere.config.as_deref())?;
    if origin == Origin::Defaults {
        log.say(Severity::Info, &format!("there is no {DEFAULT_PATH}: the defaults hold"));
    }
    let machine = config.machine()?;
    let trusts = config.trusts();
    let folder = Folder::create(everywhere.dir.as_deref().unwrap_or(&config.dir))?;
    let _lock = folder.lock().await?;
    let host = OsHost::open(OsConfig {
        root: folder.path().to_owned(),
        artifacts: config.artifacts(folder.path()),
        shim: shim().map_err(broken("it cannot be told which program this is"))?,
        path: Some(config.path),
        bounds: config.bounds,
        router: Some(
            router(run, &folder, image)
                .map_err(broken("it cannot be told which program this is"))?,
        ),
        orphan_after: run.orphan_after.map(inventory::Span::as_duration),
    });
    let host = host.map_err(|error| Failure::because("this machine cannot be used", &error))?;
    let (dir, bus) = (folder.path().display(), config.bus.display());
    log.say(Severity::Info, &format!("engine {VERSION} of {machine} begins on {dir}, bus {bus}"));
    log.say(Severity::Info, &trusts);
    let engine = Engine {
        machine,
        bus: SocketBus::connect(config.bus),
        host,
        log: log.clone(),
        at_stop: run.at_stop.unwrap_or(config.at_stop),
        trusted: config.trust,
        statement_every: run.statement_every.as_duration(),
        stated: watch::Sender::new(None),
        storeless: watch::Sender::new(None),
        folder,
    };
    let witness = Witness::of(&engine);
    let outcome = tokio::select! {
        outcome = engine.live(ending.clone()) => outcome,
        () = witness.watch(ending) => Ok(()),
    };
    // What the agent said last still leaves.
    engine.bus.close().await;
    outcome
}

/// What starts a shim: this very program.
fn shim() -> std::io::Result<Vec<OsString>> {
    Ok(vec![env::current_exe()?.into_os_string(), OsString::from(SHIM)])
}

/// What starts a router: this very program too.
fn router(run: &Run, folder: &Folder, image: Image) -> std::io::Result<RouterConfig> {
    let mut command = vec![env::current_exe()?.into_os_string()];
    match image {
        Image::Own => {}
        Image::Within(word) => command.push(OsString::from(word)),
    }
    let socket = folder.router();
    command.extend([
        OsString::from(ROUTE),
        OsString::from("--socket"),
        socket.clone().into_os_string(),
    ]);
    if let Some(span) = run.orphan_after {
        command.extend([OsString::from("--orphan-after"), OsString::from(span.to_string())]);
    }
    Ok(RouterConfig { command, socket, version: VERSION.to_owned() })
}

impl Engine {
    /// Runs agents, one after the other, each with what there is to keep things in.
    async fn live(&self, ending: Ending) -> Result<(), Failure> {
        let mut keeping = self.open_store().await;
        loop {
            keeping = match keeping {
                Keeping::Store(store) => {
                    self.storeless.send_replace(None);
                    match self.with_store(self.agent()?, store.clone(), ending.clone()).await {
                        Ok(()) => {
                            store.close().await;
                            return Ok(());
                        }
                        Err(RunError::Reopen(error)) => self.reopened(store, error).await,
                        Err(error) => return Err(ended(&error)),
                    }
                }
                Keeping::Nothing { why } => {
                    let line = format!(
                        "the store cannot be opened, and it is tried again; what runs goes on, and nothing new is begun: {why}"
                    );
                    self.log.say(Severity::Error, &line);
                    self.storeless.send_replace(Some(why.clone()));
                    match self.without_store(self.agent()?, why, ending.clone()).await {
                        Ok(Ended::Asked) => return Ok(()),
                        Ok(Ended::StoreAgain(store)) => {
                            self.log.say(Severity::Info, "the store is open again");
                            Keeping::Store(store)
                        }
                        Err(error) => return Err(ended(&error)),
                    }
                }
            };
        }
    }

    async fn with_store(
        &self,
        agent: agent_shell::Config,
        store: SledStore,
        mut ending: Ending,
    ) -> Result<(), RunError> {
        let at_end = self.at_end();
        let shutdown = async move {
            ending.asked().await;
            at_end
        };
        let (bus, host, book) = (self.bus.clone(), self.host.clone(), self.open_book().await);
        agent_shell::run(agent, bus, store, book, host, shutdown).await
    }

    async fn without_store(
        &self,
        agent: agent_shell::Config,
        why: String,
        mut ending: Ending,
    ) -> Result<Ended, RunError> {
        let at_end = self.at_end();
        let (found, mut store) = oneshot::channel();
        let shutdown = async move {
            tokio::select! {
                () = ending.asked() => at_end,
                again = self.store_again() => {
                    // The agent that ends now is what waits for it.
                    let _ = found.send(again);
                    agent_shell::Ending::Leave
                }
            }
        };
        let (bus, host, book) = (self.bus.clone(), self.host.clone(), self.open_book().await);
        agent_shell::run_without_store(agent, bus, why, book, host, shutdown).await?;
        Ok(store.try_recv().map_or(Ended::Asked, Ended::StoreAgain))
    }

    /// What the next agent is told.
    fn agent(&self) -> Result<agent_shell::Config, Failure> {
        let drawn = machine_os::draw();
        let incarnation = drawn
            .map(Incarnation)
            .map_err(|error| Failure::because("no randomness can be drawn", &error))?;
        Ok(agent_shell::Config {
            statement_every: self.statement_every,
            trusted: self.trusted.clone(),
            log: self.log.clone(),
            stated: self.stated.clone(),
            ..agent_shell::Config::new(self.machine.clone(), VERSION.to_owned(), incarnation)
        })
    }

    fn at_end(&self) -> agent_shell::Ending {
        match self.at_stop {
            AtStop::Keep => agent_shell::Ending::Leave,
            AtStop::Stop => agent_shell::Ending::Stop,
        }
    }
}

fn ended(error: &RunError) -> Failure {
    Failure::because("the engine cannot go on, and what runs does", error)
}
