//! A router takes the place of another: all that it was handed, until it may begin.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::flow::Flow;
use super::handover::{FromHeir, FromOld, Parked};
use super::listening::{self, Listening};
use super::pair::Pair;
use super::{BeginError, Client, Router};
use crate::board::{Board, ConnectionId};
use crate::client;
use crate::passing::{Passage, Passed};
use crate::place::{self, Place, Stranger};
use crate::table::Fault;
use crate::words::PROTOCOL;

/// How long the one before may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// How often a router may hang up before it is taken for one that lives and does not hand over.
const HANG_UPS_MAX: u32 = 40;

/// How long addresses and a socket of a process that is gone may take to be free.
const FREE_MAX: Duration = Duration::from_secs(2);

/// How often that is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// What a router was handed.
#[derive(Debug)]
pub(super) struct Inheritance {
    board: Board,
    next_connection: u64,
    listeners: BTreeMap<SocketAddr, TcpListener>,
    held: BTreeMap<ConnectionId, (SocketAddr, TcpStream)>,
    pairs: Vec<(Parked, Vec<u8>, [TcpStream; 2])>,
}

/// How the one before ended what it had to say.
enum End {
    All,
    /// It is gone.
    Gone,
}

/// Takes what the router at this place has. None: there is none.
pub(super) async fn from_occupant(
    place: &Place,
) -> Result<Option<(UnixListener, Inheritance)>, BeginError> {
    for _ in 0..HANG_UPS_MAX {
        let Some(stream) = place.occupant().await? else { return Ok(None) };
        if let Some(inherited) = receive(stream).await? {
            return Ok(Some(inherited));
        }
        // Whether it is gone or only does not want to is seen by whether anybody listens there.
        sleep(PAUSE).await;
    }
    Err(kept("it hangs up without a word".to_owned()))
}

/// Takes what the router at the other end has. None: it has hung up before it said anything.
async fn receive(
    mut stream: UnixStream,
) -> Result<Option<(UnixListener, Inheritance)>, BeginError> {
    place::check(&stream).map_err(|Stranger { uid }| {
        kept(format!("it belongs to user {uid}, who is not trusted"))
    })?;
    if client::connect_as_heir(&mut stream).await.is_err() {
        return Ok(None);
    }
    let mut passage = Passage::over(stream);
    let first = next(&mut passage).await?;
    let Some(Passed { message, descriptors, .. }) = first else { return Ok(None) };
    let FromOld::Begin { board, next_connection } = message else {
        return Err(kept(format!("it does not hand over: {message:?}")));
    };
    let control = one(descriptors).ok_or_else(|| kept("its own socket is missing".to_owned()))?;
    let control = UnixListener::from_std(std::os::unix::net::UnixListener::from(control))?;
    let mut inheritance = Inheritance {
        board,
        next_connection,
        listeners: BTreeMap::new(),
        held: BTreeMap::new(),
        pairs: Vec::new(),
    };
    if let End::All = inheritance.fill(&mut passage).await? {
        // What cannot be said is said to nobody: then the next word is an end.
        let _ = passage.send(&FromHeir::Have, &[], &[]).await;
        match next(&mut passage).await? {
            Some(Passed { message: FromOld::Yours, .. }) | None => {}
            Some(Passed { message, .. }) => return Err(refused(&message)),
        }
        let _ = passage.send(&FromHeir::Begun, &[], &[]).await;
    }
    Ok(Some((control, inheritance)))
}

fn kept(why: String) -> BeginError {
    BeginError::Kept { why }
}

fn refused(message: &FromOld) -> BeginError {
    match message {
        FromOld::No { why } => kept(format!("it waited in vain for this one: {why}")),
        FromOld::Begin { .. }
        | FromOld::Listener { .. }
        | FromOld::Held { .. }
        | FromOld::Pair(_)
        | FromOld::All
        | FromOld::Yours => kept(format!("what it says was not expected: {message:?}")),
    }
}

async fn next(passage: &mut Passage) -> Result<Option<Passed<FromOld>>, BeginError> {
    match timeout(SILENCE_MAX, passage.next()).await {
        Ok(Ok(passed)) => Ok(passed),
        // What comes first can also be the goodbye of a router of another version, in another form.
        Ok(Err(error)) => Err(kept(format!(
            "it cannot be understood, and is perhaps of another version than {PROTOCOL} of the protocol: {error}"
        ))),
        Err(_) => Err(kept(format!("it has said nothing for {} s", SILENCE_MAX.as_secs()))),
    }
}

fn one(descriptors: Vec<OwnedFd>) -> Option<OwnedFd> {
    let [one] = <[OwnedFd; 1]>::try_from(descriptors).ok()?;
    Some(one)
}

/// Opens an address of a process that is gone, as soon as the kernel has closed all that it had.
async fn open_when_free(at: SocketAddr) -> Result<TcpListener, Fault> {
    let mut waited = Duration::ZERO;
    loop {
        match listening::open(at) {
            Err(Fault::InUse { .. }) if waited < FREE_MAX => sleep(PAUSE).await,
            opened => return opened,
        }
        waited += PAUSE;
    }
}

fn missing() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "a message came without its descriptors")
}

impl Inheritance {
    async fn fill(&mut self, passage: &mut Passage) -> Result<End, BeginError> {
        loop {
            let Some(Passed { message, raw, descriptors }) = next(passage).await? else {
                return Ok(End::Gone);
            };
            match message {
                FromOld::Listener { at } => {
                    let listener = one(descriptors).ok_or_else(missing)?;
                    let listener = TcpListener::from_std(listener.into())?;
                    self.listeners.insert(at, listener);
                }
                FromOld::Held { id, at } => {
                    let stream = one(descriptors).ok_or_else(missing)?;
                    self.held.insert(id, (at, TcpStream::from_std(stream.into())?));
                }
                FromOld::Pair(parked) => {
                    let both = <[OwnedFd; 2]>::try_from(descriptors).map_err(|_| missing())?;
                    let [client, backend] = both.map(std::net::TcpStream::from);
                    let both = [TcpStream::from_std(client)?, TcpStream::from_std(backend)?];
                    self.pairs.push((parked, raw, both));
                }
                FromOld::All => return Ok(End::All),
                FromOld::Begin { .. } | FromOld::Yours | FromOld::No { .. } => {
                    return Err(refused(&message));
                }
            }
        }
    }
}

impl Router {
    /// Goes on with what another router had.
    pub(super) async fn take_over(&mut self, inheritance: Inheritance) {
        let Inheritance { board, next_connection, listeners, mut held, pairs } = inheritance;
        self.board = board;
        self.next_connection = next_connection;
        self.board.none_is_open();
        for (at, listener) in listeners {
            self.listening.insert(at, Listening::paused(listener));
        }
        // Only of a router that died on the way is anything missing; its addresses are free then.
        for at in self.board.table().0.into_keys() {
            if self.listening.contains_key(&at) {
                continue;
            }
            match open_when_free(at).await {
                Ok(listener) => {
                    self.listening.insert(at, Listening::paused(listener));
                }
                Err(fault) => {
                    (self.config.say)(&format!("{at} is closed until the next table: {fault}"));
                    self.board.turn(at, None, super::now());
                }
            }
        }
        for (at, id) in self.board.waiting().collect::<Vec<_>>() {
            let Some((_, stream)) = held.remove(&id) else {
                self.board.lost(at, id);
                continue;
            };
            let client = self.client(id, at, stream);
            self.held.insert(id, client);
        }
        for (parked, raw, [client, stream]) in pairs {
            let Parked { id, at, backend, there, back, last } = parked;
            self.board.is_open(at, backend);
            let (first, second) = raw.split_at(there.left.min(raw.len()));
            let client = self.client(id, at, client);
            let there = Flow::of(first.to_vec(), there.course);
            let back = Flow::of(second.to_vec(), back.course);
            self.carry(Pair { client, backend, stream, there, back, last });
        }
        self.begin_with_what_is_there();
    }

    fn client(&self, id: ConnectionId, at: SocketAddr, stream: TcpStream) -> Client {
        let place = Arc::<Semaphore>::clone(&self.gate.places).try_acquire_owned().ok();
        Client { id, at, stream, _place: place }
    }
}

#[cfg(test)]
mod tests;
