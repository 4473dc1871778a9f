//! A process that is on the bus of another: the port, over a connection that comes back.

mod connection;
mod conversation;
mod keeper;
mod pause;
mod wanted;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bus::{
    Bus, Bytes, Feed, Message, Pattern, PublishError, RequestError, Requests, Subject,
    SubscribeError, Subscription, TooLarge, queue,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};

pub use connection::{Connection, ConnectionError};
use keeper::Keeper;
pub(crate) use wanted::REGISTRATIONS_MAX;
pub use wanted::TooManyRegistrations;
use wanted::{Sink, Want};

/// How long a server may take to confirm a subscription. It confirms in a millisecond; one that hangs must not hang
/// whoever subscribes.
const STANDS_WITHIN: Duration = Duration::from_secs(5);

/// Calls that wait to be looked at. They never wait for the server there, so this is room for a burst.
const ORDERS_LENGTH: usize = 16;

/// Requests that wait for a connection, or for room in it; others wait for room here, each within its own time.
const ASKS_LENGTH: usize = 16;

/// A handle on the bus that another process serves. Cheap to clone; all clones use one connection.
///
/// It never gives up: while there is no connection it tries to make one, and then everything that is subscribed to and
/// served here is so again, before anything else is sent. [`SocketBus::connection`] tells how it stands.
///
/// **Without a connection** a publish fails at once, since nobody hears it. A request waits for a connection within its
/// own time, and times out otherwise. A subscription is taken, and hears what is published once a connection stands; so
/// is a serving. While the first attempt to connect is under way, calls wait for how it ends.
///
/// **A connection that is lost** takes along what was on its way. A request that was already sent ends with its own
/// time-out and not earlier: it may have been handled, and to say that it could not be sent would be untrue.
///
/// A process that publishes faster than its connection carries loses the oldest messages, as a slow reader does. Messages
/// arrive in the order in which they were published, and there is no other order.
///
/// When all handles are gone, what was said is still sent, and the connection ends.
#[derive(Debug, Clone)]
pub struct SocketBus {
    ends: Arc<Ends>,
}

/// The ends of what leads to the task that keeps the connection.
#[derive(Debug)]
struct Ends {
    orders: mpsc::Sender<Order>,
    asks: mpsc::Sender<Ask>,
    messages: Feed<Message>,
    connection: watch::Receiver<Connection>,
}

/// What must be done whether there is a connection or not.
#[derive(Debug)]
enum Order {
    Want(Want),
    Close,
}

/// A request, and who waits for its answer.
#[derive(Debug)]
struct Ask {
    subject: Subject,
    payload: Bytes,
    /// When nobody waits any more; none if that is too far away for the clock.
    until: Option<Instant>,
    asker: Asker,
}

/// Who waits for an answer. Dropped without one, it leaves the asker to its time-out.
type Asker = oneshot::Sender<Result<Bytes, RequestError>>;

impl SocketBus {
    /// A handle on the bus that is served at `path`, now or at any time.
    ///
    /// # Panics
    /// Outside of a tokio runtime with its I/O and its clock.
    #[must_use]
    pub fn connect(path: impl Into<PathBuf>) -> Self {
        let (orders, ordered) = mpsc::channel(ORDERS_LENGTH);
        let (asks, asked) = mpsc::channel(ASKS_LENGTH);
        let (messages, published) = queue();
        let (say, connection) = watch::channel(Connection::Connecting);
        tokio::spawn(Keeper::new(path.into(), ordered, asked, published, say).keep());
        Self { ends: Arc::new(Ends { orders, asks, messages, connection }) }
    }

    /// How the connection stands, and every change from now on.
    #[must_use]
    pub fn connection(&self) -> watch::Receiver<Connection> {
        let mut connection = self.ends.connection.clone();
        connection.mark_unchanged();
        connection
    }

    /// Closes the bus for all its handles, after what was said has left; that takes a second at most. Subscriptions and
    /// requests end once what is queued was read, and every call answers that the bus is closed.
    pub async fn close(&self) {
        // A keeper that is gone has closed already.
        let _ = self.ends.orders.send(Order::Close).await;
        self.closed().await;
    }

    async fn closed(&self) {
        // A runtime that ended took the one away who would say it.
        let _ = self.connection().wait_for(|now| matches!(now, Connection::Closed)).await;
    }

    async fn want(&self, pattern: &Pattern, sink: Sink) -> Result<(), SubscribeError> {
        let (say, stands) = oneshot::channel();
        let want = Want { pattern: pattern.clone(), sink, stands: say };
        self.ends.orders.send(Order::Want(want)).await.map_err(|_| SubscribeError::Closed)?;
        match timeout(STANDS_WITHIN, stands).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(too_many))) => Err(SubscribeError::Failed(Box::new(too_many))),
            Ok(Err(_)) => Err(SubscribeError::Closed),
            // It is taken all the same, and stands as soon as the server comes to it.
            Err(_) => Ok(()),
        }
    }
}

impl Bus for SocketBus {
    async fn publish(&self, subject: &Subject, payload: Bytes) -> Result<(), PublishError> {
        TooLarge::check(&payload)?;
        let connection = self.ends.connection.borrow().clone();
        match connection {
            Connection::Connecting | Connection::Connected => {
                // Without a reader the bus was closed just now.
                self.ends.messages.feed(Message { subject: subject.clone(), payload });
                Ok(())
            }
            Connection::Lost(why) => Err(PublishError::Failed(Box::new(why))),
            Connection::Closed => Err(PublishError::Closed),
        }
    }

    async fn subscribe(&self, pattern: &Pattern) -> Result<Subscription, SubscribeError> {
        let (feed, subscription) = queue();
        self.want(pattern, Sink::Messages(feed)).await?;
        Ok(subscription)
    }

    async fn request(
        &self,
        subject: &Subject,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, RequestError> {
        TooLarge::check(&payload)?;
        let (asker, answer) = oneshot::channel();
        let until = Instant::now().checked_add(within);
        let ask = Ask { subject: subject.clone(), payload, until, asker };
        let answered = async {
            self.ends.asks.send(ask).await.map_err(|_| RequestError::Closed)?;
            match answer.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = timeout(within, answered) => answer.unwrap_or(Err(RequestError::TimedOut(within))),
            () = self.closed() => Err(RequestError::Closed),
        }
    }

    async fn serve(&self, pattern: &Pattern) -> Result<Requests, SubscribeError> {
        let (feed, requests) = queue();
        self.want(pattern, Sink::Requests(feed)).await?;
        Ok(requests)
    }
}
