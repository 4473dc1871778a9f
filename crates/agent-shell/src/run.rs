//! The loop.

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::time::Duration;

use agent_core::{Action, Agent, AskId, Decision, Ending, Event, Kept, Now, RunId, ToLand};
use bus::{Bus, Request, Responder, SubjectError, SubscribeError};
use failure_book::Journal;
use host::{AdoptError, Bundle, Host, Process};
use serde::Serialize;
use store::Store;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use wire::Envelope;

use crate::asked::{Asked, What};
use crate::config::Config;
use crate::desk::{Desk, NoStore, ReopenError};
use crate::log::{Log, Severity};
use crate::outbox::{Outbox, Statements, Subjects};
use crate::repeats::Line;
use crate::routes::Routes;
use crate::shelf::{KeptBook, Shelf};
use crate::telling::Telling;
use crate::work;

/// Events that wait for the loop. What fills it are tasks, and a task that waits for room harms nobody.
const INBOX_LENGTH: usize = 256;

/// Messages that cannot be read are told once in this time, with their count.
const UNREADABLE_TOLD_EVERY: Duration = Duration::from_secs(60);

/// Why an agent ended by itself. An agent that cannot begin leaves alone what runs.
#[derive(Debug, Error)]
pub enum RunError {
    /// It cannot be seen what runs here, so nothing can be started without the danger of a second copy.
    #[error("the agent cannot go on from what runs")]
    Adopt(#[from] AdoptError),
    /// What the agent before it kept cannot be read.
    #[error("the agent cannot go on from what was kept")]
    Reopen(#[from] ReopenError),
    /// The machine's name makes no subject.
    #[error("the machine has no place on the bus")]
    Subject(#[from] SubjectError),
    /// It cannot listen for declarations.
    #[error("declarations cannot be heard")]
    Serve(#[from] SubscribeError),
    /// The bus was closed for good.
    #[error("the bus was closed")]
    BusClosed,
}

/// Runs the agent of one machine until `shutdown`, which says what becomes then of what runs. An agent whose bus is closed
/// for good leaves it running.
///
/// What an agent before this one started, and still runs, goes on. Dropping the future is a crash: what was started runs on
/// for the next agent to find, and nothing is said.
///
/// # Errors
/// Whatever [`RunError`] says.
pub async fn run<B: Bus, S: Store, J: Journal + Send + 'static, H: Host>(
    config: Config,
    bus: B,
    store: S,
    book: KeptBook<J>,
    host: H,
    shutdown: impl Future<Output = Ending> + Send,
) -> Result<(), RunError> {
    let (desk, kept) = Desk::open(store, &config.machine).await?;
    go(config, bus, (desk, kept), book, host, shutdown).await
}

/// The same while there is no store, for the reason `why`: what an agent before this one started goes on and is looked after
/// as it was declared to that one, and declarations are refused. To be ended when there is a store again, so that an agent
/// with one follows.
///
/// # Errors
/// Whatever [`RunError`] says.
pub async fn run_without_store<B: Bus, J: Journal + Send + 'static, H: Host>(
    config: Config,
    bus: B,
    why: String,
    book: KeptBook<J>,
    host: H,
    shutdown: impl Future<Output = Ending> + Send,
) -> Result<(), RunError> {
    go(config, bus, (Desk::<NoStore>::Shut { why }, None), book, host, shutdown).await
}

async fn go<B: Bus, S: Store, J: Journal + Send + 'static, H: Host>(
    config: Config,
    bus: B,
    (desk, kept): (Desk<S>, Option<Kept>),
    book: KeptBook<J>,
    host: H,
    shutdown: impl Future<Output = Ending> + Send,
) -> Result<(), RunError> {
    let subjects = Subjects::of(&config.machine)?;
    let mut asked = Asked::serve(&bus, &subjects).await?;
    let statements = Statements::publish_on(bus.clone(), subjects.health.clone());
    let outbox = Outbox::new(bus, config.machine.clone(), subjects, config.request_timeout);
    let (inbox, mut events) = mpsc::channel(INBOX_LENGTH);
    let (adopted, held): (Vec<_>, Vec<_>) =
        work::adopt(&host, &config.log).await?.into_iter().unzip();
    let held: BTreeMap<RunId, H::Process> = adopted.iter().map(|one| one.run).zip(held).collect();
    let mut telling = Telling::default();
    say(&config.log, telling.begun(&adopted, kept.as_ref().map(|kept| kept.declaration.number)));
    let now = now(&host);
    let (shelf, book) = Shelf::open(book);
    let (agent, first) =
        Agent::new(config.core(), host.boot(), config.incarnation, kept, book, adopted, now);
    let (routes, routing) = Routes::begin(host.clone(), telling_events(inbox.clone()));
    let mut tasks = JoinSet::new();
    tasks.spawn(routing);
    let mut shell = Shell {
        config,
        agent,
        desk,
        shelf,
        host,
        outbox,
        statements,
        routes,
        inbox,
        tasks,
        processes: held.clone(),
        checks: BTreeMap::new(),
        questions: BTreeMap::new(),
        asked: 0,
        telling,
        unreadable: Unreadable { count: 0, tell_at: Duration::ZERO },
    };
    for (run, process) in held {
        shell.spawn(work::end(process, run));
    }
    shell.carry_out(first).await;

    let mut shutdown = pin!(shutdown);
    let mut course = Course::Run;
    while !shell.agent.is_over() {
        let wake = shell.agent.wake();
        // Biased: the same events in the same order are the same run. Nothing starves, since every branch but the
        // timer is fed by what the loop itself asked for or by a bounded queue.
        let happened = tokio::select! {
            biased;
            Some(done) = events.recv() => Happened::Done(done),
            ending = &mut shutdown, if course == Course::Run => {
                Happened::ShutDown(Course::End(ending))
            }
            request = asked.next(), if course == Course::Run => match request {
                Some((what, request)) => Happened::Asked(what, request),
                None => Happened::ShutDown(Course::EndWithoutBus),
            },
            () = shell.host.sleep_until(wake) => Happened::Nothing,
        };
        if let Happened::ShutDown(end) = &happened {
            course = *end;
        }
        shell.take_in(happened).await;
    }
    shell.statements.finish().await;
    match course {
        Course::Run | Course::End(_) => Ok(()),
        Course::EndWithoutBus => Err(RunError::BusClosed),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Run,
    End(Ending),
    EndWithoutBus,
}

/// Everything that can wake the loop.
enum Happened<P> {
    Done(Done<P>),
    Asked(What, Request),
    ShutDown(Course),
    Nothing,
}

/// What a task sends back.
enum Done<P> {
    Event(Event),
    /// A process runs; its handle belongs to the loop before anything is decided about it.
    Up(RunId, P),
}

struct Shell<B, S, J, H: Host> {
    config: Config,
    agent: Agent,
    desk: Desk<S>,
    shelf: Shelf<J>,
    host: H,
    outbox: Outbox<B>,
    statements: Statements,
    routes: Routes,
    inbox: mpsc::Sender<Done<H::Process>>,
    tasks: JoinSet<()>,
    processes: BTreeMap<RunId, H::Process>,
    /// The newest check of each process.
    checks: BTreeMap<RunId, AbortHandle>,
    questions: BTreeMap<AskId, Responder>,
    asked: u64,
    telling: Telling,
    unreadable: Unreadable,
}

struct Unreadable {
    count: u64,
    tell_at: Duration,
}

impl<B: Bus, S: Store, J: Journal + Send + 'static, H: Host> Shell<B, S, J, H> {
    async fn take_in(&mut self, happened: Happened<H::Process>) {
        let event = match happened {
            Happened::Nothing => Event::Tick,
            Happened::ShutDown(Course::End(ending)) => Event::ShutDown(ending),
            Happened::ShutDown(Course::Run | Course::EndWithoutBus) => {
                Event::ShutDown(Ending::Leave)
            }
            Happened::Done(Done::Up(run, process)) => {
                let (identity, address) = (process.identity().clone(), process.address());
                self.processes.insert(run, process.clone());
                self.spawn(work::end(process, run));
                Event::Started { run, process: identity, address }
            }
            Happened::Done(Done::Event(event)) => {
                if let Event::Exited { run, .. } = &event {
                    self.processes.remove(run);
                    self.checks.remove(run);
                }
                event
            }
            Happened::Asked(what, request) => match self.read(what, request) {
                Some(event) => event,
                None => return,
            },
        };
        while self.tasks.try_join_next().is_some() {}
        let now = now(&self.host);
        say(&self.config.log, self.telling.heard(&event, now.monotonic));
        let decision = self.agent.handle(event, now);
        self.carry_out(decision).await;
    }

    /// Does what was decided, in its order: first what may be done at once, then what must land, then what follows.
    async fn carry_out(&mut self, mut decision: Decision) {
        loop {
            let now_at = self.host.clock().monotonic;
            for action in decision.actions {
                say(&self.config.log, self.telling.decided(&action, now_at));
                self.act(action);
            }
            let Some(landing) = decision.land else { return };
            let how = match landing.what() {
                ToLand::Kept(kept) => self.desk.keep(kept).await,
                ToLand::Book(change) => self.shelf.land(change).await,
            };
            let now = now(&self.host);
            if let Err(why) = &how {
                say(&self.config.log, self.telling.not_kept(why, now.monotonic));
            }
            decision = self.agent.landed(landing, how, now);
            let held = self.agent.held().map(|held| held.number);
            say(&self.config.log, self.telling.holds(held, self.agent.seen(), now.monotonic));
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Answer { ask, reply } => self.answer(ask, reply),
            Action::AnswerWord { ask, reply } => self.answer(ask, reply),
            Action::AnswerBook { ask, status } => self.answer(ask, *status),
            Action::Install { module, build, artifacts } => {
                let bundle = Bundle { module, build, artifacts };
                self.spawn(work::install(self.host.clone(), bundle));
            }
            Action::Verify { verification, starts, ours } => {
                let ours = ours.iter().filter_map(|run| self.processes.get(run).cloned());
                let ours = ours.collect();
                self.spawn(work::verify(self.host.clone(), verification, starts, ours));
            }
            Action::Start { run, start } => {
                let (host, inbox) = (self.host.clone(), self.inbox.clone());
                let spec = work::spec(*start, self.agent.seen());
                self.tasks.spawn(async move {
                    let done = match host.start(&spec).await {
                        Ok(process) => Done::Up(run, process),
                        Err(error) => {
                            let obstacle = work::not_started(&error);
                            Done::Event(Event::NotStarted { run, obstacle })
                        }
                    };
                    // The loop ends only after everything that it started.
                    let _ = inbox.send(done).await;
                });
            }
            Action::Stop { run, how } => {
                if let Some(process) = self.processes.get(&run).cloned() {
                    self.tasks.spawn(self.routes.stop(self.host.clone(), process, how));
                }
            }
            Action::Route(table) => self.routes.ask(table),
            Action::Check { run, check, ask, timeout } => {
                if let Some(process) = self.processes.get(&run).cloned() {
                    let newest = self.spawn(work::check(process, run, check, ask, timeout));
                    // What is still asked of it was given up on: checks must not pile up behind one that hangs.
                    if let Some(overdue) = self.checks.insert(run, newest) {
                        overdue.abort();
                    }
                }
            }
            Action::Examine => {
                let host = self.host.clone();
                self.spawn(async move { Event::Examined { troubles: host.troubles().await } });
            }
            Action::Collect { keep } => {
                self.spawn(work::collect(self.host.clone(), keep, self.config.log.clone()));
            }
            Action::State(statement) => {
                self.config.stated.send_replace(Some(statement.clone()));
                let id = format!("{}-s{}", statement.engine.0, statement.sequence);
                let statement = self.envelope(id, statement);
                self.statements.state(statement);
            }
            Action::Report(report) => {
                let id = format!("{}-r{}", self.config.incarnation, report.revision);
                let report = self.envelope(id, report);
                let outbox = self.outbox.clone();
                self.spawn(async move { outbox.report(report).await });
            }
            Action::Hello(hello) => {
                let outbox = self.outbox.clone();
                self.spawn(async move { outbox.hello(hello).await });
            }
        }
    }

    fn answer(&mut self, ask: AskId, reply: impl Serialize) {
        let Some(responder) = self.questions.remove(&ask) else { return };
        let id = format!("{}-d{}", self.config.incarnation, ask.0);
        // An answer that does not leave is asked for again: the asker cannot tell it from one that was lost.
        if let Ok(bytes) = self.envelope(id, reply).encode() {
            let _ = responder.respond(bytes.into());
        }
    }

    /// What was asked, unless it cannot be read.
    fn read(&mut self, what: What, request: Request) -> Option<Event> {
        let ask = AskId(self.asked + 1);
        let event = what.event(ask, &request.payload);
        match event {
            Ok(event) => {
                self.asked = ask.0;
                self.questions.insert(ask, request.responder);
                Some(event)
            }
            Err(error) => {
                self.unreadable.count += 1;
                let now = self.host.clock().monotonic;
                if now >= self.unreadable.tell_at {
                    let (count, why) = (self.unreadable.count, work::words(&error));
                    let line = format!("{count} unreadable {} dropped: {why}", what.name());
                    self.config.log.say(Severity::Warning, &line);
                    self.unreadable = Unreadable { count: 0, tell_at: now + UNREADABLE_TOLD_EVERY };
                }
                None
            }
        }
    }

    fn envelope<T>(&self, id: String, body: T) -> Envelope<T> {
        Envelope::new(id, self.config.machine.to_string(), self.host.clock().wall, body)
    }

    fn spawn(&mut self, work: impl Future<Output = Event> + Send + 'static) -> AbortHandle {
        let inbox = self.inbox.clone();
        self.tasks.spawn(async move {
            let event = work.await;
            // The loop ends only after everything that it started.
            let _ = inbox.send(Done::Event(event)).await;
        })
    }
}

/// Hands events to the loop. It ends only after everything that it started.
fn telling_events<P: Send + 'static>(
    inbox: mpsc::Sender<Done<P>>,
) -> impl Fn(Event) -> BoxFuture + Send + 'static {
    move |event| {
        let inbox = inbox.clone();
        Box::pin(async move {
            let _ = inbox.send(Done::Event(event)).await;
        })
    }
}

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

fn say(log: &Log, lines: Vec<Line>) {
    for line in lines {
        log.say(line.severity, &line.text);
    }
}

fn now<H: Host>(host: &H) -> Now {
    let clock = host.clock();
    Now { monotonic: clock.monotonic, wall: clock.wall }
}
