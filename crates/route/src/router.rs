//! The router: owns the listeners, and every connection until it is over.
//!
//! One task owns all that is decided, the `Router`. Listeners, connections and engines are tasks of their own, and tell it what
//! happens as `Event`s; what becomes of a connection the `board` says.

mod draining;
mod farewell;
mod flow;
mod handover;
mod inherit;
mod listening;
mod pair;
mod pipes;
mod steering;
mod talking;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::board::{Board, ConnectionId};
use crate::place::{Place, PlaceError};
use crate::words::{About, Asked, Goodbye};
use draining::Drain;
use listening::{Client, Gate, Listening};
use pair::Pair;
use pipes::{PIPES_MAX, Pipes};
use steering::Open;
use talking::{Engine, EngineId};

/// How often time is looked at while somebody waits for it.
const TICK: Duration = Duration::from_millis(50);

/// How often it is looked at otherwise.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// How long connections may go on when the router is asked to end.
const END_MAX: Duration = Duration::from_secs(10);

/// How long the last words to an engine may take.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// How often the same is said at most.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Descriptors that are kept for everything but connections: listeners, engines, a handover.
const RESERVE: u64 = 512;

/// What a router is told at its begin.
pub struct Config {
    /// Its own socket.
    pub socket: PathBuf,
    /// The version of its program, which it tells everybody.
    pub version: String,
    /// How long it goes on without an engine; none: for ever.
    pub orphan_after: Option<Duration>,
    /// Takes lines for people.
    pub say: Box<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Why a router does not begin.
#[derive(Debug, Error)]
pub enum BeginError {
    /// There is no socket to be had.
    #[error("the router's socket cannot be made")]
    Place(#[from] PlaceError),
    /// The router that is there does not hand over.
    #[error("the router that runs there goes on: {why}")]
    Kept {
        /// Why.
        why: String,
    },
    /// The kernel refuses something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How a router ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Asked,
    /// Another has taken its place, with everything.
    HandedOver,
    /// It was without an engine for too long.
    Orphaned,
}

/// What happens to a router.
#[derive(Debug)]
enum Event {
    Arrived {
        at: SocketAddr,
        stream: TcpStream,
        place: Option<OwnedSemaphorePermit>,
    },
    /// Accepting pauses.
    Exhausted {
        why: String,
    },
    Unreached {
        client: Client,
        backend: SocketAddr,
    },
    /// It was on its way, and stands still for another router.
    TakenBack {
        client: Client,
        backend: SocketAddr,
    },
    /// It was forwarded, and stands still for another router.
    Parked(Box<Pair>),
    Ended {
        id: ConnectionId,
        at: SocketAddr,
        backend: SocketAddr,
    },
    Engine(UnixStream),
    Heir(UnixStream),
    /// An engine asks; once that was taken in, it may ask more.
    Asked {
        engine: EngineId,
        asked: Asked,
        taken: oneshot::Sender<()>,
    },
    /// An engine is gone, or is to go.
    Left {
        engine: EngineId,
        why: Option<Goodbye>,
    },
}

/// A router at work.
#[derive(Debug)]
pub struct Router {
    config: Config,
    about: About,
    control: Control,
    board: Board,
    listening: BTreeMap<SocketAddr, Listening>,
    /// Those that wait, and are not read.
    held: BTreeMap<ConnectionId, Client>,
    /// Those that are forwarded, or on their way.
    open: BTreeMap<ConnectionId, Open>,
    drains: Vec<Drain>,
    engine: Option<Engine>,
    next_connection: u64,
    next_engine: u64,
    gate: Gate,
    pipes: Pipes,
    events: mpsc::UnboundedReceiver<Event>,
    /// Connections that are being refused, and engines that are being told their last.
    farewells: JoinSet<()>,
    alone_since: Duration,
    said_exhausted: Option<Duration>,
}

/// The router's own socket.
#[derive(Debug)]
struct Control {
    place: Place,
    listener: UnixListener,
    inode: Option<u64>,
}

/// Time since a moment that is the same for all processes of this boot.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Router {
    /// Makes a router at its socket. One that runs there already hands over all that it has, and ends.
    ///
    /// # Errors
    /// When there is no socket to be had, or the router that is there goes on. Nothing of that is changed then.
    pub async fn begin(config: Config) -> Result<Self, BeginError> {
        let descriptors = raise_limit();
        let place = Place::of(&config.socket)?;
        let turn = place.turn().await?;
        let inherited = inherit::from_occupant(&place).await?;
        let (listener, inheritance) = match inherited {
            Some((listener, inheritance)) => (listener, Some(inheritance)),
            None => (place.listen(&turn)?, None),
        };
        let (send, events) = mpsc::unbounded_channel();
        let reserve = RESERVE.min(descriptors / 2);
        let pipes = PIPES_MAX.min(usize::try_from(descriptors / 16).unwrap_or(PIPES_MAX));
        let room = (descriptors - reserve).saturating_sub(2 * pipes as u64) / 2;
        let room = usize::try_from(room).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        let about = About { version: config.version.clone(), pid: std::process::id() };
        let inode = place.inode();
        let mut router = Self {
            about,
            control: Control { place, listener, inode },
            config,
            board: Board::default(),
            listening: BTreeMap::new(),
            held: BTreeMap::new(),
            open: BTreeMap::new(),
            drains: Vec::new(),
            engine: None,
            next_connection: 0,
            next_engine: 0,
            gate: Gate { events: send, places: Arc::new(Semaphore::new(room)) },
            pipes: Pipes::new(pipes),
            events,
            farewells: JoinSet::new(),
            alone_since: now(),
            said_exhausted: None,
        };
        if let Some(inheritance) = inheritance {
            router.take_over(inheritance).await;
        }
        Ok(router)
    }

    /// Works until it is asked to end, or another takes its place. On a runtime of one thread connections that waited are begun
    /// in the order in which they came; with more it can happen that two overtake each other.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) -> Ended {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut tick = Instant::now() + TICK;
        // Out of descriptors, say: looking again at once would not help.
        let mut accepts_engines = true;
        loop {
            tokio::select! {
                event = self.events.recv() => {
                    // It holds a sender itself, so there is always a next.
                    let Some(event) = event else { return Ended::Asked };
                    if let Event::Heir(stream) = event {
                        if self.hand_over(stream).await {
                            self.say_last(Goodbye::Moved).await;
                            return Ended::HandedOver;
                        }
                    } else {
                        self.heed(event).await;
                    }
                    if self.is_waited_for() {
                        tick = tick.min(Instant::now() + TICK);
                    }
                }
                accepted = self.control.listener.accept(), if accepts_engines => match accepted {
                    Ok((stream, _)) => {
                        tokio::spawn(talking::greet(stream, self.gate.events.clone()));
                    }
                    Err(_) => accepts_engines = false,
                },
                () = sleep_until(tick) => {
                    accepts_engines = true;
                    self.tick();
                    if self.is_orphan() {
                        (self.config.say)("no engine has come for too long, or none can find this router any more: it ends");
                        self.end().await;
                        return Ended::Orphaned;
                    }
                    tick = Instant::now() + if self.is_waited_for() { TICK } else { IDLE_TICK };
                }
                () = &mut shutdown => {
                    self.end().await;
                    return Ended::Asked;
                }
            }
        }
    }

    async fn heed(&mut self, event: Event) {
        match event {
            Event::Arrived { at, stream, place } => self.arrived(at, stream, place),
            Event::Exhausted { why } => self.exhausted(&why),
            Event::Unreached { client, backend } => self.unreached(client, backend),
            // Both come only while everything is handed over, and that was called off: they go on.
            Event::TakenBack { client, backend } => self.start(client, backend),
            Event::Parked(pair) => self.carry(*pair),
            Event::Ended { id, at, backend } => self.ended(id, at, backend),
            Event::Engine(stream) => self.welcome(stream),
            // Whoever has events one by one looks for an heir before.
            Event::Heir(stream) => drop(stream),
            Event::Asked { engine, asked, taken } => {
                if self.engine.as_ref().is_some_and(|one| one.id == engine) {
                    self.asked(asked).await;
                }
                let _ = taken.send(());
            }
            Event::Left { engine, why } => self.left(engine, why),
        }
    }

    fn is_waited_for(&self) -> bool {
        !self.held.is_empty() || !self.drains.is_empty()
    }

    fn tick(&mut self) {
        let now = now();
        let courses = self.board.tick(now);
        self.follow(courses);
        for at in self.board.tell(now) {
            self.tell_waiting(at);
        }
        self.mind_drains();
        while self.farewells.try_join_next().is_some() {}
        self.mind_socket();
    }

    /// A socket that somebody has removed is made anew, so that the next engine finds this router.
    fn mind_socket(&mut self) {
        if self.control.place.inode().is_some() {
            return;
        }
        if let Ok(listener) = self.control.place.listen_again() {
            self.control.listener = listener;
            self.control.inode = self.control.place.inode();
        }
    }

    fn is_orphan(&self) -> bool {
        let alone = now().saturating_sub(self.alone_since);
        let is_over = self.config.orphan_after.is_some_and(|most| alone >= most);
        // Where nobody can find it, it would only keep its addresses from the next router.
        self.engine.is_none() && (is_over || self.control.place.is_gone())
    }

    fn exhausted(&mut self, why: &str) {
        let now = now();
        if self.said_exhausted.is_none_or(|said| now.saturating_sub(said) >= SAY_EVERY) {
            self.said_exhausted = Some(now);
            (self.config.say)(&format!(
                "accepting pauses, and new connections wait in the kernel: {why}; {} are open and {} wait",
                self.open.len(),
                self.held.len()
            ));
        }
    }

    /// Accepts nothing more, refuses what waits, and gives what is open a while to end.
    async fn end(&mut self) {
        for (at, mut listening) in std::mem::take(&mut self.listening) {
            listening.pause().await;
            let courses = self.board.turn(at, None, now());
            self.follow(courses);
        }
        let rest = async {
            while !self.open.is_empty() {
                let Some(event) = self.events.recv().await else { return };
                self.heed(event).await;
            }
        };
        let _ = timeout(END_MAX, rest).await;
        self.say_last(Goodbye::Ends).await;
        self.control.place.remove(self.control.inode);
    }

    /// Waits for everybody who is being told their last.
    async fn say_last(&mut self, goodbye: Goodbye) {
        if let Some(engine) = self.engine.take() {
            engine.dismiss(goodbye, &mut self.farewells);
        }
        let farewells = async { while self.farewells.join_next().await.is_some() {} };
        let _ = timeout(LAST_WORDS_MAX.max(farewell::FAREWELL_MAX), farewells).await;
    }
}

/// Lets this process have as many descriptors as it may, and says how many.
fn raise_limit() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: before.maximum, maximum: before.maximum };
    let _ = setrlimit(Resource::Nofile, raised);
    // Without a limit it is the kernel's own, which is far above what is reached.
    getrlimit(Resource::Nofile).current.unwrap_or(1 << 20)
}
