//! A router hands over all that it has to another, its *heir*: its own socket, its listeners, the connections that wait, and
//! those that are open, with what is on its way in them.
//!
//! ```text
//! heir                          the one before
//!                        ◄──    begin, with the board and the router's own socket
//!                        ◄──    a listener, a held connection, a pair: each with its descriptors
//!                        ◄──    all
//! have                   ──►
//!                        ◄──    yours
//! begun                  ──►    which ends
//! ```
//!
//! From `begin` on the one before touches nothing, and has everything until it hears `begun`. The heir touches nothing before
//! it has sent that. So:
//!
//! - the heir fails before `begun`: the one before sees the end of the socket, and goes on as if nothing had been;
//! - the one before fails: the heir sees the end of the socket, and goes on with what it has;
//! - the heir takes too long: the one before says `no` and goes on; an heir that hears that ends.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::flow::{Course, Flow};
use super::pair::{Order, Pair, Speaker};
use super::{Client, Event, Router, now};
use crate::board::{Board, ConnectionId};
use crate::passing::{Passage, Passed};

/// How long the heir may take to have all. Nobody is accepted meanwhile; who comes waits in the kernel.
const TAKE_MAX: Duration = Duration::from_secs(10);

/// How long connections may take to stand still. They do so at once; one that did not would hold up everything.
const STAND_STILL_MAX: Duration = Duration::from_secs(5);

/// What the one before says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromOld {
    Begin { board: Board, next_connection: u64 },
    Listener { at: SocketAddr },
    Held { id: ConnectionId, at: SocketAddr },
    Pair(Parked),
    All,
    Yours,
    No { why: String },
}

/// A pair, without its descriptors and what is on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Parked {
    pub(super) id: ConnectionId,
    pub(super) at: SocketAddr,
    pub(super) backend: SocketAddr,
    pub(super) there: Side,
    pub(super) back: Side,
    pub(super) last: Speaker,
}

/// One direction of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Side {
    /// How many bytes are left to be written. Those of both sides come with the message.
    pub(super) left: usize,
    pub(super) course: Course,
}

/// What the heir says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromHeir {
    Have,
    Begun,
}

/// A pair that stands still, with what is on its way in memory.
struct Still {
    pair: Pair,
    there: (Vec<u8>, Course),
    back: (Vec<u8>, Course),
}

/// All connections at a standstill.
#[derive(Default)]
struct Standstill {
    pairs: Vec<Still>,
    /// What engines said meanwhile. If the router goes on it heeds that; if not, they ask its heir.
    unheeded: Vec<Event>,
}

/// Why nothing was handed over.
struct NotTaken(String);

impl Router {
    /// Hands everything over, and says whether the heir has taken it. If not, everything goes on here.
    pub(super) async fn hand_over(&mut self, stream: UnixStream) -> bool {
        let mut passage = Passage::over(stream);
        for listening in self.listening.values_mut() {
            listening.pause().await;
        }
        let still = self.stand_still().await;
        let given = match self.offered(&mut passage, &still.pairs).await {
            // Whether it has begun only it knows, so there is no limit: its word or its end comes.
            Ok(()) => give(&mut passage).await,
            Err(why) => Err(why),
        };
        let Err(NotTaken(why)) = given else {
            (self.config.say)("another router has taken over everything: this one ends");
            return true;
        };
        (self.config.say)(&format!("the router goes on, for nobody took over from it: {why}"));
        // One that is gone need not hear it.
        let no = FromOld::No { why };
        let _ = timeout(TAKE_MAX, passage.send(&no, &[], &[])).await;
        drop(passage);
        self.go_on(still.pairs);
        for event in still.unheeded {
            self.heed(event).await;
        }
        false
    }

    /// Lets all connections come to a stop.
    async fn stand_still(&mut self) -> Standstill {
        for open in self.open.values() {
            open.orders.send_replace(Order::Park);
        }
        let mut still = Standstill::default();
        // Also what was accepted last is among the events.
        let deadline = Instant::now() + STAND_STILL_MAX;
        while !(self.open.is_empty() && self.events.is_empty()) {
            let Ok(Some(event)) = timeout_at(deadline, self.events.recv()).await else { break };
            match event {
                Event::Parked(pair) => {
                    self.open.remove(&pair.client.id);
                    still.pairs.extend(self.still(*pair));
                }
                Event::TakenBack { client, backend } => self.take_back(client, backend),
                Event::Arrived { at, stream, place } => {
                    self.arrived(at, stream, place);
                    self.park_all();
                }
                Event::Unreached { client, backend } => {
                    self.unreached(client, backend);
                    self.park_all();
                }
                // Only one takes over.
                Event::Heir(stream) => drop(stream),
                Event::Asked { .. } | Event::Engine(_) | Event::Left { .. } => {
                    still.unheeded.push(event);
                }
                Event::Exhausted { .. } | Event::Ended { .. } => self.heed(event).await,
            }
        }
        still
    }

    fn park_all(&self) {
        for open in self.open.values() {
            open.orders.send_if_modified(|order| {
                let is_new = *order != Order::Park;
                *order = Order::Park;
                is_new
            });
        }
    }

    fn take_back(&mut self, client: Client, backend: SocketAddr) {
        self.open.remove(&client.id);
        self.board.taken_back(client.at, client.id, backend, now());
        self.held.insert(client.id, client);
    }

    /// None: what was on its way in it cannot be had, so it is over.
    fn still(&mut self, mut pair: Pair) -> Option<Still> {
        let (there, back) = (std::mem::take(&mut pair.there), std::mem::take(&mut pair.back));
        match (there.into_left(), back.into_left()) {
            (Ok(there), Ok(back)) => Some(Still { pair, there, back }),
            (Err(_), _) | (_, Err(_)) => {
                self.board.ended(pair.client.at, pair.client.id, pair.backend);
                None
            }
        }
    }

    async fn offered(&self, passage: &mut Passage, still: &[Still]) -> Result<(), NotTaken> {
        if !self.open.is_empty() {
            return Err(NotTaken(format!("{} connections do not stand still", self.open.len())));
        }
        let offered = timeout(TAKE_MAX, self.offer(passage, still)).await;
        offered.unwrap_or_else(|_| Err(NotTaken("it takes too long".to_owned())))
    }

    /// Sends everything, until the heir says that it has it.
    async fn offer(&self, passage: &mut Passage, still: &[Still]) -> Result<(), NotTaken> {
        let gone = |_| NotTaken("it is gone".to_owned());
        let control = self.control.listener.as_fd();
        let next_connection = self.next_connection;
        let begin = FromOld::Begin { board: self.board.clone(), next_connection };
        passage.send(&begin, &[], &[control]).await.map_err(gone)?;
        for (at, listening) in &self.listening {
            let listener = listening.listener.as_fd();
            let message = FromOld::Listener { at: *at };
            passage.send(&message, &[], &[listener]).await.map_err(gone)?;
        }
        for client in self.held.values() {
            let message = FromOld::Held { id: client.id, at: client.at };
            passage.send(&message, &[], &[client.stream.as_fd()]).await.map_err(gone)?;
        }
        for Still { pair, there, back } in still {
            let side =
                |(left, course): &(Vec<u8>, Course)| Side { left: left.len(), course: *course };
            let message = FromOld::Pair(Parked {
                id: pair.client.id,
                at: pair.client.at,
                backend: pair.backend,
                there: side(there),
                back: side(back),
                last: pair.last,
            });
            let ends = [pair.client.stream.as_fd(), pair.stream.as_fd()];
            passage.send(&message, &[&there.0, &back.0], &ends).await.map_err(gone)?;
        }
        passage.send(&FromOld::All, &[], &[]).await.map_err(gone)?;
        heard(passage, FromHeir::Have).await
    }

    /// Goes on with everything.
    fn go_on(&mut self, still: Vec<Still>) {
        for Still { mut pair, there, back } in still {
            pair.there = Flow::of(there.0, there.1);
            pair.back = Flow::of(back.0, back.1);
            self.carry(pair);
        }
        self.begin_with_what_is_there();
    }

    /// Accepts from all listeners, and lets go on what waits.
    pub(super) fn begin_with_what_is_there(&mut self) {
        for (at, listening) in &mut self.listening {
            listening.resume(*at, &self.gate);
        }
        let courses = self.board.tick(now());
        self.follow(courses);
    }
}

async fn give(passage: &mut Passage) -> Result<(), NotTaken> {
    let gone = |_| NotTaken("it is gone".to_owned());
    passage.send(&FromOld::Yours, &[], &[]).await.map_err(gone)?;
    heard(passage, FromHeir::Begun).await
}

async fn heard(passage: &mut Passage, expected: FromHeir) -> Result<(), NotTaken> {
    match passage.next::<FromHeir>().await {
        Ok(Some(Passed { message, .. })) if message == expected => Ok(()),
        Ok(Some(Passed { message, .. })) => Err(NotTaken(format!("it says {message:?}"))),
        Ok(None) => Err(NotTaken("it is gone".to_owned())),
        Err(error) => Err(NotTaken(format!("it cannot be understood: {error}"))),
    }
}

#[cfg(test)]
mod tests;
