//! One connection of a client, from its hello to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bus::{Bytes, Fed, Message, Request, RequestError, Responder};
use thiserror::Error;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};

use super::connection::ConnectionError;
use super::keeper::{Keeper, SETTLED_WITHIN};
use super::{Ask, Asker, Order};
use crate::frame::{AskId, HandedId, RegistrationId, ToClient, ToServer};
use crate::link::{self, Incoming, LAST_WORD, Outgoing};

/// How often it is looked at who has left: subscriptions that were dropped, askers who wait no more.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A connected socket on which both sides have said hello.
pub(super) type Halves = (Incoming<OwnedReadHalf>, Outgoing<OwnedWriteHalf>);

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// It was closed here.
    Closed,
    /// It was lost.
    Lost(ConnectionError),
}

/// The server did not send a request on.
#[derive(Debug, Error)]
#[error("the server did not take it: {0}")]
struct NotTaken(String);

/// One connection of a client.
#[derive(Debug)]
pub(super) struct Conversation<'k> {
    keeper: &'k mut Keeper,
    incoming: Incoming<OwnedReadHalf>,
    outgoing: Outgoing<OwnedWriteHalf>,
    /// What is wanted and the server has not been told of.
    untold: BTreeSet<RegistrationId>,
    /// What was wanted before this connection and does not stand yet.
    resuming: BTreeSet<RegistrationId>,
    settled_by: Instant,
    asked: BTreeMap<AskId, Asker>,
    asked_last: u64,
    /// What comes of requests that this client serves. What comes of those of an earlier connection finds nobody here.
    reply: mpsc::UnboundedSender<ToServer>,
    replies: mpsc::UnboundedReceiver<ToServer>,
    sweep: Interval,
}

impl<'k> Conversation<'k> {
    pub(super) fn new((incoming, outgoing): Halves, keeper: &'k mut Keeper) -> Self {
        keeper.wanted.sweep();
        let resuming: BTreeSet<RegistrationId> = keeper.wanted.ids().collect();
        // There is one reply to each request that the server handed over, and it hands over so many at a time.
        let (reply, replies) = mpsc::unbounded_channel();
        let mut sweep = interval(SWEEP_EVERY);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            keeper,
            incoming,
            outgoing,
            untold: resuming.clone(),
            resuming,
            settled_by: Instant::now() + SETTLED_WITHIN,
            asked: BTreeMap::new(),
            asked_last: 0,
            reply,
            replies,
            sweep,
        }
    }

    /// Carries everything to and fro, until the connection is lost or the bus is closed here.
    pub(super) async fn converse(mut self) -> End {
        loop {
            if self.resuming.is_empty() {
                self.keeper.settled();
            }
            match self.turn().await {
                Ok(()) => {}
                Err(End::Closed) => {
                    self.finish().await;
                    return End::Closed;
                }
                Err(End::Lost(why)) => return End::Lost(why),
            }
        }
    }

    /// Waits for one thing to happen, and deals with it.
    async fn turn(&mut self) -> Result<(), End> {
        self.tell_untold();
        // This side reads whatever happens, so that the server always comes to read what is written here.
        let has_room = self.outgoing.has_room();
        let heard_out_at = self.outgoing.heard_out_at();
        let settled_by = (!self.resuming.is_empty()).then_some(self.settled_by);
        tokio::select! {
            frame = self.incoming.next() => match frame {
                Ok(frame) => self.hear(frame),
                Err(error) => Err(End::Lost(error.into())),
            },
            () = self.outgoing.write(), if !self.outgoing.is_empty() => Ok(()),
            order = self.keeper.orders.recv() => match order {
                Some(Order::Want(want)) => {
                    // Those who left make room.
                    self.sweep();
                    self.untold.extend(self.keeper.wanted.add(want));
                    Ok(())
                }
                Some(Order::Close) | None => Err(End::Closed),
            },
            Some(ask) = self.keeper.asks.recv(), if has_room => {
                self.ask(ask);
                Ok(())
            }
            Some(message) = self.keeper.messages.next(), if has_room => {
                self.publish(message);
                Ok(())
            }
            Some(reply) = self.replies.recv(), if has_room => {
                self.outgoing.push(&reply);
                Ok(())
            }
            _ = self.sweep.tick() => {
                self.sweep();
                Ok(())
            }
            () = link::until(settled_by) => Err(End::Lost(ConnectionError::Silent)),
            () = link::until(heard_out_at) => Err(End::Lost(ConnectionError::HungUp)),
        }
    }

    /// Tells the server what is wanted, as far as there is room.
    fn tell_untold(&mut self) {
        while self.outgoing.has_room()
            && let Some(id) = self.untold.pop_first()
        {
            if let Some(frame) = self.keeper.wanted.frame(id) {
                self.outgoing.push(&frame);
            }
        }
    }

    fn hear(&mut self, frame: ToClient) -> Result<(), End> {
        match frame {
            // Once more than needed.
            ToClient::Welcome => {}
            ToClient::Stands { registration } => {
                self.resuming.remove(&registration);
                self.keeper.wanted.stands(registration);
            }
            ToClient::Message { registration, subject, payload } => {
                let message = Message { subject, payload };
                if self.keeper.wanted.message(registration, message) == Fed::Gone {
                    self.leave(registration);
                }
            }
            ToClient::Asked { registration, id, subject, payload } => {
                let open = OpenRequest { id, reply: Some(self.reply.clone()) };
                let responder = Responder::new(move |payload| open.answer(payload));
                let request = Request { subject, payload, responder };
                if self.keeper.wanted.request(registration, request) == Fed::Gone {
                    self.leave(registration);
                }
            }
            ToClient::Answered { id, payload } => self.answer(id, Ok(payload)),
            ToClient::NobodyServes { id } => self.answer(id, Err(RequestError::NoResponder)),
            ToClient::NotTaken { id, why } => {
                self.answer(id, Err(RequestError::Failed(Box::new(NotTaken(why)))));
            }
            ToClient::Goodbye { why } => return Err(End::Lost(ConnectionError::Dismissed(why))),
        }
        Ok(())
    }

    fn answer(&mut self, id: AskId, answer: Result<Bytes, RequestError>) {
        if let Some(asker) = self.asked.remove(&id) {
            // Whoever asked may wait no more.
            let _ = asker.send(answer);
        }
    }

    fn publish(&mut self, Message { subject, payload }: Message) {
        self.outgoing.push(&ToServer::Publish { subject, payload });
    }

    fn ask(&mut self, Ask { subject, payload, until, asker }: Ask) {
        if asker.is_closed() {
            return;
        }
        self.asked_last += 1;
        let id = AskId(self.asked_last);
        self.asked.insert(id, asker);
        let within = until.map(|until| until.duration_since(Instant::now()).as_millis());
        let within_ms = within.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(u64::MAX);
        self.outgoing.push(&ToServer::Ask { id, within_ms, subject, payload });
    }

    fn sweep(&mut self) {
        for registration in self.keeper.wanted.sweep() {
            self.tell_left(registration);
        }
        let left: Vec<AskId> =
            self.asked.extract_if(.., |_, asker| asker.is_closed()).map(|(id, _)| id).collect();
        for id in left {
            self.outgoing.push(&ToServer::Forget { id });
        }
    }

    /// Nobody here wants it any more.
    fn leave(&mut self, registration: RegistrationId) {
        // What comes after the server was told so is of no consequence.
        if self.keeper.wanted.remove(registration) {
            self.tell_left(registration);
        }
    }

    fn tell_left(&mut self, registration: RegistrationId) {
        // Of what the server never heard it need not hear the end.
        if self.untold.remove(&registration) {
            self.resuming.remove(&registration);
        } else {
            self.outgoing.push(&ToServer::Leave { registration });
        }
    }

    /// Sends what was said before the end, as far as that is quick.
    async fn finish(&mut self) {
        let Self { keeper, incoming, outgoing, replies, .. } = self;
        let rest = async {
            loop {
                while outgoing.has_room() {
                    if let Ok(reply) = replies.try_recv() {
                        outgoing.push(&reply);
                    } else if let Some(Message { subject, payload }) = keeper.messages.try_next() {
                        outgoing.push(&ToServer::Publish { subject, payload });
                    } else {
                        return outgoing.finish().await;
                    }
                }
                outgoing.write().await;
            }
        };
        // A server that is not read does not read either.
        let hear_on = async { while incoming.next::<ToClient>().await.is_ok() {} };
        // A server that does not take it in time does not get it.
        let _ = timeout(LAST_WORD, async {
            tokio::select! {
                () = rest => {}
                () = hear_on => {}
            }
        })
        .await;
    }
}

/// A request that is to be answered. Dropped unanswered, it says so, so that the server keeps no place for the answer.
#[derive(Debug)]
struct OpenRequest {
    id: HandedId,
    reply: Option<mpsc::UnboundedSender<ToServer>>,
}

impl OpenRequest {
    fn answer(mut self, payload: Bytes) {
        if let Some(reply) = self.reply.take() {
            // The connection on which it was asked may be gone, and with it the asker.
            let _ = reply.send(ToServer::Answer { id: self.id, payload });
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(ToServer::NoAnswer { id: self.id });
        }
    }
}
