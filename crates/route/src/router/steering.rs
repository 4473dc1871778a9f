//! What a router does with a table and with connections: as the board says.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::spawn_blocking;

use super::listening::{self, Client, Listening};
use super::pair::{self, Order, Pair};
use super::{Router, farewell, now};
use crate::board::{ConnectionId, Course};
use crate::listeners;
use crate::table::{Fault, Refusal, Table};

/// A connection that is forwarded, or on its way.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) backend: SocketAddr,
    pub(super) orders: watch::Sender<Order>,
}

impl Router {
    /// Puts a table in effect, as far as that is possible, and says where it is not.
    pub(super) async fn set(&mut self, table: Table) -> BTreeMap<SocketAddr, Fault> {
        let mut faults = table.faults();
        let gone: Vec<SocketAddr> =
            self.listening.keys().filter(|at| !table.0.contains_key(at)).copied().collect();
        for at in gone {
            if let Some(mut listening) = self.listening.remove(&at) {
                listening.pause().await;
            }
            let courses = self.board.turn(at, None, now());
            self.follow(courses);
        }
        for (at, to) in table.0 {
            if faults.contains_key(&at) {
                continue;
            }
            if !self.listening.contains_key(&at) {
                match listening::open(at) {
                    Ok(listener) => {
                        self.listening.insert(at, Listening::begin(at, listener, &self.gate));
                    }
                    Err(fault) => {
                        faults.insert(at, fault);
                        continue;
                    }
                }
            }
            let courses = self.board.turn(at, Some(to), now());
            self.follow(courses);
        }
        faults
    }

    pub(super) fn arrived(
        &mut self,
        at: SocketAddr,
        stream: TcpStream,
        place: Option<OwnedSemaphorePermit>,
    ) {
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let client = Client { id, at, stream, _place: place };
        let now = now();
        let course = self.board.arrived(at, id, now);
        let is_held = course == Course::Hold;
        self.steer(client, course);
        if is_held && self.board.tells(at, now) {
            self.tell_waiting(at);
        }
    }

    pub(super) fn unreached(&mut self, client: Client, backend: SocketAddr) {
        self.open.remove(&client.id);
        let course = self.board.unreached(client.at, client.id, backend, now());
        self.steer(client, course);
        self.mind_drains();
    }

    pub(super) fn ended(&mut self, id: ConnectionId, at: SocketAddr, backend: SocketAddr) {
        self.open.remove(&id);
        self.board.ended(at, id, backend);
        self.mind_drains();
    }

    /// Does what the board says of those that wait.
    pub(super) fn follow(&mut self, courses: Vec<(ConnectionId, Course)>) {
        for (id, course) in courses {
            if let Some(client) = self.held.remove(&id) {
                self.steer(client, course);
            }
        }
    }

    fn steer(&mut self, client: Client, course: Course) {
        match course {
            Course::Forward(backend) => self.start(client, backend),
            Course::Hold => drop(self.held.insert(client.id, client)),
            Course::Refuse(refusal) => self.refuse(client, refusal),
        }
    }

    fn refuse(&mut self, client: Client, refusal: Refusal) {
        self.farewells.spawn(async move {
            let Client { stream, _place: place, .. } = client;
            farewell::refuse(stream, refusal).await;
            drop(place);
        });
    }

    /// Lets a connection go to a backend.
    pub(super) fn start(&mut self, client: Client, backend: SocketAddr) {
        let orders = self.note_open(client.id, backend);
        tokio::spawn(pair::begin(
            client,
            backend,
            orders,
            self.pipes.clone(),
            self.gate.events.clone(),
        ));
    }

    /// Lets a connection go on that stood still.
    pub(super) fn carry(&mut self, pair: Pair) {
        let orders = self.note_open(pair.client.id, pair.backend);
        tokio::spawn(pair::carry(pair, orders, self.pipes.clone(), self.gate.events.clone()));
    }

    fn note_open(&mut self, id: ConnectionId, backend: SocketAddr) -> watch::Receiver<Order> {
        let (orders, heard) = watch::channel(Order::Go);
        self.open.insert(id, Open { backend, orders });
        heard
    }
}

/// Says who listens where a router cannot. It looks at all processes, so it takes its time.
pub(super) async fn name_holders(
    mut faults: BTreeMap<SocketAddr, Fault>,
) -> BTreeMap<SocketAddr, Fault> {
    let named = spawn_blocking(move || {
        for (at, fault) in &mut faults {
            if let Fault::InUse { by } = fault {
                *by = listeners::holder(*at);
            }
        }
        faults
    });
    named.await.unwrap_or_default()
}
