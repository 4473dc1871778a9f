//! The bus within one process, on tokio's channels: for the dev fleet, tests and simulations.
//!
//! Needs a tokio runtime with its clock, for time-outs and delays. Deliveries happen in the call that sends, in
//! a fixed order, unless the script says otherwise; nothing here is random.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use crate::port::{
    Bus, Message, PublishError, Request, RequestError, Requests, Responder, SubscribeError,
    Subscription, TooLarge,
};
use crate::queue::{Fed, Feed, queue};
use crate::script::{Leg, Rule, Script, Step};
use crate::subject::{Pattern, Subject};

/// A bus for one process. Clones are on the same bus.
#[derive(Debug, Clone)]
pub struct InProcessBus {
    // Anyone may send from any thread; the lock is held while a delivery is queued, never across an await.
    hub: Arc<Mutex<Hub>>,
    open: Arc<watch::Sender<Open>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

#[derive(Debug)]
struct Hub {
    subscribers: Vec<(Pattern, Feed<Message>)>,
    servers: BTreeMap<Pattern, Servers>,
    script: Script<Delivery>,
}

/// Those who serve one pattern; they take turns.
#[derive(Debug, Default)]
struct Servers {
    feeds: Vec<Feed<Request>>,
    turn: usize,
}

#[derive(Debug, Clone)]
enum Delivery {
    Message(Message),
    Request { subject: Subject, payload: Bytes, asker: Asker },
    Answer { payload: Bytes, asker: Asker },
}

/// Where an asker waits for the first of its answers; a second finds no room or no asker, and is lost.
type Asker = mpsc::Sender<Answer>;

#[derive(Debug)]
enum Answer {
    Payload(Bytes),
    NoResponder,
}

impl Default for InProcessBus {
    fn default() -> Self {
        Self::new()
    }
}

impl InProcessBus {
    /// A bus on which everything arrives.
    #[must_use]
    pub fn new() -> Self {
        let hub = Hub {
            subscribers: Vec::new(),
            servers: BTreeMap::new(),
            script: Script::new(Vec::new()),
        };
        Self { hub: Arc::new(Mutex::new(hub)), open: Arc::new(watch::Sender::new(Open::Yes)) }
    }

    /// Faults by script from now on, in place of the script before. What that one held back is delivered now;
    /// so an empty script heals the bus.
    pub fn set_script(&self, rules: Vec<Rule>) {
        let mut hub = self.lock();
        let before = std::mem::replace(&mut hub.script, Script::new(rules));
        for delivery in before.into_held() {
            self.deliver(&mut hub, delivery);
        }
    }

    /// Closes the bus for all its handles: subscriptions and requests end once what is queued was read, and
    /// every call answers that the bus is closed.
    pub fn close(&self) {
        self.open.send_replace(Open::No);
        let mut hub = self.lock();
        hub.subscribers.clear();
        hub.servers.clear();
    }

    fn is_closed(&self) -> bool {
        *self.open.borrow() == Open::No
    }

    fn lock(&self) -> MutexGuard<'_, Hub> {
        // A panic under the lock can only come from a failed allocation; the lists it guards are whole.
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, leg: Leg, subject: &Subject, delivery: Delivery) {
        let mut hub = self.lock();
        for step in hub.script.offer(leg, subject, delivery) {
            match step {
                Step::Deliver(delivery) => self.deliver(&mut hub, delivery),
                Step::DeliverAfter(duration, delivery) => self.deliver_after(duration, delivery),
            }
        }
    }

    fn deliver(&self, hub: &mut Hub, delivery: Delivery) {
        match delivery {
            Delivery::Message(message) => hub.publish(&message),
            Delivery::Request { subject, payload, asker } => {
                let request = || self.request_for(&subject, &payload, &asker);
                if !hub.hand_to_servers(&subject, request) {
                    // A full or gone asker has its answer already, or waits no more.
                    asker.try_send(Answer::NoResponder).ok();
                }
            }
            Delivery::Answer { payload, asker } => {
                asker.try_send(Answer::Payload(payload)).ok();
            }
        }
    }

    fn deliver_after(&self, duration: Duration, delivery: Delivery) {
        let bus = self.clone();
        // Without a runtime there is no clock to wait by, and the delivery is lost, as its bus would be.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep(duration).await;
                bus.deliver(&mut bus.lock(), delivery);
            });
        }
    }

    fn request_for(&self, subject: &Subject, payload: &Bytes, asker: &Asker) -> Request {
        let (bus, asker, on) = (self.clone(), asker.clone(), subject.clone());
        let responder = Responder::new(move |payload| {
            bus.send(Leg::Answer, &on, Delivery::Answer { payload, asker });
        });
        Request { subject: subject.clone(), payload: payload.clone(), responder }
    }
}

impl Hub {
    fn publish(&mut self, message: &Message) {
        self.subscribers.retain(|(pattern, feed)| {
            if pattern.matches(&message.subject) {
                feed.feed(message.clone()) != Fed::Gone
            } else {
                !feed.is_gone()
            }
        });
    }

    /// Hands a request to one server of every pattern that matches; false when there is none.
    fn hand_to_servers(&mut self, subject: &Subject, request: impl Fn() -> Request) -> bool {
        let mut taken = false;
        for (pattern, servers) in &mut self.servers {
            if pattern.matches(subject) {
                taken |= servers.hand(&request);
            }
        }
        self.servers.retain(|_, servers| !servers.feeds.is_empty());
        taken
    }
}

impl Servers {
    fn hand(&mut self, request: impl Fn() -> Request) -> bool {
        self.feeds.retain(|feed| !feed.is_gone());
        let Some(turn) = self.turn.checked_rem(self.feeds.len()) else { return false };
        self.turn = turn + 1;
        self.feeds.get(turn).is_some_and(|feed| feed.feed(request()) != Fed::Gone)
    }
}

impl Bus for InProcessBus {
    async fn publish(&self, subject: &Subject, payload: Bytes) -> Result<(), PublishError> {
        TooLarge::check(&payload)?;
        if self.is_closed() {
            return Err(PublishError::Closed);
        }
        let message = Message { subject: subject.clone(), payload };
        self.send(Leg::Message, subject, Delivery::Message(message));
        Ok(())
    }

    async fn subscribe(&self, pattern: &Pattern) -> Result<Subscription, SubscribeError> {
        let (feed, subscription) = queue();
        let mut hub = self.lock();
        if self.is_closed() {
            return Err(SubscribeError::Closed);
        }
        hub.subscribers.push((pattern.clone(), feed));
        Ok(subscription)
    }

    async fn request(
        &self,
        subject: &Subject,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, RequestError> {
        TooLarge::check(&payload)?;
        let mut open = self.open.subscribe();
        let (asker, mut answers) = mpsc::channel(1);
        if self.is_closed() {
            return Err(RequestError::Closed);
        }
        let request = Delivery::Request { subject: subject.clone(), payload, asker };
        self.send(Leg::Request, subject, request);
        let answered = async {
            match answers.recv().await {
                Some(Answer::Payload(payload)) => Ok(payload),
                Some(Answer::NoResponder) => Err(RequestError::NoResponder),
                // The request or its responder was dropped. Over a network nobody would know.
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = timeout(within, answered) => answer.unwrap_or(Err(RequestError::TimedOut(within))),
            _ = open.wait_for(|open| *open == Open::No) => Err(RequestError::Closed),
        }
    }

    async fn serve(&self, pattern: &Pattern) -> Result<Requests, SubscribeError> {
        let (feed, requests) = queue();
        let mut hub = self.lock();
        if self.is_closed() {
            return Err(SubscribeError::Closed);
        }
        hub.servers.entry(pattern.clone()).or_default().feeds.push(feed);
        Ok(requests)
    }
}
