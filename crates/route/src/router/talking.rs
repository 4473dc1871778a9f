//! Whoever connects to the router's own socket: an engine, or a router that takes its place.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::{Event, Router, now, steering};
use crate::place::{self, Stranger};
use crate::words::{
    self, Answer, Ask, Asked, FromRouter, Goodbye, Hello, MessageError, PROTOCOL, Role,
};

/// How long somebody may take to say who they are.
const HELLO_MAX: Duration = Duration::from_secs(5);

/// How long an engine may take to read one message.
const READ_MAX: Duration = Duration::from_secs(10);

/// Messages to an engine that wait to be read by it.
const UNREAD_MAX: usize = 8192;

/// Drains that one engine may wait for at a time.
const DRAINS_MAX: usize = 256;

/// An engine, numbered in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EngineId(pub(super) u64);

/// The engine that is heeded.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) id: EngineId,
    said: mpsc::Sender<FromRouter>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl Engine {
    /// Says goodbye, as the last thing.
    pub(super) fn dismiss(self, goodbye: Goodbye, farewells: &mut JoinSet<()>) {
        self.reading.abort();
        let Self { said, writing, .. } = self;
        farewells.spawn(async move {
            // It is dropped then, so that the writing has an end.
            let _ = said.try_send(FromRouter::Goodbye(goodbye));
            drop(said);
            let _ = writing.await;
        });
    }
}

/// Finds out who connects, and tells the router if it is somebody for it.
pub(super) async fn greet(mut stream: UnixStream, events: mpsc::UnboundedSender<Event>) {
    let goodbye = match who(&mut stream).await {
        // Who is told is gone only when the router is.
        Ok(Role::Engine) => return drop(events.send(Event::Engine(stream))),
        Ok(Role::Heir) => return drop(events.send(Event::Heir(stream))),
        Err(None) => return,
        Err(Some(goodbye)) => goodbye,
    };
    if let Ok(bytes) = words::bytes(&FromRouter::Goodbye(goodbye)) {
        let _ = timeout(HELLO_MAX, stream.write_all(&bytes)).await;
    }
}

async fn who(stream: &mut UnixStream) -> Result<Role, Option<Goodbye>> {
    place::check(stream).map_err(|Stranger { uid }| Goodbye::NotAllowed { uid })?;
    let hello = timeout(HELLO_MAX, words::next::<Hello>(stream)).await;
    let slow = || Goodbye::TooSlow { why: "no hello has come".to_owned() };
    match hello.map_err(|_| slow())? {
        Ok(Some(Hello { protocol: PROTOCOL, role })) => Ok(role),
        Ok(Some(Hello { protocol: other, .. })) => {
            Err(Some(Goodbye::OtherProtocol { own: PROTOCOL, other }))
        }
        Ok(None) => Err(None),
        Err(error) => Err(unreadable(&error)),
    }
}

/// None: nobody is there to be told.
fn unreadable(error: &MessageError) -> Option<Goodbye> {
    match error {
        MessageError::Io(_) => None,
        MessageError::TooLong { .. } | MessageError::Form(_) => {
            Some(Goodbye::Unreadable { why: error.to_string() })
        }
    }
}

async fn read(engine: EngineId, mut from: OwnedReadHalf, events: mpsc::UnboundedSender<Event>) {
    let why = loop {
        match words::next::<Asked>(&mut from).await {
            Ok(Some(asked)) => {
                let (taken, is_taken) = oneshot::channel();
                let _ = events.send(Event::Asked { engine, asked, taken });
                // One after the other, so that what is asked does not pile up.
                if is_taken.await.is_err() {
                    return;
                }
            }
            Ok(None) => break None,
            Err(error) => break unreadable(&error),
        }
    };
    let _ = events.send(Event::Left { engine, why });
}

async fn write(mut to: OwnedWriteHalf, mut says: mpsc::Receiver<FromRouter>) {
    while let Some(message) = says.recv().await {
        let Ok(bytes) = words::bytes(&message) else { return };
        if !matches!(timeout(READ_MAX, to.write_all(&bytes)).await, Ok(Ok(()))) {
            return;
        }
    }
}

impl Router {
    /// The newest engine is heeded, and the one before it is told so.
    pub(super) fn welcome(&mut self, stream: UnixStream) {
        if let Some(before) = self.engine.take() {
            before.dismiss(Goodbye::Replaced, &mut self.farewells);
        }
        self.drop_drains();
        let id = EngineId(self.next_engine);
        self.next_engine += 1;
        let (from, to) = stream.into_split();
        let (said, says) = mpsc::channel(UNREAD_MAX);
        let reading = tokio::spawn(read(id, from, self.gate.events.clone()));
        let writing = tokio::spawn(write(to, says));
        self.engine = Some(Engine { id, said, reading, writing });
        self.tell(FromRouter::Welcome(self.about.clone()));
        self.board.untold();
        for at in self.board.tell(now()) {
            self.tell_waiting(at);
        }
    }

    /// An engine is gone, or has to go.
    pub(super) fn left(&mut self, engine: EngineId, why: Option<Goodbye>) {
        let Some(gone) = self.engine.take_if(|one| one.id == engine) else { return };
        self.drop_drains();
        self.alone_since = now();
        if let Some(why) = why {
            gone.dismiss(why, &mut self.farewells);
        }
    }

    pub(super) async fn asked(&mut self, Asked { id, ask }: Asked) {
        match ask {
            Ask::Set(table) => {
                let faults = self.set(table).await;
                let Some(said) = self.engine.as_ref().map(|engine| engine.said.clone()) else {
                    return;
                };
                tokio::spawn(async move {
                    let answer = Answer::Set(steering::name_holders(faults).await);
                    // An engine that is gone asks again.
                    let _ = said.send(FromRouter::Answer { id, answer }).await;
                });
            }
            Ask::Drain { backend, limit } if self.drains.len() < DRAINS_MAX => {
                self.drain(id, backend, limit);
            }
            Ask::Drain { .. } => {
                let why = format!("more than {DRAINS_MAX} backends are to be drained at a time");
                self.dismiss_engine(Goodbye::TooSlow { why });
            }
            Ask::Counts => {
                let counts = self.board.counts();
                self.answer(id, Answer::Counts(counts));
            }
        }
    }

    pub(super) fn answer(&mut self, id: u64, answer: Answer) {
        self.tell(FromRouter::Answer { id, answer });
    }

    /// Says that connections wait. It is said again while they do, so one that is dropped is not missed for long.
    pub(super) fn tell_waiting(&self, at: SocketAddr) {
        if let Some(engine) = &self.engine {
            let _ = engine.said.try_send(FromRouter::Waiting { at });
        }
    }

    fn tell(&mut self, message: FromRouter) {
        let told = self.engine.as_ref().map(|engine| engine.said.try_send(message));
        if matches!(told, Some(Err(_))) {
            self.dismiss_engine(Goodbye::TooSlow { why: "answers are not read".to_owned() });
        }
    }

    fn dismiss_engine(&mut self, why: Goodbye) {
        if let Some(engine) = self.engine.as_ref().map(|engine| engine.id) {
            self.left(engine, Some(why));
        }
    }
}
