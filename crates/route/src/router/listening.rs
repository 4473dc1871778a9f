//! An address that is listened on: opened, and its connections accepted as long as there is room for them.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_ipv6_v6only;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Event;
use crate::table::Fault;

/// Connections that may wait to be accepted; the kernel has its own bound besides, `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// How long accepting pauses when the kernel gives no descriptor or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// A listener with the task that accepts from it.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) listener: Arc<TcpListener>,
    accepting: Option<Accepting>,
}

#[derive(Debug)]
struct Accepting {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// What all listeners have in common.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub(super) events: mpsc::UnboundedSender<Event>,
    /// Room for connections, by their descriptors.
    pub(super) places: Arc<Semaphore>,
}

/// Opens an address. Who listens there already is not looked up here.
pub(super) fn open(at: SocketAddr) -> Result<TcpListener, Fault> {
    let opened = match at {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let listener = opened.and_then(|socket| {
        if at.is_ipv6() {
            set_ipv6_v6only(&socket, true)?;
        }
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(BACKLOG)
    });
    listener.map_err(|error| fault(&error))
}

fn fault(error: &io::Error) -> Fault {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::ADDRINUSE) => Fault::InUse { by: None },
        Some(Errno::ACCESS | Errno::PERM) => Fault::Forbidden,
        Some(Errno::ADDRNOTAVAIL) => Fault::NoSuchAddress,
        Some(_) | None => Fault::Other { why: error.to_string() },
    }
}

impl Listening {
    /// Accepts from now on.
    pub(super) fn begin(at: SocketAddr, listener: TcpListener, gate: &Gate) -> Self {
        let mut listening = Self::paused(listener);
        listening.resume(at, gate);
        listening
    }

    /// Accepts nothing yet.
    pub(super) fn paused(listener: TcpListener) -> Self {
        Self { listener: Arc::new(listener), accepting: None }
    }

    /// Accepts again.
    pub(super) fn resume(&mut self, at: SocketAddr, gate: &Gate) {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(at, Arc::clone(&self.listener), gate.clone(), stopped));
        self.accepting = Some(Accepting { stop, task });
    }

    /// Accepts nothing any more. What comes waits in the kernel, as long as the listener is open.
    pub(super) async fn pause(&mut self) {
        if let Some(Accepting { stop, task }) = self.accepting.take() {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

async fn accept(
    at: SocketAddr,
    listener: Arc<TcpListener>,
    gate: Gate,
    mut stop: oneshot::Receiver<()>,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            _ = &mut stop => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let place = gate.place(&mut stop).await;
                // Who is told is gone only when the router is.
                let _ = gate.events.send(Event::Arrived { at, stream, place });
            }
            Err(error) if is_exhausted(&error) => {
                let _ = gate.events.send(Event::Exhausted { why: error.to_string() });
                tokio::select! {
                    biased;
                    _ = &mut stop => return,
                    () = sleep(PAUSE) => {}
                }
            }
            // It is about the connection, which is gone already.
            Err(_) => {}
        }
    }
}

fn is_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

impl Gate {
    /// Waits until there is room; meanwhile what comes waits in the kernel. None when the listener is to stop.
    async fn place(&self, stop: impl Future + Unpin) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        let _ = self.events.send(Event::Exhausted {
            why: "there are as many connections as descriptors allow".to_owned(),
        });
        tokio::select! {
            biased;
            _ = stop => None,
            place = Arc::clone(&self.places).acquire_owned() => place.ok(),
        }
    }
}

/// A connection that was accepted.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: crate::board::ConnectionId,
    /// Where it arrived.
    pub(super) at: SocketAddr,
    pub(super) stream: TcpStream,
    /// None: it came from another router, or as this one was handed over, and no place was free.
    pub(super) _place: Option<OwnedSemaphorePermit>,
}
