//! The engine's thread: takes calls one after the other, and opens the engine anew after it failed.

use std::thread;

use store::{Batch, CommitError, Document, Key, Landed, Prefix, ReadError};
use tokio::sync::{mpsc, oneshot};

use crate::Options;
use crate::damage::without_panic;
use crate::folder::Folder;
use crate::note::Note;
use crate::open::OpenError;
use crate::room::Room;
use crate::session::{Failure, Session};
use crate::trouble::Trouble;

/// What a handle asks of the engine. An answer that nobody waits for any more is dropped; what was written
/// stays.
#[derive(Debug)]
pub(crate) enum Call {
    Read { key: Key, answer: oneshot::Sender<Result<Option<Document>, ReadError>> },
    Scan { prefix: Prefix, answer: oneshot::Sender<Result<Vec<(Key, Document)>, ReadError>> },
    Commit { batch: Batch, answer: oneshot::Sender<Result<Landed, CommitError>> },
    Close { answer: oneshot::Sender<()> },
}

type OpenedAnswer = oneshot::Sender<Result<Vec<Note>, OpenError>>;

/// Starts the thread, which opens the store, answers `opened`, and then serves `calls` until all their senders
/// are gone or one of them asks to close.
pub(crate) fn start(
    options: Options,
    opened: OpenedAnswer,
    calls: mpsc::Receiver<Call>,
) -> Result<(), OpenError> {
    let folder = options.folder.clone();
    thread::Builder::new()
        .name("store-sled".to_owned())
        .spawn(move || run(options, opened, calls))
        .map(drop)
        .map_err(|error| OpenError::of_io(folder, error))
}

fn run(options: Options, opened: OpenedAnswer, mut calls: mpsc::Receiver<Call>) {
    let mut engine = match Engine::open(options) {
        Ok((engine, notes)) => {
            // Whoever asked and left dropped the sender of calls too, and the loop below ends at once.
            opened.send(Ok(notes)).ok();
            engine
        }
        Err(error) => {
            opened.send(Err(error)).ok();
            return;
        }
    };
    let mut closing = None;
    while let Some(call) = calls.blocking_recv() {
        match call {
            Call::Read { key, answer } => {
                answer.send(engine.answer(|session, _| session.read(&key))).ok();
            }
            Call::Scan { prefix, answer } => {
                answer.send(engine.answer(|session, _| session.scan(&prefix))).ok();
            }
            Call::Commit { batch, answer } => {
                let commit = |session: &mut Session, place: &Place| {
                    session.commit(&place.folder, place.room, batch)
                };
                answer.send(engine.answer(commit)).ok();
            }
            Call::Close { answer } => {
                closing = Some(answer);
                break;
            }
        }
    }
    engine.close();
    if let Some(answer) = closing {
        answer.send(()).ok();
    }
}

#[derive(Debug)]
struct Engine {
    place: Place,
    state: State,
}

#[derive(Debug)]
struct Place {
    folder: Folder,
    room: Room,
}

#[derive(Debug)]
enum State {
    /// What the session remembers is on the disk.
    Sound(Session),
    /// A write failed: only the disk knows what is true, and nothing is answered before it was opened anew.
    Doubtful,
}

impl Engine {
    fn open(options: Options) -> Result<(Self, Vec<Note>), OpenError> {
        let Options { folder, room } = options;
        let folder = Folder::take(&folder)?;
        let (session, notes) = Session::open(&folder)?;
        let place = Place { folder, room };
        Ok((Self { place, state: State::Sound(session) }, notes))
    }

    fn answer<T, E: From<Trouble>>(
        &mut self,
        call: impl FnOnce(&mut Session, &Place) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        let mut session = match std::mem::replace(&mut self.state, State::Doubtful) {
            State::Sound(session) => session,
            // Its notes have nobody to go to here; what was set aside stays to be found.
            State::Doubtful => Session::open(&self.place.folder).map_err(Trouble::from)?.0,
        };
        // On some damage sled panics, also long after it opened: with a page that it reads only now.
        let answered = without_panic(|| call(&mut session, &self.place))
            .unwrap_or_else(|damage| Err(Failure::Doubtful(Trouble::Other(damage.into()))));
        match answered {
            Err(Failure::Doubtful(trouble)) => {
                session.close();
                Err(trouble.into())
            }
            Err(Failure::Sound(error)) => {
                self.state = State::Sound(session);
                Err(error)
            }
            Ok(answer) => {
                self.state = State::Sound(session);
                Ok(answer)
            }
        }
    }

    fn close(self) {
        match self.state {
            State::Sound(session) => session.close(),
            State::Doubtful => {}
        }
        drop(self.place);
    }
}
