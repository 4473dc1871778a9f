//! What arrives on the bus, made into what the core hears.
//!
//! A message is believed of the machine whose subject it came on: one that speaks of another is dropped. What cannot be read
//! is counted and dropped; nothing of it is taken.

use bus::{Bus, Message, Pattern, Request, Requests, SubscribeError, Subscription};
use names::MachineName;
use serde::de::DeserializeOwned;
use wire::{Envelope, Hello, Report, Statement, subject};

/// Everything that machines say to the controller.
pub(crate) struct Intake {
    pub(crate) hellos: Requests,
    pub(crate) reports: Requests,
    pub(crate) statements: Subscription,
}

/// A message that speaks of a machine.
pub(crate) trait OfMachine {
    fn machine(&self) -> &MachineName;
}

impl OfMachine for Hello {
    fn machine(&self) -> &MachineName {
        &self.machine
    }
}

impl OfMachine for Report {
    fn machine(&self) -> &MachineName {
        &self.machine
    }
}

impl OfMachine for Statement {
    fn machine(&self) -> &MachineName {
        &self.machine
    }
}

impl Intake {
    /// Listens from now on.
    pub(crate) async fn open<B: Bus>(bus: &B) -> Result<Self, SubscribeError> {
        Ok(Self {
            hellos: bus.serve(&pattern(&subject::any_hello())?).await?,
            reports: bus.serve(&pattern(&subject::any_report())?).await?,
            statements: bus.subscribe(&pattern(&subject::any_health())?).await?,
        })
    }
}

fn pattern(text: &str) -> Result<Pattern, SubscribeError> {
    text.parse().map_err(|error: bus::SubjectError| SubscribeError::Failed(Box::new(error)))
}

/// What a published message says; `None` when it cannot be read or speaks of somebody else.
pub(crate) fn read_message<T: DeserializeOwned + OfMachine>(message: &Message) -> Option<T> {
    read(message.subject.as_str(), &message.payload)
}

/// What a request says; `None` when it cannot be read or speaks of somebody else.
pub(crate) fn read_request<T: DeserializeOwned + OfMachine>(request: &Request) -> Option<T> {
    read(request.subject.as_str(), &request.payload)
}

fn read<T: DeserializeOwned + OfMachine>(subject: &str, payload: &[u8]) -> Option<T> {
    let body = Envelope::<T>::decode(payload).ok()?.body;
    let speaker = subject::machine_of(subject)?;
    (*body.machine() == speaker).then_some(body)
}
