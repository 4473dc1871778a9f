//! A process as the port knows it.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use host::{CheckFailed, Exit, Process};
use inventory::{Check, Stop};
use route::listeners::{self, Answering};
use rustix::process::Signal;
use tokio::task::spawn_blocking;
use wire::ProcessIdentity;

use crate::check;
use crate::engine::Shimmed;
use crate::entry::Who;
use crate::proc;
use crate::shim::{Errand, Order};

/// A process that the real machine runs. It outlives the handles on it.
#[derive(Debug, Clone)]
pub struct OsProcess {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    /// What starts the shims of its checks.
    shim: Vec<OsString>,
    errand: Errand,
    shimmed: Shimmed,
    identity: ProcessIdentity,
    address: SocketAddr,
}

impl OsProcess {
    pub(crate) fn new(
        shim: Vec<OsString>,
        errand: Errand,
        shimmed: Shimmed,
        boot: wire::BootId,
        address: SocketAddr,
    ) -> Self {
        let Who { pid, started } = shimmed.workload();
        let identity = ProcessIdentity { pid, started, boot };
        Self { held: Arc::new(Held { shim, errand, shimmed, identity, address }) }
    }

    /// The numbers of its tree.
    pub(crate) fn tree(&self) -> Vec<u32> {
        self.held.shimmed.tree()
    }

    /// Fails unless this process is alive and, given an address, alone answers there.
    async fn is_answering(&self, address: Option<SocketAddr>) -> Result<(), CheckFailed> {
        let process = self.clone();
        let found = spawn_blocking(move || {
            if !process.held.shimmed.is_alive() {
                return Err("the process is gone");
            }
            match address.map(|address| process.answering(address)) {
                None | Some(Answering::Them) => Ok(()),
                Some(Answering::Nobody) => Err("nobody listens on its port"),
                Some(Answering::Others) => Err("another process listens on its port"),
            }
        });
        let found = found.await.unwrap_or(Err("it could not be looked at"));
        found.map_err(|why| match address {
            None => CheckFailed(why.to_owned()),
            Some(address) => CheckFailed(format!("{why} ({address})")),
        })
    }

    /// Mostly the workload itself listens; only when it does not, its tree is looked for among all processes.
    fn answering(&self, address: SocketAddr) -> Answering {
        match listeners::answering(address, &[self.held.identity.pid]) {
            Answering::Others => listeners::answering(address, &self.tree()),
            known @ (Answering::Them | Answering::Nobody) => known,
        }
    }

    /// Asks over the network. Who listens is looked at before and after, so that the answer is this process's own.
    async fn ask(
        &self,
        question: impl Future<Output = Result<(), CheckFailed>>,
    ) -> Result<(), CheckFailed> {
        let address = Some(dial(self.held.address));
        self.is_answering(address).await?;
        question.await?;
        self.is_answering(address).await
    }

    async fn carry_out(&self, what: &Check, timeout: Duration) -> Result<(), CheckFailed> {
        let address = dial(self.held.address);
        match what {
            Check::Http { path, body } => {
                self.ask(check::http(address, path, body.as_deref())).await
            }
            Check::Tcp => self.ask(check::tcp(address)).await,
            Check::Exec(command) => {
                self.is_answering(None).await?;
                let errand = check::errand(&self.held.errand, command, self.held.address);
                check::exec(&self.held.shim, &errand, timeout).await?;
                self.is_answering(None).await
            }
            Check::Alive(span) => {
                self.is_answering(None).await?;
                let up = proc::up_for(self.held.identity.started);
                if up >= span.as_duration() {
                    return Ok(());
                }
                Err(CheckFailed(format!("it is up for less than {span}")))
            }
            Check::Notify { watchdog } => {
                self.is_answering(None).await?;
                check::notify(self.held.shimmed.ask(Order::Status).await, *watchdog)
            }
        }
    }
}

impl Process for OsProcess {
    fn identity(&self) -> &ProcessIdentity {
        &self.held.identity
    }

    fn address(&self) -> SocketAddr {
        self.held.address
    }

    async fn ended(&self) -> Exit {
        self.held.shimmed.ended().await
    }

    async fn stop(&self, how: Stop) {
        self.held.shimmed.stop(signal(how.signal), how.grace.as_duration()).await;
    }

    async fn check(&self, what: &Check, timeout: Duration) -> Result<(), CheckFailed> {
        let late = || CheckFailed(format!("no answer in {} ms", timeout.as_millis()));
        match what {
            // It minds its time itself, since what it started must be stopped whole.
            Check::Exec(_) => self.carry_out(what, timeout).await,
            Check::Http { .. } | Check::Tcp | Check::Notify { .. } | Check::Alive(_) => {
                let asked = self.carry_out(what, timeout);
                tokio::time::timeout(timeout, asked).await.unwrap_or_else(|_| Err(late()))
            }
        }
    }

    async fn last_lines(&self) -> Vec<String> {
        self.held.shimmed.last_lines().await
    }
}

/// Where to ask a process that listens on `address`.
pub(crate) fn dial(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(_) | IpAddr::V6(_) => address.ip(),
    };
    SocketAddr::new(ip, address.port())
}

fn signal(signal: inventory::Signal) -> Signal {
    match signal {
        inventory::Signal::Term => Signal::TERM,
        inventory::Signal::Int => Signal::INT,
        inventory::Signal::Quit => Signal::QUIT,
        inventory::Signal::Hup => Signal::HUP,
        inventory::Signal::Usr1 => Signal::USR1,
        inventory::Signal::Usr2 => Signal::USR2,
        inventory::Signal::Kill => Signal::KILL,
    }
}
