//! The port: publish, subscribe, request, serve.
//!
//! Delivery is **at most once, and an `Ok` from a publish says only that the bus took it**: whatever must
//! arrive is sent as a request and repeated by the caller, with back-off, until it is answered. A request that
//! timed out may have been handled, so every handler is idempotent by id or number.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;

use crate::queue::Queue;
use crate::subject::{Pattern, Subject};

/// Largest payload of a message, request or answer, in bytes; checked where it is sent.
pub const PAYLOAD_BYTES_MAX: usize = 512 * 1024;

/// A handle on a bus. Cheap to clone; all clones are on the same bus.
pub trait Bus: Clone + Send + Sync + 'static {
    /// Says `payload` to everyone who subscribed to a pattern that matches. Nobody listening is no error.
    fn publish(
        &self,
        subject: &Subject,
        payload: Bytes,
    ) -> impl Future<Output = Result<(), PublishError>> + Send;

    /// Listens to everything published on subjects that match, from the answer on, until the subscription is
    /// dropped.
    fn subscribe(
        &self,
        pattern: &Pattern,
    ) -> impl Future<Output = Result<Subscription, SubscribeError>> + Send;

    /// Asks whoever serves `subject`, and waits for the first answer at most `timeout`.
    fn request(
        &self,
        subject: &Subject,
        payload: Bytes,
        timeout: Duration,
    ) -> impl Future<Output = Result<Bytes, RequestError>> + Send;

    /// Serves requests on subjects that match, from the answer on, until the requests are dropped. Those who
    /// serve the same pattern share its requests: each goes to one of them.
    fn serve(
        &self,
        pattern: &Pattern,
    ) -> impl Future<Output = Result<Requests, SubscribeError>> + Send;
}

/// Messages as they arrive.
pub type Subscription = Queue<Message>;

/// Requests as they arrive.
pub type Requests = Queue<Request>;

/// Something that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it was published on.
    pub subject: Subject,
    /// What was said.
    pub payload: Bytes,
}

/// Something that was asked.
#[derive(Debug)]
pub struct Request {
    /// What it was asked on.
    pub subject: Subject,
    /// What was asked.
    pub payload: Bytes,
    /// How to answer.
    pub responder: Responder,
}

/// Answers one request. Dropped without an answer, it leaves the asker to its time-out, as a server that died
/// would.
pub struct Responder(Box<dyn FnOnce(Bytes) + Send>);

impl Responder {
    /// For a bus to say how an answer finds its way back. `answer` must not block.
    pub fn new(answer: impl FnOnce(Bytes) + Send + 'static) -> Self {
        Self(Box::new(answer))
    }

    /// Sends the answer. Whether it arrives is not known here: the asker asks again if not.
    ///
    /// # Errors
    /// [`TooLarge`]: nothing is sent.
    pub fn respond(self, payload: Bytes) -> Result<(), TooLarge> {
        TooLarge::check(&payload)?;
        (self.0)(payload);
        Ok(())
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Responder")
    }
}

/// A payload over the bound. Nothing of it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a payload of {bytes} bytes is too large, the most is {PAYLOAD_BYTES_MAX}")]
pub struct TooLarge {
    /// Its size.
    pub bytes: usize,
}

impl TooLarge {
    /// For a bus to check a payload before it sends it.
    ///
    /// # Errors
    /// Itself, for more than [`PAYLOAD_BYTES_MAX`].
    pub fn check(payload: &Bytes) -> Result<(), Self> {
        let bytes = payload.len();
        if bytes > PAYLOAD_BYTES_MAX { Err(Self { bytes }) } else { Ok(()) }
    }
}

/// The implementation's own error.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a message was not taken.
#[derive(Debug, Error)]
pub enum PublishError {
    /// The payload is over the bound; sending it again is of no use.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The bus was closed for good. A lost connection is none: it comes back.
    #[error("the bus is closed")]
    Closed,
    /// The implementation could not send.
    #[error("the message could not be sent")]
    Failed(#[source] Source),
}

/// Why nothing will arrive.
#[derive(Debug, Error)]
pub enum SubscribeError {
    /// The bus was closed for good.
    #[error("the bus is closed")]
    Closed,
    /// The implementation could not subscribe.
    #[error("the bus could not be listened to")]
    Failed(#[source] Source),
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum RequestError {
    /// Nobody serves the subject right now. The request was handled by no one.
    #[error("nobody serves this subject")]
    NoResponder,
    /// No answer in time. The request may have been handled, may be later, or never.
    #[error("no answer in {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The payload is over the bound; asking again is of no use.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The bus was closed for good, before or while waiting.
    #[error("the bus is closed")]
    Closed,
    /// The implementation could not send.
    #[error("the request could not be sent")]
    Failed(#[source] Source),
}
