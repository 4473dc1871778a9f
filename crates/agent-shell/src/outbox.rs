//! What the agent says: requests that are answered or not, and statements of which only the newest counts.

use std::time::Duration;

use agent_core::Event;
use bus::{Bus, Subject};
use names::MachineName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wire::{Envelope, Hello, HelloReply, Report, ReportReply, Statement};

/// How long the last statement may take to leave when the agent ends.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Says things in the machine's name.
#[derive(Debug, Clone)]
pub(crate) struct Outbox<B> {
    bus: B,
    machine: MachineName,
    subjects: Subjects,
    timeout: Duration,
}

/// Where this machine speaks.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    pub(crate) declare: Subject,
    pub(crate) grant: Subject,
    pub(crate) book: Subject,
    pub(crate) hello: Subject,
    pub(crate) report: Subject,
    pub(crate) health: Subject,
}

impl Subjects {
    pub(crate) fn of(machine: &MachineName) -> Result<Self, bus::SubjectError> {
        Ok(Self {
            declare: wire::subject::declare(machine).parse()?,
            grant: wire::subject::grant(machine).parse()?,
            book: wire::subject::book(machine).parse()?,
            hello: wire::subject::hello(machine).parse()?,
            report: wire::subject::report(machine).parse()?,
            health: wire::subject::health(machine).parse()?,
        })
    }
}

impl<B: Bus> Outbox<B> {
    pub(crate) fn new(bus: B, machine: MachineName, subjects: Subjects, timeout: Duration) -> Self {
        Self { bus, machine, subjects, timeout }
    }

    pub(crate) async fn hello(&self, hello: Hello) -> Event {
        let id = format!("{}-h{}", hello.engine.0, hello.clock.timestamp_millis());
        let sent_at = hello.clock;
        let asked = Envelope::new(id, self.machine.to_string(), sent_at, hello);
        match self.ask::<_, HelloReply>(&self.subjects.hello, &asked).await {
            Some(reply) => Event::HelloAnswered(Box::new(reply)),
            None => Event::HelloUnanswered,
        }
    }

    pub(crate) async fn report(&self, report: Envelope<Report>) -> Event {
        match self.ask::<_, ReportReply>(&self.subjects.report, &report).await {
            Some(reply) => Event::ReportKept(reply),
            None => Event::ReportUnanswered,
        }
    }

    /// The answer, if there was one that can be read. Why there was none makes no difference: it is asked again.
    async fn ask<Q: Serialize, A: DeserializeOwned>(
        &self,
        subject: &Subject,
        question: &Envelope<Q>,
    ) -> Option<A> {
        let bytes = question.encode().ok()?;
        let answer = self.bus.request(subject, bytes.into(), self.timeout).await.ok()?;
        Some(Envelope::decode(&answer).ok()?.body)
    }
}

/// Publishes the newest statement; one that is overtaken while the bus is slow is never sent.
#[derive(Debug)]
pub(crate) struct Statements {
    newest: watch::Sender<Option<Envelope<Statement>>>,
    publishing: JoinHandle<()>,
}

impl Statements {
    pub(crate) fn publish_on<B: Bus>(bus: B, subject: Subject) -> Self {
        let (newest, mut seen) = watch::channel(None::<Envelope<Statement>>);
        let publishing = tokio::spawn(async move {
            while seen.changed().await.is_ok() {
                let bytes = seen.borrow_and_update().as_ref().and_then(|one| one.encode().ok());
                if let Some(bytes) = bytes {
                    // A statement that is lost is followed by another within seconds.
                    let _ = bus.publish(&subject, bytes.into()).await;
                }
            }
        });
        Self { newest, publishing }
    }

    pub(crate) fn state(&self, statement: Envelope<Statement>) {
        self.newest.send_replace(Some(statement));
    }

    /// Lets the newest statement leave.
    pub(crate) async fn finish(self) {
        drop(self.newest);
        let _ = tokio::time::timeout(LAST_WORD, self.publishing).await;
    }
}
