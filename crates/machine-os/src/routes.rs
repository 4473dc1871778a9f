//! The machine's router, as this host has one: found or started when it is first needed, and again when it is gone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use host::RouteError;
use route::{Refusal, RouterClient, Start, Table, To};
use tokio::sync::Mutex;
use wire::route as said;

/// How this machine's router is found and started.
#[derive(Debug, Clone)]
pub struct RouterConfig {
    /// Program and arguments that become a router at the socket: see [`route::Start`].
    pub command: Vec<OsString>,
    /// The router's socket.
    pub socket: PathBuf,
    /// The version that `command` says it is. A router that runs and says another hands over to a new one.
    pub version: String,
}

/// The router of one host.
#[derive(Debug)]
pub(crate) struct Routes {
    config: Option<RouterConfig>,
    client: Mutex<Option<RouterClient>>,
}

impl Routes {
    pub(crate) fn new(config: Option<RouterConfig>) -> Self {
        Self { config, client: Mutex::new(None) }
    }

    /// Makes this the table; answers what is not as it says.
    pub(crate) async fn set(
        &self,
        table: &said::Table,
    ) -> Result<BTreeMap<SocketAddr, String>, RouteError> {
        let mut held = self.client.lock().await;
        let client = match held.take() {
            Some(client) => client,
            // Nothing is led anywhere, and there is nobody who could lead it: that is as it should be.
            None if table.0.is_empty() => match self.find().await? {
                Some(client) => client,
                None => return Ok(BTreeMap::new()),
            },
            None => self.connect().await?,
        };
        let faults = client.set(&told(table)).await;
        // A connection that was lost is made anew the next time.
        let faults = faults.map_err(failed("setting the table of addresses"))?;
        *held = Some(client);
        Ok(faults.into_iter().map(|(address, fault)| (address, fault.to_string())).collect())
    }

    /// Waits until nothing that was forwarded there goes on. Without a router nothing was.
    pub(crate) async fn drained(&self, backend: SocketAddr, limit: Duration) {
        let client = self.client.lock().await.clone();
        if let Some(client) = client {
            // What cannot be waited for is stopped all the same.
            let _ = client.drained(backend, limit).await;
        }
    }

    /// Waits until the router that is held is gone; for ever, while none is.
    pub(crate) async fn lost(&self) {
        let client = self.client.lock().await.clone();
        match client {
            Some(client) => {
                client.gone().await;
                *self.client.lock().await = None;
            }
            None => std::future::pending().await,
        }
    }

    async fn find(&self) -> Result<Option<RouterClient>, RouteError> {
        match &self.config {
            None => Ok(None),
            Some(config) => {
                route::find(&config.socket).await.map_err(failed("asking for the router"))
            }
        }
    }

    async fn connect(&self) -> Result<RouterClient, RouteError> {
        let Some(config) = &self.config else {
            let what = "this host has no router".to_owned();
            return Err(RouteError { what: what.clone(), source: what.into() });
        };
        // One that cannot be spoken with is asked to hand over by the one that is started.
        if let Ok(Some(client)) = route::find(&config.socket).await
            && client.about().version == config.version
        {
            return Ok(client);
        }
        let (command, socket) = (config.command.clone(), config.socket.clone());
        let started = route::start(Start { command, socket, lines: Stdio::inherit() }).await;
        started.map_err(failed("starting the router"))
    }
}

fn told(table: &said::Table) -> Table {
    let to = |to: &said::To| match to {
        said::To::Forward { to } => To::Forward { to: to.clone() },
        said::To::Hold { limit, time, then } => {
            To::Hold { limit: *limit, time: *time, then: refusal(then) }
        }
        said::To::Refuse(how) => To::Refuse(refusal(how)),
    };
    Table(table.0.iter().map(|(address, one)| (*address, to(one))).collect())
}

fn refusal(how: &said::Refusal) -> Refusal {
    match how {
        said::Refusal::Close => Refusal::Close,
        said::Refusal::Http { why } => Refusal::Http { why: why.clone() },
    }
}

fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    what: &str,
) -> impl FnOnce(E) -> RouteError {
    let what = what.to_owned();
    move |source| RouteError { what, source: source.into() }
}
