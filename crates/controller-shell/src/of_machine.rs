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

#[cfg(test)]
mod tests {
    use bus::{Bytes, InProcessBus, Requests};
    use wire::{BookAsked, BookState};

    use super::*;

    fn name() -> MachineName {
        "box-1".parse().unwrap()
    }

    async fn asked(bus: &InProcessBus) -> Answer {
        let book = Question::Book(BookAsked { module: None });
        ask(bus, DateTime::UNIX_EPOCH, &name(), book).await
    }

    async fn serve(bus: &InProcessBus) -> Requests {
        bus.serve(&subject::book(&name()).parse().unwrap()).await.unwrap()
    }

    /// Answers one request with these bytes.
    async fn answers(bus: &InProcessBus, bytes: Vec<u8>) -> Answer {
        let mut served = serve(bus).await;
        let answering = tokio::spawn(async move {
            let request = served.next().await.unwrap();
            request.responder.respond(Bytes::from(bytes)).unwrap();
        });
        let answer = asked(bus).await;
        answering.await.unwrap();
        answer
    }

    fn status(machine: &str) -> Vec<u8> {
        let status = BookStatus {
            machine: machine.parse().unwrap(),
            clock: DateTime::UNIX_EPOCH,
            book: BookState::Unusable { why: "damaged".into() },
        };
        Envelope::new("1".into(), machine.into(), DateTime::UNIX_EPOCH, status).encode().unwrap()
    }

    fn refusal(answer: Answer) -> Refusal {
        let Answer::Refused(refusal) = answer else { panic!("no refusal: {answer:?}") };
        assert_eq!(refusal.kind, RefusalKind::Silent);
        refusal
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_answers_for_itself_alone() {
        let bus = InProcessBus::new();
        let answer = answers(&bus, status("box-1")).await;
        assert!(matches!(answer, Answer::Book(status) if status.machine == name()));
        let other = refusal(answers(&bus, status("box-2")).await);
        assert!(other.why.contains("says that it is box-2"), "{other}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_answer_is_said_to_and_nobody_waits_for_ever() {
        let bus = InProcessBus::new();
        let nobody = refusal(asked(&bus).await);
        assert!(nobody.why.contains("nobody there serves this"), "{nobody}");
        let _silent = serve(&bus).await;
        let late = refusal(asked(&bus).await);
        assert!(late.why.contains("within 5 s, and may have done"), "{late}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_answer_is_not_taken_for_one() {
        let bus = InProcessBus::new();
        for bytes in [&b""[..], b"{}", b"\xff\xfe", b"[1,2"] {
            let noise = refusal(answers(&bus, bytes.to_vec()).await);
            assert!(noise.why.contains("cannot be read"), "{noise}");
        }
    }
}
