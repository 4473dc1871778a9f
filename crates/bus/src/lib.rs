//! Port for messages, and the bus within one process.
//!
//! [`Bus`] is the port; [`InProcessBus`] is its implementation for one process, with faults by script. Every
//! implementation hands out the same [`Queue`]s and runs the checks of `contract` (feature of the same name).

#[cfg(feature = "contract")]
pub mod contract;
mod in_process;
mod port;
mod queue;
mod script;
mod subject;

pub use bytes::Bytes;

pub use in_process::InProcessBus;
pub use port::{
    Bus, Message, PAYLOAD_BYTES_MAX, PublishError, Request, RequestError, Requests, Responder,
    Source, SubscribeError, Subscription, TooLarge,
};
pub use queue::{Fed, Feed, QUEUE_LENGTH_MAX, Queue, queue};
pub use script::{Fault, Leg, Rule};
pub use subject::{Pattern, SUBJECT_BYTES_MAX, Subject, SubjectError};
