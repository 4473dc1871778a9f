//! The process that has the bus: accepts the others.

mod dismissal;
mod remote;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bus::Bus;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::link;
use crate::peer;
use crate::place::{self, BindError, Place};
use dismissal::Dismissal;
use remote::Remote;

/// Connections that are open at once. A machine's processes are few; what opens this many has gone wrong, and must not
/// take every descriptor of this process.
const CONNECTIONS_MAX: usize = 256;

/// How long accepting rests when it fails, for want of descriptors, say: those who have one give it back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves a bus to the other processes of its machine. This process uses the bus itself, without a detour.
///
/// The processes of this user and of root are served, and nobody else. What they publish, subscribe to, ask and serve
/// is done on the bus on their behalf, and ends with their connection.
#[derive(Debug)]
pub struct SocketServer<B> {
    /// Dropped before the listener: while that is open, the socket's file is told from any other.
    _place: Place,
    listener: UnixListener,
    hub: B,
}

impl<B: Bus> SocketServer<B> {
    /// Listens at `path`, from the answer on; who connects waits until [`SocketServer::serve`]. The socket of a server
    /// that was killed is replaced, and nothing else is.
    ///
    /// # Errors
    /// Whatever [`BindError`] says.
    pub async fn bind(path: impl AsRef<Path>, hub: B) -> Result<Self, BindError> {
        let (listener, place) = place::listen_at(path.as_ref()).await?;
        Ok(Self { _place: place, listener: UnixListener::from_std(listener)?, hub })
    }

    /// Serves until it is dropped. Then all connections are gone, and the socket with them.
    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(ACCEPT_PAUSE).await;
                continue;
            };
            match admit(&stream, &places) {
                Ok(place) => {
                    let remote = Remote::new(stream, self.hub.clone());
                    connections.spawn(async move {
                        remote.serve().await;
                        drop(place);
                    });
                }
                Err(why) => {
                    connections.spawn(async move {
                        let (_, mut outgoing) = link::halves(stream);
                        why.tell(&mut outgoing).await;
                    });
                }
            }
        }
    }
}

fn admit(
    stream: &UnixStream,
    places: &Arc<Semaphore>,
) -> Result<tokio::sync::OwnedSemaphorePermit, Dismissal> {
    peer::check(stream)?;
    Arc::clone(places).try_acquire_owned().map_err(|_| Dismissal::TooManyConnections)
}
