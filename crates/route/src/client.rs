//! The engine's end: asks a router, and hears where connections wait.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::counts::Counts;
use crate::place;
use crate::table::{Fault, Table};
use crate::words::{
    self, About, Answer, Ask, Asked, Drained, FromRouter, Goodbye, Hello, MessageError, PROTOCOL,
    Role,
};

/// How long a router may take to say who it is. It can be in the middle of a handover.
const WELCOME_MAX: Duration = Duration::from_secs(20);

/// How often a router that hangs up before it has said who it is is tried.
const CONNECT_TRIES: u32 = 20;
const CONNECT_PAUSE: Duration = Duration::from_millis(50);

/// Questions that wait to be sent.
const QUESTIONS_MAX: usize = 64;

/// A connection to the router of this machine. When it is lost nothing of the router's changes; connect again.
#[derive(Debug, Clone)]
pub struct RouterClient {
    about: About,
    questions: mpsc::Sender<Question>,
    waiting: watch::Sender<BTreeSet<SocketAddr>>,
    gone: watch::Receiver<Option<Gone>>,
}

/// The addresses at which connections wait that nobody was told of yet.
#[derive(Debug)]
pub struct Waiting {
    at: watch::Sender<BTreeSet<SocketAddr>>,
    gone: watch::Receiver<Option<Gone>>,
}

/// Why a connection to a router is over.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Gone {
    /// The router said goodbye.
    #[error(transparent)]
    Goodbye(#[from] Goodbye),
    /// The router's process is gone, or it hung up.
    #[error("the router is gone")]
    Lost,
    /// It talks what this version does not understand.
    #[error("the router cannot be understood: {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
}

/// Why there is no connection to a router.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No router runs there.
    #[error("no router runs there")]
    Nobody,
    /// The other end belongs to somebody else.
    #[error("user {uid} is at the other end, and is not trusted")]
    Stranger {
        /// Who.
        uid: u32,
    },
    /// It says nothing.
    #[error("the router does not answer within {} s", WELCOME_MAX.as_secs())]
    Silent,
    /// It said goodbye.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The socket fails.
    #[error("the router's socket cannot be used")]
    Io(#[from] io::Error),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AskError {
    /// The connection is over. Whether the router heeded what was asked is not known.
    #[error(transparent)]
    Gone(#[from] Gone),
    /// The table is too large to be said.
    #[error("{why}")]
    TooLarge {
        /// How large.
        why: String,
    },
}

#[derive(Debug)]
struct Question {
    ask: Ask,
    answer: oneshot::Sender<Result<Answer, AskError>>,
}

impl RouterClient {
    /// Connects to the router at this socket. An engine that is connected to it already is dismissed.
    ///
    /// # Errors
    /// When no router runs there, or it cannot be spoken with.
    pub async fn connect(socket: &Path) -> Result<Self, ConnectError> {
        let mut tries = 1;
        loop {
            match Self::connect_once(socket).await {
                // Another has just taken its place, at the same socket.
                Err(ConnectError::Gone(Gone::Lost | Gone::Goodbye(Goodbye::Moved)))
                    if tries < CONNECT_TRIES =>
                {
                    sleep(CONNECT_PAUSE).await;
                    tries += 1;
                }
                connected => return connected,
            }
        }
    }

    async fn connect_once(socket: &Path) -> Result<Self, ConnectError> {
        let nobody = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
        let stream = place::reach(socket).await.map_err(|error| {
            if nobody.contains(&error.kind()) { ConnectError::Nobody } else { error.into() }
        })?;
        place::check(&stream).map_err(|place::Stranger { uid }| ConnectError::Stranger { uid })?;
        let (mut from, mut to) = stream.into_split();
        let hello = words::bytes(&Hello { protocol: PROTOCOL, role: Role::Engine });
        // A router that refuses says why, also when it did not take in what was said.
        let _ = to.write_all(&hello.map_err(unreadable)?).await;
        let welcome = timeout(WELCOME_MAX, words::next(&mut from));
        let about = match welcome.await.map_err(|_| ConnectError::Silent)? {
            Ok(Some(FromRouter::Welcome(about))) => about,
            Ok(Some(FromRouter::Goodbye(why))) => return Err(Gone::Goodbye(why).into()),
            Ok(Some(FromRouter::Answer { .. } | FromRouter::Waiting { .. }) | None) => {
                return Err(Gone::Lost.into());
            }
            Err(error) => return Err(unreadable(error).into()),
        };
        let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
        let (say_gone, gone) = watch::channel(None);
        let waiting = watch::Sender::new(BTreeSet::new());
        let noted = waiting.clone();
        tokio::spawn(async move {
            let why = converse(from, to, asked, &noted).await;
            say_gone.send_replace(Some(why));
        });
        Ok(Self { about, questions, waiting, gone })
    }

    /// The router at the other end.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Makes this the table. Once it is answered, it is in effect: no new connection goes to a backend that is not in it. What
    /// is answered is where it is not, and why.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn set(&self, table: &Table) -> Result<BTreeMap<SocketAddr, Fault>, AskError> {
        match self.ask(Ask::Set(table.clone())).await? {
            Answer::Set(faults) => Ok(faults),
            other @ (Answer::Drained(_) | Answer::Counts(_)) => Err(strange(&other)),
        }
    }

    /// Waits until no connection to a backend is left. In the last part of the limit, a second at most, connections are closed
    /// as they become quiet: the backend spoke last, and nothing is on its way. After it the rest is cut. That goes on also when
    /// nobody waits for the answer any more, as long as there is a connection to the router.
    ///
    /// # Errors
    /// When there is no answer; nothing is cut then.
    pub async fn drained(&self, backend: SocketAddr, limit: Duration) -> Result<Drained, AskError> {
        match self.ask(Ask::Drain { backend, limit }).await? {
            Answer::Drained(drained) => Ok(drained),
            other @ (Answer::Set(_) | Answer::Counts(_)) => Err(strange(&other)),
        }
    }

    /// What the router counts.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn counts(&self) -> Result<Counts, AskError> {
        match self.ask(Ask::Counts).await? {
            Answer::Counts(counts) => Ok(counts),
            other @ (Answer::Set(_) | Answer::Drained(_)) => Err(strange(&other)),
        }
    }

    /// Where connections wait at an address that holds them. Several of these share what there is to tell.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        Waiting { at: self.waiting.clone(), gone: self.gone.clone() }
    }

    /// Waits until the connection is over.
    pub async fn gone(&self) -> Gone {
        gone(self.gone.clone()).await
    }

    async fn ask(&self, ask: Ask) -> Result<Answer, AskError> {
        let (answer, answered) = oneshot::channel();
        if self.questions.send(Question { ask, answer }).await.is_err() {
            return Err(self.gone().await.into());
        }
        match answered.await {
            Ok(answer) => answer,
            Err(_) => Err(self.gone().await.into()),
        }
    }
}

impl Waiting {
    /// The next address; none when the connection is over. While connections wait there, it comes again about every second.
    pub async fn next(&mut self) -> Option<SocketAddr> {
        let mut at = self.at.subscribe();
        loop {
            tokio::select! {
                some = at.wait_for(|at| !at.is_empty()) => drop(some.ok()?),
                _ = gone(self.gone.clone()) => return None,
            }
            let mut first = None;
            self.at.send_if_modified(|at| {
                first = at.pop_first();
                false
            });
            if first.is_some() {
                return first;
            }
        }
    }
}

async fn gone(mut gone: watch::Receiver<Option<Gone>>) -> Gone {
    // A sender that is dropped without a word is that of a runtime that is gone.
    match gone.wait_for(Option::is_some).await {
        Ok(why) => why.clone().unwrap_or(Gone::Lost),
        Err(_) => Gone::Lost,
    }
}

fn strange(answer: &Answer) -> AskError {
    Gone::Unreadable { why: format!("{answer:?} is no answer to what was asked") }.into()
}

fn unreadable(error: MessageError) -> Gone {
    match error {
        MessageError::Io(_) => Gone::Lost,
        MessageError::TooLong { .. } | MessageError::Form(_) => {
            Gone::Unreadable { why: error.to_string() }
        }
    }
}

/// Asks and hears until the connection is over, or nobody holds it any more.
async fn converse(
    from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut questions: mpsc::Receiver<Question>,
    waiting: &watch::Sender<BTreeSet<SocketAddr>>,
) -> Gone {
    let (said, mut hears) = mpsc::channel(QUESTIONS_MAX);
    // Reading is a task of its own, since a message that is half read cannot be left.
    let reading = tokio::spawn(read(from, said));
    let mut asked: BTreeMap<u64, oneshot::Sender<Result<Answer, AskError>>> = BTreeMap::new();
    let mut id = 0;
    let why = loop {
        tokio::select! {
            heard = hears.recv() => match heard {
                Some(Ok(FromRouter::Answer { id, answer })) => {
                    if let Some(to) = asked.remove(&id) {
                        // Whoever asked may have gone.
                        let _ = to.send(Ok(answer));
                    }
                }
                Some(Ok(FromRouter::Waiting { at })) => {
                    waiting.send_if_modified(|all| all.insert(at));
                }
                Some(Ok(FromRouter::Goodbye(why))) => break Gone::Goodbye(why),
                Some(Ok(FromRouter::Welcome(_))) | None => break Gone::Lost,
                Some(Err(why)) => break why,
            },
            question = questions.recv() => {
                let Some(Question { ask, answer }) = question else { break Gone::Lost };
                id += 1;
                match words::bytes(&Asked { id, ask }) {
                    Ok(bytes) => {
                        asked.insert(id, answer);
                        // What the router said before it hung up is still to be heard, so that ends it.
                        let _ = to.write_all(&bytes).await;
                    }
                    Err(error) => {
                        let why = error.to_string();
                        let _ = answer.send(Err(AskError::TooLarge { why }));
                    }
                }
            }
        }
    };
    reading.abort();
    why
}

async fn read(mut from: OwnedReadHalf, said: mpsc::Sender<Result<FromRouter, Gone>>) {
    loop {
        let heard = match words::next(&mut from).await {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(Gone::Lost),
            Err(error) => Err(unreadable(error)),
        };
        let is_last = heard.is_err();
        if said.send(heard).await.is_err() || is_last {
            return;
        }
    }
}

/// A connection to a router as its heir.
pub(crate) async fn connect_as_heir(stream: &mut UnixStream) -> io::Result<()> {
    let hello = words::bytes(&Hello { protocol: PROTOCOL, role: Role::Heir });
    stream.write_all(&hello.map_err(io::Error::other)?).await
}
