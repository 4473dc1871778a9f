//! What stands for the controller: it hears everything, answers everything, and hands out declarations.

use std::time::Duration;

use agent_shell::{Config, Ending, Incarnation, RunError};
use bus::{Bus, InProcessBus};
use chrono::{DateTime, Utc};
use host::Host;
use inventory::Declaration;
use store::MemoryStore;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use wire::{
    BuildsKept, Declare, DeclareReply, Envelope, Hello, HelloReply, ModuleOutcome, ModuleReport,
    Report, ReportReply, ResourceStatement, Statement,
};

use crate::declared::machine;
use crate::shelf::Shelf;

/// Longer than anything here takes; on a simulated clock it costs nothing.
const DEADLINE: Duration = Duration::from_secs(60);

/// Everything that was heard, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) statements: Vec<Statement>,
    pub(crate) reports: Vec<Report>,
    pub(crate) hellos: Vec<Hello>,
}

/// A bus with a controller on it, and the store of one agent.
pub(crate) struct Controller {
    pub(crate) bus: InProcessBus,
    pub(crate) store: MemoryStore,
    pub(crate) shelf: Shelf,
    pub(crate) heard: watch::Receiver<Heard>,
    /// What the next hellos are answered with.
    pub(crate) hand_out: watch::Sender<Option<Declaration>>,
    /// The builds that the next hellos are answered to keep.
    pub(crate) keep: watch::Sender<Option<BuildsKept>>,
}

/// An agent that runs in a task.
pub(crate) struct Running {
    pub(crate) task: JoinHandle<Result<(), RunError>>,
    stop: oneshot::Sender<()>,
}

impl Controller {
    pub(crate) async fn new() -> Self {
        let bus = InProcessBus::new();
        let (say, heard) = watch::channel(Heard::default());
        let (hand_out, keep) = (watch::Sender::new(None), watch::Sender::new(None));
        tokio::spawn(serve(bus.clone(), say, hand_out.subscribe(), keep.subscribe()));
        // What nobody serves yet is asked again by the agent, but a test need not wait for that.
        tokio::task::yield_now().await;
        Self { bus, store: MemoryStore::new(), shelf: Shelf::default(), heard, hand_out, keep }
    }

    pub(crate) fn start<H: Host>(&self, host: &H, incarnation: u64) -> Running {
        let config = Config::new(machine(), "test".to_owned(), Incarnation(incarnation));
        self.start_as(config, host)
    }

    pub(crate) fn start_as<H: Host>(&self, config: Config, host: &H) -> Running {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
            Ending::Stop
        };
        let (bus, store, book) = (self.bus.clone(), self.store.clone(), self.shelf.book(host));
        let task = tokio::spawn(agent_shell::run(config, bus, store, book, host.clone(), shutdown));
        Running { task, stop }
    }

    /// Hands over a declaration, asking again while nobody answers.
    pub(crate) async fn declare(&self, declaration: Declaration) -> DeclareReply {
        let subject = wire::subject::declare(&machine()).parse().unwrap();
        let bytes = envelope(Declare { declaration }).encode().unwrap();
        let ask = async {
            loop {
                let timeout = Duration::from_secs(2);
                if let Ok(bytes) = self.bus.request(&subject, bytes.clone().into(), timeout).await {
                    return Envelope::decode(&bytes).unwrap().body;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(DEADLINE, ask).await.unwrap()
    }

    /// Waits for a fact.
    pub(crate) async fn until<T>(
        &mut self,
        what: &str,
        mut look: impl FnMut(&Heard) -> Option<T>,
    ) -> T {
        let mut found = None;
        let seen = self.heard.wait_for(|heard| {
            found = look(heard);
            found.is_some()
        });
        let seen = tokio::time::timeout(DEADLINE, seen).await.map(|seen| seen.is_ok());
        let heard = || format!("{:#?}", self.heard.borrow().statements.last());
        assert_eq!(seen, Ok(true), "this never became true: {what}; {}", heard());
        found.unwrap()
    }

    /// Waits until the only resource stands so.
    pub(crate) async fn until_row(
        &mut self,
        what: &str,
        mut is_so: impl FnMut(&ResourceStatement) -> bool,
    ) -> ResourceStatement {
        let newest = |heard: &Heard| heard.statements.last()?.resources.first().cloned();
        self.until(what, |heard| newest(heard).filter(&mut is_so)).await
    }

    /// Waits until the newest report says so of the module.
    pub(crate) async fn until_report(
        &mut self,
        what: &str,
        mut is_so: impl FnMut(u64, &ModuleOutcome) -> bool,
    ) -> Report {
        let mut look = |report: &Report| {
            let module: Option<&ModuleReport> = report.modules.values().next();
            module.is_some_and(|module| is_so(report.declaration.0, &module.outcome))
        };
        self.until(what, |heard| heard.reports.last().filter(|one| look(one)).cloned()).await
    }
}

impl Running {
    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(self) -> Result<(), RunError> {
        self.stop.send(()).unwrap();
        self.task.await.unwrap()
    }

    /// What a crash of the agent's process does to it.
    pub(crate) async fn crash(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

async fn serve(
    bus: InProcessBus,
    say: watch::Sender<Heard>,
    hand_out: watch::Receiver<Option<Declaration>>,
    keep: watch::Receiver<Option<BuildsKept>>,
) {
    let mut statements =
        bus.subscribe(&wire::subject::any_health().parse().unwrap()).await.unwrap();
    let mut reports = bus.serve(&wire::subject::any_report().parse().unwrap()).await.unwrap();
    let mut hellos = bus.serve(&wire::subject::any_hello().parse().unwrap()).await.unwrap();
    loop {
        tokio::select! {
            Some(message) = statements.next() => {
                let statement = Envelope::decode(&message.payload).unwrap().body;
                say.send_modify(|heard| heard.statements.push(statement));
            }
            Some(request) = reports.next() => {
                let report: Report = Envelope::decode(&request.payload).unwrap().body;
                let reply =
                    ReportReply { declaration: report.declaration, revision: report.revision };
                say.send_modify(|heard| heard.reports.push(report));
                request.responder.respond(envelope(reply).encode().unwrap().into()).unwrap();
            }
            Some(request) = hellos.next() => {
                let hello: Hello = Envelope::decode(&request.payload).unwrap().body;
                say.send_modify(|heard| heard.hellos.push(hello));
                let (declaration, keep) = (hand_out.borrow().clone(), keep.borrow().clone());
                let reply = HelloReply { declaration, keep };
                request.responder.respond(envelope(reply).encode().unwrap().into()).unwrap();
            }
            else => return,
        }
    }
}

fn envelope<T>(body: T) -> Envelope<T> {
    let sent_at: DateTime<Utc> = DateTime::UNIX_EPOCH;
    Envelope::new("1".to_owned(), "controller".to_owned(), sent_at, body)
}
