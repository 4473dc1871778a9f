//! What is asked of a machine: three subjects, one queue.

use agent_core::{AskId, Event};
use bus::{Bus, Request, Requests, SubscribeError};
use wire::{BookAsked, Declare, Envelope, Unreadable, Word};

use crate::outbox::Subjects;

/// Everything that the machine answers.
#[derive(Debug)]
pub(crate) struct Asked {
    declarations: Requests,
    words: Requests,
    looks: Requests,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Declaration,
    Word,
    Book,
}

impl Asked {
    pub(crate) async fn serve<B: Bus>(
        bus: &B,
        subjects: &Subjects,
    ) -> Result<Self, SubscribeError> {
        Ok(Self {
            declarations: bus.serve(&subjects.declare.clone().into()).await?,
            words: bus.serve(&subjects.grant.clone().into()).await?,
            looks: bus.serve(&subjects.book.clone().into()).await?,
        })
    }

    /// The next of them; `None` when nobody can ask any more, since the bus is closed.
    pub(crate) async fn next(&mut self) -> Option<(What, Request)> {
        // Biased: the same requests in the same order are the same run. Each queue is bounded, so nothing starves for long.
        tokio::select! {
            biased;
            request = self.declarations.next() => Some((What::Declaration, request?)),
            request = self.words.next() => Some((What::Word, request?)),
            request = self.looks.next() => Some((What::Book, request?)),
        }
    }
}

impl What {
    /// The event that a request is.
    pub(crate) fn event(self, ask: AskId, bytes: &[u8]) -> Result<Event, Unreadable> {
        match self {
            Self::Declaration => Envelope::<Declare>::decode(bytes).map(|envelope| {
                let declaration = Box::new(envelope.body.declaration);
                Event::Declared { ask, declaration }
            }),
            Self::Word => Envelope::<Word>::decode(bytes)
                .map(|envelope| Event::Worded { ask, word: Box::new(envelope.body) }),
            Self::Book => Envelope::<BookAsked>::decode(bytes)
                .map(|envelope| Event::BookAsked { ask, asked: envelope.body }),
        }
    }

    /// Several of them, in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Declaration => "declarations",
            Self::Word => "signed words",
            Self::Book => "questions about the failure book",
        }
    }
}
