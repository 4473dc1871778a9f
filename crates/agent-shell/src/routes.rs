//! The table of addresses on its way to the host: the newest counts, and whoever stops a process waits for it.

use std::time::Duration;

use agent_core::Event;
use host::{Host, Process};
use inventory::Stop;
use tokio::sync::watch;
use tokio::time::timeout;
use wire::route::Table;

use crate::work::words;

/// How long a stop waits for a table that is not in effect: as long as it takes to start a router.
const IN_EFFECT_MAX: Duration = Duration::from_secs(10);

/// Hands tables to the host, one after the other.
#[derive(Debug)]
pub(crate) struct Routes {
    /// How many tables were asked for, and the newest.
    newest: watch::Sender<(u64, Table)>,
    /// The number of the newest that was answered.
    answered: watch::Receiver<u64>,
}

impl Routes {
    /// Begins to hand over what is asked for. `tell` takes what becomes of it.
    pub(crate) fn begin<H, T, F>(host: H, tell: T) -> (Self, impl Future<Output = ()> + Send)
    where
        H: Host,
        T: Fn(Event) -> F + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let newest = watch::Sender::new((0, Table::default()));
        let (say, answered) = watch::channel(0);
        let mut asked = newest.subscribe();
        let work = async move {
            let mut is_led = false;
            loop {
                let changed = tokio::select! {
                    changed = asked.changed() => changed,
                    () = host.unrouted(), if is_led => {
                        is_led = false;
                        tell(Event::RoutesLost).await;
                        continue;
                    }
                };
                if changed.is_err() {
                    return;
                }
                let (number, table) = asked.borrow_and_update().clone();
                let outcome = host.route(&table).await;
                is_led = outcome.is_ok() && !table.0.is_empty();
                say.send_replace(number);
                tell(Event::Routed(outcome.map_err(|error| words(&error)))).await;
            }
        };
        (Self { newest, answered }, work)
    }

    pub(crate) fn ask(&self, table: Table) {
        self.newest.send_modify(|newest| *newest = (newest.0 + 1, table));
    }

    /// Stops a process once no new connection comes to it any more, and those that it has are drained.
    pub(crate) fn stop<H: Host>(
        &self,
        host: H,
        process: H::Process,
        how: Stop,
    ) -> impl Future<Output = ()> + Send + 'static {
        let number = self.newest.borrow().0;
        let mut answered = self.answered.clone();
        async move {
            // A router that does not answer must not keep anything alive.
            let _ = timeout(IN_EFFECT_MAX, answered.wait_for(|answered| *answered >= number)).await;
            host.drained(process.address(), how.drain.as_duration()).await;
            process.stop(how).await;
        }
    }
}
