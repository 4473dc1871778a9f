//! The task that has a connection or makes one.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bus::{Message, Queue};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::connection::{Connection, ConnectionError};
use super::conversation::{Conversation, End, Halves};
use super::pause::pause;
use super::wanted::Wanted;
use super::{Ask, Order};
use crate::frame::{ToClient, VERSION};
use crate::{link, peer, place};

/// How long a server may take to say hello, and then to confirm what stands here. It takes a millisecond; one that hangs
/// is as good as none.
pub(super) const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// Owns everything behind the handles.
#[derive(Debug)]
pub(super) struct Keeper {
    path: PathBuf,
    pub(super) orders: mpsc::Receiver<Order>,
    pub(super) asks: mpsc::Receiver<Ask>,
    pub(super) messages: Queue<Message>,
    pub(super) wanted: Wanted,
    say: watch::Sender<Connection>,
}

impl Keeper {
    pub(super) fn new(
        path: PathBuf,
        orders: mpsc::Receiver<Order>,
        asks: mpsc::Receiver<Ask>,
        messages: Queue<Message>,
        say: watch::Sender<Connection>,
    ) -> Self {
        Self { path, orders, asks, messages, wanted: Wanted::default(), say }
    }

    /// Keeps a connection until the bus is closed, or all its handles are gone.
    pub(super) async fn keep(mut self) {
        self.keep_connected().await;
        let say = self.say.clone();
        // When it is heard that the bus is closed, nothing is taken in any more.
        drop(self);
        say.send_replace(Connection::Closed);
    }

    async fn keep_connected(&mut self) {
        let mut failed = 0;
        loop {
            let path = self.path.clone();
            let Some(opened) = self.meanwhile(open(&path)).await else { return };
            let why = match opened {
                Err(why) => why,
                Ok(halves) => match Conversation::new(halves, self).converse().await {
                    End::Closed => return,
                    End::Lost(why) => why,
                },
            };
            if self.say.borrow().is_connected() {
                failed = 0;
            }
            self.lose(why);
            if self.meanwhile(sleep(pause(failed))).await.is_none() {
                return;
            }
            failed = failed.saturating_add(1);
        }
    }

    /// Does this, and minds the handles meanwhile. `None`: the bus is to be closed.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                order = self.orders.recv() => match order {
                    Some(Order::Want(want)) => {
                        self.wanted.sweep();
                        self.wanted.add(want);
                        if let Connection::Lost(_) = *self.say.borrow() {
                            self.wanted.wait_no_longer();
                        }
                    }
                    Some(Order::Close) | None => return None,
                },
            }
        }
    }

    /// Everything stands.
    pub(super) fn settled(&self) {
        self.say.send_if_modified(|now| match now {
            Connection::Connected => false,
            Connection::Connecting | Connection::Lost(_) | Connection::Closed => {
                *now = Connection::Connected;
                true
            }
        });
    }

    fn lose(&mut self, why: ConnectionError) {
        self.say.send_if_modified(|now| match now {
            // The same reason once more is no news.
            Connection::Lost(before) if format!("{before:?}") == format!("{why:?}") => false,
            Connection::Connecting
            | Connection::Connected
            | Connection::Lost(_)
            | Connection::Closed => {
                *now = Connection::Lost(Arc::new(why));
                true
            }
        });
        self.wanted.wait_no_longer();
        // What was said before must not be heard as if it were new.
        while self.messages.try_next().is_some() {}
    }
}

/// Connects, and hears who is there, and whether this process is served.
async fn open(path: &Path) -> Result<Halves, ConnectionError> {
    let greeted = async {
        let stream = place::reach(path).await.map_err(ConnectionError::reaching)?;
        peer::check(&stream)?;
        let (mut incoming, mut outgoing) = link::halves(stream);
        while !outgoing.is_empty() {
            outgoing.write().await;
        }
        let theirs = incoming.hello().await?;
        if theirs != VERSION {
            return Err(ConnectionError::Version { theirs });
        }
        match incoming.next().await? {
            ToClient::Welcome => Ok((incoming, outgoing)),
            ToClient::Goodbye { why } => Err(ConnectionError::Dismissed(why)),
            ToClient::Stands { .. }
            | ToClient::Message { .. }
            | ToClient::Asked { .. }
            | ToClient::Answered { .. }
            | ToClient::NobodyServes { .. }
            | ToClient::NotTaken { .. } => Err(ConnectionError::NoBus),
        }
    };
    timeout(SETTLED_WITHIN, greeted).await.unwrap_or(Err(ConnectionError::Silent))
}
