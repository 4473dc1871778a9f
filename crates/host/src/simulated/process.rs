//! The handle on a simulated process.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use inventory::{Check, Signal, Stop};
use tokio::sync::watch;
use wire::ProcessIdentity;

use crate::process::{CheckFailed, Exit, Process};
use crate::simulated::script::{BuildScript, Checks, Stopping};
use crate::simulated::world::{Started, World};

/// A process of a simulated machine. It outlives the handles on it.
#[derive(Debug, Clone)]
pub struct SimProcess {
    held: Arc<Held>,
}

struct Held {
    world: watch::Sender<World>,
    started: Started,
}

impl SimProcess {
    pub(super) fn new(world: watch::Sender<World>, started: Started) -> Self {
        Self { held: Arc::new(Held { world, started }) }
    }

    pub(super) fn pid(&self) -> u32 {
        self.held.started.identity.pid
    }

    fn script(&self) -> BuildScript {
        self.held.world.borrow().script(&self.held.started.spec.build)
    }
}

impl Process for SimProcess {
    fn identity(&self) -> &ProcessIdentity {
        &self.held.started.identity
    }

    fn address(&self) -> SocketAddr {
        self.held.started.address
    }

    async fn ended(&self) -> Exit {
        let mut seen = self.held.world.subscribe();
        let exit = match seen.wait_for(|world| world.exit(self.pid()).is_some()).await {
            Ok(world) => world.exit(self.pid()).unwrap_or(Exit::Unknown),
            Err(_) => Exit::Unknown,
        };
        self.held.world.send_if_modified(|world| {
            world.hear(self.pid());
            false
        });
        exit
    }

    async fn stop(&self, how: Stop) {
        let now = self.held.world.borrow().now;
        let killed = now.saturating_add(how.grace.as_duration());
        let (at, exit) = match (how.signal, self.script().stopping) {
            (Signal::Kill, _) => (now, Exit::Signal(9)),
            (_, Stopping::Takes(span)) if now.saturating_add(span) <= killed => {
                (now.saturating_add(span), Exit::Status(0))
            }
            (_, Stopping::Takes(_) | Stopping::Ignored) => (killed, Exit::Signal(9)),
        };
        self.held.world.send_modify(|world| world.end(self.pid(), at, exit));
        self.ended().await;
    }

    async fn check(&self, check: &Check, timeout: Duration) -> Result<(), CheckFailed> {
        let asked = self.held.world.borrow().now;
        if self.held.world.borrow().exit(self.pid()).is_some() {
            return Err(CheckFailed("the process is gone".to_owned()));
        }
        let up = asked.saturating_sub(self.held.started.at);
        let passes = match (check, self.script().checks) {
            (Check::Alive(span), _) => up >= span.as_duration(),
            (_, Checks::PassFrom(from)) => up >= from,
            (_, Checks::PassBetween { from, until }) => from <= up && up < until,
            (_, Checks::Fail) => false,
            (_, Checks::Lost) => return std::future::pending().await,
            (_, Checks::Hang) => {
                let mut seen = self.held.world.subscribe();
                let late = asked.saturating_add(timeout);
                // The sender lives as long as this handle, so the wait ends only when its time has come.
                let _ = seen.wait_for(|world| world.now >= late).await;
                return Err(CheckFailed(format!("no answer in {} ms", timeout.as_millis())));
            }
        };
        if passes { Ok(()) } else { Err(CheckFailed("the script says no".to_owned())) }
    }

    async fn last_lines(&self) -> Vec<String> {
        let spec = &self.held.started.spec;
        vec![format!("{} of build {} was here", spec.resource, spec.build.short())]
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.started.spec.instance, self.started.identity.pid)
    }
}
