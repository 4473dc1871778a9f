//! A connection that is forwarded: on its way to a backend, then both directions between two sockets, until both are over or
//! somebody orders otherwise.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::io::ioctl_fionread;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_linger, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::farewell;
use super::flow::{Course, Flow, Moved};
use super::pipes::Pipes;
use super::{Client, Event};

/// How long a backend may take to be reached.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// How often a connection that is to be closed when it is quiet is looked at.
const QUIET_LOOKS_EVERY: Duration = Duration::from_millis(10);

/// What the owner of all connections wants of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Go,
    /// Close when the backend spoke last and nothing is on its way.
    Ease,
    Cut,
    /// Stand still and come back: another router goes on.
    Park,
}

/// Who sent something last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speaker {
    Nobody,
    Client,
    Backend,
}

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) client: Client,
    pub(super) backend: SocketAddr,
    pub(super) stream: TcpStream,
    /// From the client to the backend.
    pub(super) there: Flow,
    /// From the backend to the client.
    pub(super) back: Flow,
    pub(super) last: Speaker,
}

/// How a pair ended.
enum Outcome {
    Over,
    /// One side failed, so the other must not take what it got for all there is.
    Failed,
    Order(Order),
}

/// Connects a client to a backend and carries what they say.
pub(super) async fn begin(
    client: Client,
    backend: SocketAddr,
    mut orders: watch::Receiver<Order>,
    pipes: Pipes,
    events: mpsc::UnboundedSender<Event>,
) {
    let reached = tokio::select! {
        biased;
        order = halt(&mut orders) => Err(order),
        reached = timeout(CONNECT_MAX, TcpStream::connect(backend)) => Ok(reached),
    };
    // Who is told is gone only when the router is.
    let _ = match reached {
        Ok(Ok(Ok(stream))) => {
            let (there, back) = (Flow::default(), Flow::default());
            let last = Speaker::Nobody;
            ready(&client.stream, &stream);
            carry(Pair { client, backend, stream, there, back, last }, orders, pipes, events).await;
            return;
        }
        Ok(Ok(Err(_)) | Err(_)) | Err(Order::Go | Order::Ease | Order::Cut) => {
            events.send(Event::Unreached { client, backend })
        }
        Err(Order::Park) => events.send(Event::TakenBack { client, backend }),
    };
}

/// Carries on until the end.
pub(super) async fn carry(
    mut pair: Pair,
    mut orders: watch::Receiver<Order>,
    pipes: Pipes,
    events: mpsc::UnboundedSender<Event>,
) {
    let (id, at, backend) = (pair.client.id, pair.client.at, pair.backend);
    let outcome = pair.run(&mut orders, &pipes).await;
    if let Outcome::Order(Order::Park) = outcome {
        let _ = events.send(Event::Parked(Box::new(pair)));
        return;
    }
    let Pair { client, stream, there, .. } = pair;
    if matches!(outcome, Outcome::Failed | Outcome::Order(Order::Cut | Order::Go | Order::Park)) {
        for side in [&client.stream, &stream] {
            // It cannot fail on a socket that is open; if it did, the other side would see an end.
            let _ = set_socket_linger(side, Some(Duration::ZERO));
        }
    }
    drop(stream);
    let _ = events.send(Event::Ended { id, at, backend });
    let is_eased = matches!(outcome, Outcome::Order(Order::Ease));
    if is_eased || (matches!(outcome, Outcome::Over) && there.course() == Course::Broken) {
        farewell::hang_up(client.stream).await;
    }
}

/// Waits for an order to stop.
async fn halt(orders: &mut watch::Receiver<Order>) -> Order {
    let is_halt = |order: &Order| matches!(order, Order::Cut | Order::Park);
    match orders.wait_for(is_halt).await {
        Ok(order) => *order,
        // The router is gone.
        Err(_) => Order::Cut,
    }
}

/// What is written goes out at once, and a side that is gone without a word is noticed within minutes. Where a socket cannot
/// be told so it works all the same.
fn ready(client: &TcpStream, backend: &TcpStream) {
    for side in [client, backend] {
        let _ = side.set_nodelay(true);
        let _ = set_socket_keepalive(side, true);
        let _ = set_tcp_keepidle(side, Duration::from_secs(60));
        let _ = set_tcp_keepintvl(side, Duration::from_secs(15));
        let _ = set_tcp_keepcnt(side, 8);
    }
}

impl Pair {
    async fn run(&mut self, orders: &mut watch::Receiver<Order>, pipes: &Pipes) -> Outcome {
        loop {
            let order = *orders.borrow_and_update();
            match order {
                Order::Go => {}
                Order::Ease if self.is_quiet() => return Outcome::Order(order),
                Order::Ease => {}
                Order::Cut | Order::Park => return Outcome::Order(order),
            }
            tokio::select! {
                over = poll_fn(|cx| self.poll(cx, pipes)) => {
                    return if over.is_ok() { Outcome::Over } else { Outcome::Failed };
                }
                changed = orders.changed() => if changed.is_err() {
                    return Outcome::Order(Order::Cut);
                },
                () = sleep(QUIET_LOOKS_EVERY), if order == Order::Ease => {}
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, pipes: &Pipes) -> Poll<io::Result<()>> {
        let (client, backend) = (&self.client.stream, &self.stream);
        let mut moved = Moved::Nothing;
        let there = self.there.poll(cx, (client, backend), pipes, &mut moved)?;
        if moved == Moved::Something {
            self.last = Speaker::Client;
        }
        let mut moved = Moved::Nothing;
        let back = self.back.poll(cx, (backend, client), pipes, &mut moved)?;
        if moved == Moved::Something {
            self.last = Speaker::Backend;
        }
        if there.is_ready() && back.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Whether closing now cuts nothing off, as far as can be seen: the backend had the last word, and the client has not sent
    /// anything since.
    fn is_quiet(&self) -> bool {
        let unread = |side| ioctl_fionread(side).unwrap_or(0);
        self.last == Speaker::Backend
            && self.there.is_empty()
            && self.back.is_empty()
            && unread(&self.client.stream) == 0
            && unread(&self.stream) == 0
    }
}
