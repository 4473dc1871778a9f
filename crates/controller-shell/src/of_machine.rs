//! Asks a machine what only it can answer, and hands it what somebody signed. Each is asked once and waited for a few seconds:
//! whoever asked decides whether to ask again.

use std::time::Duration;

use bus::{Bus, RequestError, Subject, SubjectError};
use chrono::{DateTime, Utc};
use names::MachineName;
use serde::{Serialize, de::DeserializeOwned};
use wire::{
    BookStatus, Envelope, Unreadable, Word, WordReply,
    api::{Answer, Question, Refusal, RefusalKind},
    subject,
};

use crate::walk::{SENDER, with_sources};

/// How long a machine has: its answer to a word comes after that is on its disk.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Why a machine's answer is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// Nobody serves it there.
    #[error("nobody there serves this: its engine is down, or of a version without a failure book")]
    Nobody,
    /// It was asked, and what it did is not known.
    #[error("it did not answer within {} s, and may have done what it was asked", ANSWER_WITHIN.as_secs())]
    TimedOut,
    /// It was not asked.
    #[error("it could not be asked")]
    Request(#[source] RequestError),
    /// No message can be made of it.
    #[error("it could not be asked")]
    Unwritable(#[source] Unreadable),
    /// Its name makes no subject.
    #[error("it could not be asked")]
    Subject(#[from] SubjectError),
    /// It answered something else.
    #[error("what it answered cannot be read")]
    Unreadable(#[source] Unreadable),
    /// It answered for another machine.
    #[error("who answered says that it is {0}")]
    Other(MachineName),
}

/// Asks, and makes an answer of what the machine says or does not say.
pub(crate) async fn ask<B: Bus>(
    bus: &B,
    now: DateTime<Utc>,
    machine: &MachineName,
    question: Question,
) -> Answer {
    let answer = match question {
        Question::Word(word) => say(bus, now, machine, word).await.map(Answer::Said),
        Question::Book(asked) => {
            let status = request::<_, BookStatus>(bus, now, &subject::book(machine), asked).await;
            match status {
                Ok(status) if status.machine != *machine => Err(NoAnswer::Other(status.machine)),
                other => other.map(|status| Answer::Book(Box::new(status))),
            }
        }
    };
    answer.unwrap_or_else(|error| Answer::Refused(silent(machine, &error)))
}

/// Hands a signed word over.
pub(crate) async fn say<B: Bus>(
    bus: &B,
    now: DateTime<Utc>,
    machine: &MachineName,
    word: Word,
) -> Result<WordReply, NoAnswer> {
    request(bus, now, &subject::grant(machine), word).await
}

async fn request<T: Serialize, A: DeserializeOwned>(
    bus: &impl Bus,
    now: DateTime<Utc>,
    subject: &str,
    body: T,
) -> Result<A, NoAnswer> {
    let subject: Subject = subject.parse()?;
    let id = format!("{subject}-{}", now.timestamp_micros());
    let envelope = Envelope::new(id, SENDER.into(), now, body);
    let bytes = envelope.encode().map_err(NoAnswer::Unwritable)?;
    let answer =
        bus.request(&subject, bytes.into(), ANSWER_WITHIN).await.map_err(|error| match error {
            RequestError::NoResponder => NoAnswer::Nobody,
            RequestError::TimedOut(_) => NoAnswer::TimedOut,
            RequestError::TooLarge(_) | RequestError::Closed | RequestError::Failed(_) => {
                NoAnswer::Request(error)
            }
        })?;
    Ok(Envelope::<A>::decode(&answer).map_err(NoAnswer::Unreadable)?.body)
}

fn silent(machine: &MachineName, error: &NoAnswer) -> Refusal {
    Refusal {
        kind: RefusalKind::Silent,
        why: format!("{machine} does not answer: {}", with_sources(error)),
        hint: Some(format!(
            "see whether it is heard: controller machines; on {machine} itself: node-agent status"
        )),
    }
}
