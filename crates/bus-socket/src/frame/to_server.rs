//! What a client says to the server.

use bus::{Bytes, Pattern, Subject};

use super::fields::{Fields, put_number, put_text};
use super::{AskId, Frame, FrameError, HandedId, RegistrationId};

/// What a client says to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToServer {
    /// Publish this.
    Publish { subject: Subject, payload: Bytes },
    /// Say to me what is published on these subjects; answered with *stands*.
    Subscribe { registration: RegistrationId, pattern: Pattern },
    /// Hand me requests on these subjects; answered with *stands*.
    Serve { registration: RegistrationId, pattern: Pattern },
    /// Nobody here listens to this any more.
    Leave { registration: RegistrationId },
    /// Request this; the answer is of no use after so many milliseconds.
    Ask { id: AskId, within_ms: u64, subject: Subject, payload: Bytes },
    /// Nobody here waits for the answer any more.
    Forget { id: AskId },
    /// The answer to a request that I was handed.
    Answer { id: HandedId, payload: Bytes },
    /// There will be none.
    NoAnswer { id: HandedId },
}

const PUBLISH: u8 = 0x01;
const SUBSCRIBE: u8 = 0x02;
const SERVE: u8 = 0x03;
const LEAVE: u8 = 0x04;
const ASK: u8 = 0x05;
const FORGET: u8 = 0x06;
const ANSWER: u8 = 0x07;
const NO_ANSWER: u8 = 0x08;

impl Frame for ToServer {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Publish { subject, payload } => {
                to.push(PUBLISH);
                put_text(to, subject.as_str());
                to.extend_from_slice(payload);
            }
            Self::Subscribe { registration, pattern } => {
                to.push(SUBSCRIBE);
                put_number(to, registration.0);
                put_text(to, pattern.as_str());
            }
            Self::Serve { registration, pattern } => {
                to.push(SERVE);
                put_number(to, registration.0);
                put_text(to, pattern.as_str());
            }
            Self::Leave { registration } => {
                to.push(LEAVE);
                put_number(to, registration.0);
            }
            Self::Ask { id, within_ms, subject, payload } => {
                to.push(ASK);
                put_number(to, id.0);
                put_number(to, *within_ms);
                put_text(to, subject.as_str());
                to.extend_from_slice(payload);
            }
            Self::Forget { id } => {
                to.push(FORGET);
                put_number(to, id.0);
            }
            Self::Answer { id, payload } => {
                to.push(ANSWER);
                put_number(to, id.0);
                to.extend_from_slice(payload);
            }
            Self::NoAnswer { id } => {
                to.push(NO_ANSWER);
                put_number(to, id.0);
            }
        }
    }

    fn read(kind: u8, fields: &mut Fields<'_>) -> Result<Self, FrameError> {
        Ok(match kind {
            PUBLISH => Self::Publish { subject: fields.subject()?, payload: fields.payload()? },
            SUBSCRIBE => Self::Subscribe {
                registration: RegistrationId(fields.number()?),
                pattern: fields.pattern()?,
            },
            SERVE => Self::Serve {
                registration: RegistrationId(fields.number()?),
                pattern: fields.pattern()?,
            },
            LEAVE => Self::Leave { registration: RegistrationId(fields.number()?) },
            ASK => Self::Ask {
                id: AskId(fields.number()?),
                within_ms: fields.number()?,
                subject: fields.subject()?,
                payload: fields.payload()?,
            },
            FORGET => Self::Forget { id: AskId(fields.number()?) },
            ANSWER => Self::Answer { id: HandedId(fields.number()?), payload: fields.payload()? },
            NO_ANSWER => Self::NoAnswer { id: HandedId(fields.number()?) },
            kind => return Err(FrameError::UnknownKind(kind)),
        })
    }
}
