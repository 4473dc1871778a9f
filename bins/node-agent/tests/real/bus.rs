//! What stands for the controller: it has the bus, hears what the machine says, and hands out declarations.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bus::{Bus, InProcessBus, Requests, Subscription};
use bus_socket::SocketServer;
use inventory::Declaration;
use names::MachineName;
use tokio::runtime::Runtime;
use wire::{Declare, DeclareReply, Envelope, Hello, HelloReply, Report, ReportReply, Statement};

use crate::machine::{Outcome, eventually};

/// What was heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) statement: Option<Statement>,
    pub(crate) report: Option<Report>,
    pub(crate) hello: Option<Hello>,
    /// What the next hellos are answered with.
    pub(crate) hand_out: Option<Declaration>,
    /// What was declared last.
    declared: Option<Declaration>,
}

/// A bus at a path, with a controller on it. Dropped, both are gone, and so is the socket.
#[derive(Debug)]
pub(crate) struct Controller {
    bus: InProcessBus,
    heard: Arc<Mutex<Heard>>,
    machine: MachineName,
    /// Dropped last: everything above runs on it.
    runtime: Runtime,
}

impl Controller {
    pub(crate) fn at(path: &Path, machine: &MachineName) -> Outcome<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build()?;
        let (bus, heard) = (InProcessBus::new(), Arc::new(Mutex::new(Heard::default())));
        runtime.block_on(async {
            let server = SocketServer::bind(path, bus.clone()).await?;
            tokio::spawn(server.serve());
            let statements = bus.subscribe(&wire::subject::any_health().parse()?).await?;
            let reports = bus.serve(&wire::subject::any_report().parse()?).await?;
            let hellos = bus.serve(&wire::subject::any_hello().parse()?).await?;
            tokio::spawn(hear(Arc::clone(&heard), statements, reports, hellos));
            Outcome::Ok(())
        })?;
        Ok(Self { bus, heard, machine: machine.clone(), runtime })
    }

    pub(crate) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over a declaration, asking again while nobody answers.
    pub(crate) fn declare(&self, declaration: &Declaration) -> Outcome<DeclareReply> {
        self.heard().declared = Some(declaration.clone());
        let subject = wire::subject::declare(&self.machine).parse()?;
        let bytes = said(Declare { declaration: declaration.clone() }).encode()?;
        eventually("the declaration is answered", || {
            let asked = self.bus.request(&subject, bytes.clone().into(), Duration::from_secs(5));
            Ok(match self.runtime.block_on(asked) {
                Ok(answer) => Ok(Envelope::<DeclareReply>::decode(&answer)?.body),
                Err(error) => Err(error.to_string()),
            })
        })
    }

    /// From now on hellos are answered with what was declared last.
    pub(crate) fn hands_out(&self) {
        let mut heard = self.heard();
        heard.hand_out = heard.declared.clone();
    }

    /// Waits for a report of which this is so.
    pub(crate) fn until_reported<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Report) -> Option<T>,
    ) -> Outcome<T> {
        eventually(what, || {
            let report = self.heard().report.clone();
            Ok(report.as_ref().and_then(&mut look).ok_or_else(|| format!("{report:?}")))
        })
    }

    /// Forgets what was stated, and waits for a statement of which this is so.
    pub(crate) fn until_stated<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&Statement) -> Option<T>,
    ) -> Outcome<T> {
        self.heard().statement = None;
        eventually(what, || {
            let statement = self.heard().statement.clone();
            Ok(match &statement {
                Some(statement) => look(statement).ok_or_else(|| format!("{statement:?}")),
                None => Err("nothing was stated".to_owned()),
            })
        })
    }
}

async fn hear(
    heard: Arc<Mutex<Heard>>,
    mut statements: Subscription,
    mut reports: Requests,
    mut hellos: Requests,
) {
    let heard = || heard.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        tokio::select! {
            Some(message) = statements.next() => {
                let read = Envelope::decode(&message.payload);
                heard().statement = read.ok().map(|read| read.body);
            }
            Some(request) = reports.next() => {
                let Ok(Envelope { body, .. }) = Envelope::<Report>::decode(&request.payload) else { continue };
                let reply = ReportReply { declaration: body.declaration, revision: body.revision };
                heard().report = Some(body);
                answer(request, reply);
            }
            Some(request) = hellos.next() => {
                let Ok(Envelope { body, .. }) = Envelope::decode(&request.payload) else { continue };
                heard().hello = Some(body);
                let declaration = heard().hand_out.clone();
                answer(request, HelloReply { declaration, keep: None });
            }
            else => return,
        }
    }
}

fn answer(request: bus::Request, reply: impl serde::Serialize) {
    if let Ok(bytes) = said(reply).encode() {
        let _ = request.responder.respond(bytes.into());
    }
}

fn said<T>(body: T) -> Envelope<T> {
    Envelope::new("1".to_owned(), "controller".to_owned(), Default::default(), body)
}
