//! Port for messages, and the bus within one process.

mod port;
mod queue;
mod subject;

pub use bytes::Bytes;

pub use port::{
    Bus, Message, PAYLOAD_BYTES_MAX, PublishError, Request, RequestError, Requests, Responder,
    Source, SubscribeError, Subscription, TooLarge,
};
pub use queue::{Fed, Feed, QUEUE_LENGTH_MAX, Queue, queue};
pub use subject::{Pattern, SUBJECT_BYTES_MAX, Subject, SubjectError};
