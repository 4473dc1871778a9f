//! One process at the other end of a connection, and what is done on the bus on its behalf.

use std::collections::BTreeMap;
use std::time::Duration;

use bus::{Bus, Bytes, Message, Pattern, Request, RequestError, Responder, SubscribeError};
use bus::{PublishError, QUEUE_LENGTH_MAX, Requests, Subject, Subscription};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::timeout;

use super::dismissal::Dismissal;
use crate::client::REGISTRATIONS_MAX;
use crate::frame::{AskId, HandedId, RegistrationId, ToClient, ToServer, VERSION};
use crate::link::{self, Incoming, Outgoing, ReadError};

/// How long a hello may take: whoever says none is no client.
pub(super) const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Requests of one client that are on the bus, or whose answers wait to be written. With it the answers that a client
/// does not read are bounded.
const ASKING_MAX: usize = 1024;

/// Requests that were handed to one client and are neither answered nor given up by it: many more than wait unread at its
/// end. A client that comes here has lost count of them.
pub(super) const HANDED_MAX: usize = 4 * QUEUE_LENGTH_MAX;

/// What was heard on the bus and waits to be written. The queues of the bus are before it.
const HEARD_LENGTH: usize = 16;

/// One process at the other end of a connection.
#[derive(Debug)]
pub(super) struct Remote<B> {
    hub: B,
    incoming: Incoming<OwnedReadHalf>,
    outgoing: Outgoing<OwnedWriteHalf>,
    registrations: BTreeMap<RegistrationId, AbortHandle>,
    listening: JoinSet<()>,
    hear: mpsc::Sender<Heard>,
    heard: mpsc::Receiver<Heard>,
    asks: BTreeMap<AskId, AbortHandle>,
    asking: JoinSet<Asked>,
    handed: BTreeMap<HandedId, Responder>,
    handed_last: u64,
}

/// What comes of a registration.
#[derive(Debug)]
enum Heard {
    Message(RegistrationId, Message),
    Request(RegistrationId, Request),
    /// It ended, which only the bus's end can bring about.
    End,
}

/// What came of a request.
type Asked = (AskId, Result<Bytes, RequestError>);

/// Why a connection is over.
#[derive(Debug)]
enum End {
    /// The other side is gone.
    Gone,
    Dismissed(Dismissal),
}

impl From<Dismissal> for End {
    fn from(why: Dismissal) -> Self {
        Self::Dismissed(why)
    }
}

impl From<ReadError> for End {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoHello => Dismissal::NoHello.into(),
            ReadError::Frame(error) => Dismissal::Frame(error).into(),
            ReadError::HungUp | ReadError::Io(_) => Self::Gone,
        }
    }
}

impl<B: Bus> Remote<B> {
    pub(super) fn new(stream: UnixStream, hub: B) -> Self {
        let (incoming, outgoing) = link::halves(stream);
        let (hear, heard) = mpsc::channel(HEARD_LENGTH);
        Self {
            hub,
            incoming,
            outgoing,
            registrations: BTreeMap::new(),
            listening: JoinSet::new(),
            hear,
            heard,
            asks: BTreeMap::new(),
            asking: JoinSet::new(),
            handed: BTreeMap::new(),
            handed_last: 0,
        }
    }

    /// Serves it until it is gone, or says or does what it may not.
    pub(super) async fn serve(mut self) {
        match self.converse().await {
            End::Gone => {}
            End::Dismissed(why) => why.tell(&mut self.outgoing).await,
        }
    }

    async fn converse(&mut self) -> End {
        let greeted = timeout(HELLO_WITHIN, self.greet()).await;
        match greeted.unwrap_or_else(|_| Err(Dismissal::NoHelloInTime.into())) {
            Ok(()) => {}
            Err(end) => return end,
        }
        loop {
            let turn = self.turn().await;
            if let Err(end) = turn {
                return end;
            }
        }
    }

    async fn greet(&mut self) -> Result<(), End> {
        while !self.outgoing.is_empty() {
            self.outgoing.write().await;
        }
        match self.incoming.hello().await? {
            VERSION => {
                self.outgoing.push(&ToClient::Welcome);
                Ok(())
            }
            theirs => Err(Dismissal::Version { theirs }.into()),
        }
    }

    /// Waits for one thing to happen, and deals with it.
    async fn turn(&mut self) -> Result<(), End> {
        // While this client does not read, nothing is taken in that would have to be kept for it: what it says stays in
        // the socket, and what is said to it in the queues of the bus. A client of ours reads whatever happens.
        let has_room = self.outgoing.has_room();
        let heard_out_at = self.outgoing.heard_out_at();
        tokio::select! {
            frame = self.incoming.next(), if has_room => self.take(frame?).await,
            () = self.outgoing.write(), if !self.outgoing.is_empty() => Ok(()),
            Some(heard) = self.heard.recv(), if has_room => self.tell(heard),
            Some(asked) = self.asking.join_next(), if has_room => self.answer(asked),
            () = link::until(heard_out_at) => Err(End::Gone),
        }
    }

    /// Does what the client said.
    async fn take(&mut self, frame: ToServer) -> Result<(), End> {
        match frame {
            ToServer::Publish { subject, payload } => {
                match self.hub.publish(&subject, payload).await {
                    Err(PublishError::Closed) => Err(Dismissal::BusClosed.into()),
                    // A message that is lost is no news to a client: it was promised nothing.
                    Ok(()) | Err(PublishError::TooLarge(_) | PublishError::Failed(_)) => Ok(()),
                }
            }
            ToServer::Subscribe { registration, pattern } => {
                self.subscribe(registration, &pattern).await
            }
            ToServer::Serve { registration, pattern } => {
                self.serve_on(registration, &pattern).await
            }
            ToServer::Leave { registration } => {
                if let Some(listening) = self.registrations.remove(&registration) {
                    listening.abort();
                }
                Ok(())
            }
            ToServer::Ask { id, within_ms, subject, payload } => {
                self.ask(id, Duration::from_millis(within_ms), subject, payload)
            }
            ToServer::Forget { id } => {
                if let Some(asking) = self.asks.remove(&id) {
                    asking.abort();
                }
                Ok(())
            }
            ToServer::Answer { id, payload } => {
                if let Some(responder) = self.handed.remove(&id) {
                    // Every payload that was read is within the bound.
                    let _ = responder.respond(payload);
                }
                Ok(())
            }
            ToServer::NoAnswer { id } => {
                self.handed.remove(&id);
                Ok(())
            }
        }
    }

    async fn subscribe(&mut self, id: RegistrationId, pattern: &Pattern) -> Result<(), End> {
        self.check_new(id)?;
        match self.hub.subscribe(pattern).await {
            Ok(subscription) => {
                let hear = self.hear.clone();
                self.registrations
                    .insert(id, self.listening.spawn(pass_messages(id, subscription, hear)));
                self.outgoing.push(&ToClient::Stands { registration: id });
                Ok(())
            }
            Err(error) => Err(no_registration(error).into()),
        }
    }

    async fn serve_on(&mut self, id: RegistrationId, pattern: &Pattern) -> Result<(), End> {
        self.check_new(id)?;
        match self.hub.serve(pattern).await {
            Ok(requests) => {
                let hear = self.hear.clone();
                self.registrations
                    .insert(id, self.listening.spawn(pass_requests(id, requests, hear)));
                self.outgoing.push(&ToClient::Stands { registration: id });
                Ok(())
            }
            Err(error) => Err(no_registration(error).into()),
        }
    }

    fn check_new(&mut self, id: RegistrationId) -> Result<(), Dismissal> {
        // Those that left are taken out here, so that they are never more than those that stand.
        while self.listening.try_join_next().is_some() {}
        if self.registrations.contains_key(&id) {
            return Err(Dismissal::GivenTwice(id.0));
        }
        if self.registrations.len() >= REGISTRATIONS_MAX {
            return Err(Dismissal::TooManyRegistrations);
        }
        Ok(())
    }

    fn ask(
        &mut self,
        id: AskId,
        within: Duration,
        subject: Subject,
        payload: Bytes,
    ) -> Result<(), End> {
        if self.asks.contains_key(&id) {
            return Err(Dismissal::GivenTwice(id.0).into());
        }
        if self.asking.len() >= ASKING_MAX {
            let why = format!("{ASKING_MAX} requests of this process wait for their answers");
            self.outgoing.push(&ToClient::NotTaken { id, why });
            return Ok(());
        }
        let hub = self.hub.clone();
        let asking = async move { (id, hub.request(&subject, payload, within).await) };
        self.asks.insert(id, self.asking.spawn(asking));
        Ok(())
    }

    /// Tells the client what came of a request of its own.
    fn answer(&mut self, asked: Result<Asked, JoinError>) -> Result<(), End> {
        // One that was forgotten ends as an error.
        let Ok((id, outcome)) = asked else { return Ok(()) };
        if self.asks.remove(&id).is_none() {
            return Ok(());
        }
        match outcome {
            Ok(payload) => self.outgoing.push(&ToClient::Answered { id, payload }),
            Err(RequestError::NoResponder) => {
                self.outgoing.push(&ToClient::NobodyServes { id });
            }
            // The client's own time is over as well, and it began earlier.
            Err(RequestError::TimedOut(_)) => {}
            Err(RequestError::Closed) => return Err(Dismissal::BusClosed.into()),
            Err(error @ (RequestError::TooLarge(_) | RequestError::Failed(_))) => {
                self.outgoing.push(&ToClient::NotTaken { id, why: error.to_string() });
            }
        }
        Ok(())
    }

    /// Tells the client what was heard on the bus for it.
    fn tell(&mut self, heard: Heard) -> Result<(), End> {
        match heard {
            Heard::Message(registration, Message { subject, payload }) => {
                self.outgoing.push(&ToClient::Message { registration, subject, payload });
                Ok(())
            }
            Heard::Request(registration, Request { subject, payload, responder }) => {
                if self.handed.len() >= HANDED_MAX {
                    return Err(Dismissal::TooManyUnanswered.into());
                }
                self.handed_last += 1;
                let id = HandedId(self.handed_last);
                self.handed.insert(id, responder);
                self.outgoing.push(&ToClient::Asked { registration, id, subject, payload });
                Ok(())
            }
            Heard::End => Err(Dismissal::BusClosed.into()),
        }
    }
}

fn no_registration(error: SubscribeError) -> Dismissal {
    match error {
        SubscribeError::Closed => Dismissal::BusClosed,
        SubscribeError::Failed(error) => Dismissal::NoRegistration(error),
    }
}

async fn pass_messages(id: RegistrationId, mut from: Subscription, to: mpsc::Sender<Heard>) {
    while let Some(message) = from.next().await {
        if to.send(Heard::Message(id, message)).await.is_err() {
            return;
        }
    }
    // Whoever would hear it may be gone as well.
    let _ = to.send(Heard::End).await;
}

async fn pass_requests(id: RegistrationId, mut from: Requests, to: mpsc::Sender<Heard>) {
    while let Some(request) = from.next().await {
        if to.send(Heard::Request(id, request)).await.is_err() {
            return;
        }
    }
    // Whoever would hear it may be gone as well.
    let _ = to.send(Heard::End).await;
}
