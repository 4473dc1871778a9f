//! What the server says to a client.

use bus::{Bytes, Subject};

use super::fields::{Fields, put_number, put_reason, put_text};
use super::{AskId, Frame, FrameError, HandedId, RegistrationId};

/// What the server says to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToClient {
    /// You are served from now on. The first frame, unless it is a goodbye.
    Welcome,
    /// This subscription or serving stands: whatever comes from now on arrives.
    Stands { registration: RegistrationId },
    /// This was published.
    Message { registration: RegistrationId, subject: Subject, payload: Bytes },
    /// This was asked, and you serve it.
    Asked { registration: RegistrationId, id: HandedId, subject: Subject, payload: Bytes },
    /// The answer to what you asked.
    Answered { id: AskId, payload: Bytes },
    /// Nobody serves what you asked.
    NobodyServes { id: AskId },
    /// What you asked was not sent on.
    NotTaken { id: AskId, why: String },
    /// The last word: the connection ends.
    Goodbye { why: String },
}

const WELCOME: u8 = 0x80;
const STANDS: u8 = 0x81;
const MESSAGE: u8 = 0x82;
const ASKED: u8 = 0x83;
const ANSWERED: u8 = 0x84;
const NOBODY_SERVES: u8 = 0x85;
const NOT_TAKEN: u8 = 0x86;
const GOODBYE: u8 = 0x87;

impl Frame for ToClient {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Welcome => to.push(WELCOME),
            Self::Stands { registration } => {
                to.push(STANDS);
                put_number(to, registration.0);
            }
            Self::Message { registration, subject, payload } => {
                to.push(MESSAGE);
                put_number(to, registration.0);
                put_text(to, subject.as_str());
                to.extend_from_slice(payload);
            }
            Self::Asked { registration, id, subject, payload } => {
                to.push(ASKED);
                put_number(to, registration.0);
                put_number(to, id.0);
                put_text(to, subject.as_str());
                to.extend_from_slice(payload);
            }
            Self::Answered { id, payload } => {
                to.push(ANSWERED);
                put_number(to, id.0);
                to.extend_from_slice(payload);
            }
            Self::NobodyServes { id } => {
                to.push(NOBODY_SERVES);
                put_number(to, id.0);
            }
            Self::NotTaken { id, why } => {
                to.push(NOT_TAKEN);
                put_number(to, id.0);
                put_reason(to, why);
            }
            Self::Goodbye { why } => {
                to.push(GOODBYE);
                put_reason(to, why);
            }
        }
    }

    fn read(kind: u8, fields: &mut Fields<'_>) -> Result<Self, FrameError> {
        Ok(match kind {
            WELCOME => Self::Welcome,
            STANDS => Self::Stands { registration: RegistrationId(fields.number()?) },
            MESSAGE => Self::Message {
                registration: RegistrationId(fields.number()?),
                subject: fields.subject()?,
                payload: fields.payload()?,
            },
            ASKED => Self::Asked {
                registration: RegistrationId(fields.number()?),
                id: HandedId(fields.number()?),
                subject: fields.subject()?,
                payload: fields.payload()?,
            },
            ANSWERED => Self::Answered { id: AskId(fields.number()?), payload: fields.payload()? },
            NOBODY_SERVES => Self::NobodyServes { id: AskId(fields.number()?) },
            NOT_TAKEN => {
                Self::NotTaken { id: AskId(fields.number()?), why: fields.text()?.to_owned() }
            }
            GOODBYE => Self::Goodbye { why: fields.text()?.to_owned() },
            kind => return Err(FrameError::UnknownKind(kind)),
        })
    }
}
