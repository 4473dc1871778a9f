//! The engine's thread: takes calls one after the other.

use std::thread;

use store::{Batch, CommitError, Document, Key, Landed, Prefix, ReadError};
use tokio::sync::{mpsc, oneshot};

use crate::Options;
use crate::engine::{Engine, Place};
use crate::note::Note;
use crate::open::OpenError;
use crate::session::Session;

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
    drop(engine);
    if let Some(answer) = closing {
        answer.send(()).ok();
    }
}
