//! What is subscribed to and served here, through all connections.

use std::collections::BTreeMap;

use bus::{Fed, Feed, Message, Pattern, Request};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::frame::{RegistrationId, ToServer};

/// Subscriptions and servings of one process. A process has a handful; one that has so many forgets to drop them.
pub(crate) const REGISTRATIONS_MAX: usize = 1024;

/// Nothing more can be subscribed to or served by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{REGISTRATIONS_MAX} subscriptions and servings of this process stand, and there are no more"
)]
pub struct TooManyRegistrations;

/// A subscription, or a serving, as it is asked for.
#[derive(Debug)]
pub(super) struct Want {
    pub(super) pattern: Pattern,
    pub(super) sink: Sink,
    /// Told when it stands, or need not be waited for.
    pub(super) stands: oneshot::Sender<Result<(), TooManyRegistrations>>,
}

/// Where what arrives goes.
#[derive(Debug)]
pub(super) enum Sink {
    Messages(Feed<Message>),
    Requests(Feed<Request>),
}

/// Everything that is subscribed to and served here.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    all: BTreeMap<RegistrationId, Entry>,
    last: u64,
}

#[derive(Debug)]
struct Entry {
    pattern: Pattern,
    sink: Sink,
    waits: Option<oneshot::Sender<Result<(), TooManyRegistrations>>>,
}

impl Wanted {
    /// Takes it in; nothing if there are too many.
    pub(super) fn add(&mut self, want: Want) -> Option<RegistrationId> {
        let Want { pattern, sink, stands } = want;
        if self.all.len() >= REGISTRATIONS_MAX {
            // Whoever asked may have given up, here and below.
            let _ = stands.send(Err(TooManyRegistrations));
            return None;
        }
        self.last += 1;
        let id = RegistrationId(self.last);
        self.all.insert(id, Entry { pattern, sink, waits: Some(stands) });
        Some(id)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = RegistrationId> {
        self.all.keys().copied()
    }

    /// What the server is told to bring it about; nothing if it is not wanted any more.
    pub(super) fn frame(&self, id: RegistrationId) -> Option<ToServer> {
        let Entry { pattern, sink, .. } = self.all.get(&id)?;
        let pattern = pattern.clone();
        Some(match sink {
            Sink::Messages(_) => ToServer::Subscribe { registration: id, pattern },
            Sink::Requests(_) => ToServer::Serve { registration: id, pattern },
        })
    }

    /// It stands.
    pub(super) fn stands(&mut self, id: RegistrationId) {
        if let Some(waits) = self.all.get_mut(&id).and_then(|entry| entry.waits.take()) {
            let _ = waits.send(Ok(()));
        }
    }

    /// Without a connection nobody is kept waiting.
    pub(super) fn wait_no_longer(&mut self) {
        for waits in self.all.values_mut().filter_map(|entry| entry.waits.take()) {
            let _ = waits.send(Ok(()));
        }
    }

    /// Hands over what was published. [`Fed::Gone`] if nobody here wants it any more.
    pub(super) fn message(&self, id: RegistrationId, message: Message) -> Fed {
        match self.all.get(&id).map(|entry| &entry.sink) {
            Some(Sink::Messages(feed)) => feed.feed(message),
            Some(Sink::Requests(_)) | None => Fed::Gone,
        }
    }

    /// Hands over what was asked. [`Fed::Gone`] if nobody here serves it any more; dropped, it says so itself.
    pub(super) fn request(&self, id: RegistrationId, request: Request) -> Fed {
        match self.all.get(&id).map(|entry| &entry.sink) {
            Some(Sink::Requests(feed)) => feed.feed(request),
            Some(Sink::Messages(_)) | None => Fed::Gone,
        }
    }

    /// Forgets those that nobody reads any more, and says which.
    pub(super) fn sweep(&mut self) -> Vec<RegistrationId> {
        let left = self.all.extract_if(.., |_, entry| match &entry.sink {
            Sink::Messages(feed) => feed.is_gone(),
            Sink::Requests(feed) => feed.is_gone(),
        });
        left.map(|(id, _)| id).collect()
    }

    /// Forgets this one; false if it was forgotten before.
    pub(super) fn remove(&mut self, id: RegistrationId) -> bool {
        self.all.remove(&id).is_some()
    }
}
