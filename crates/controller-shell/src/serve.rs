//! The loop: one owner of the core, everything else comes to it.

use std::time::Duration;

use bus::{Bus, Bytes, Message, Request, SubscribeError};
use chrono::{DateTime, Utc};
use controller_core::{Anchor, Asking, Controller as Core, Reply, Rules, Timeline};
use inventory::{Epoch, Machine};
use serde::Serialize;
use store::Store;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at},
};
use wire::{
    Envelope, Hello, Report, Statement,
    api::{Answer, Ask, Refusal},
};

use crate::{
    intake::{Intake, read_message, read_request},
    of_machine,
    ports::{Clock, Ids},
    restore::{RestoreError, read, restore},
    walk::{Delivered, SENDER, walk, with_sources},
};

/// How many messages are taken before the core is asked what to do about them: many statements of a large fleet come to one
/// judging, and none waits for long.
const TAKEN_AT_ONCE: usize = 1_024;

/// How many requests and answers may wait.
const QUEUE_LENGTH: usize = 1_024;

/// What a controller goes by.
#[derive(Debug, Clone)]
pub struct Config {
    /// The rules of its core.
    pub rules: Rules,
    /// The epoch of its lease.
    pub epoch: Epoch,
    /// How often time alone is reason enough to look at everything.
    pub tick: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { rules: Rules::default(), epoch: Epoch(1), tick: Duration::from_secs(1) }
    }
}

/// A running controller.
#[derive(Debug)]
pub struct Controller {
    handle: Handle,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Where requests go in. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: mpsc::Sender<Asked>,
}

/// Why a controller does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot go on from its store.
    #[error("the controller cannot go on from its store")]
    Restore(#[from] RestoreError),
    /// It cannot listen.
    #[error("the controller cannot listen on the bus")]
    Bus(#[from] SubscribeError),
}

/// The controller has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the controller has stopped")]
pub struct Gone;

#[derive(Debug)]
enum Asked {
    Ask { sender: String, ask: Ask, answer: oneshot::Sender<Answer> },
    Enroll { machine: Machine, answer: oneshot::Sender<Result<(), Refusal>> },
}

impl Controller {
    /// Goes on from what the store holds, and runs until it is stopped.
    pub async fn start<S: Store, B: Bus>(
        config: Config,
        store: S,
        bus: B,
        clock: impl Clock,
        ids: impl Ids,
    ) -> Result<Self, StartError> {
        let (core, timeline) = restore(&store, config.rules, config.epoch, &clock.read()).await?;
        let intake = Intake::open(&bus).await?;
        let (requests, asked) = mpsc::channel(QUEUE_LENGTH);
        let (deliver, delivered) = mpsc::channel(QUEUE_LENGTH);
        let (stop, stopped) = watch::channel(false);
        let memory = Memory::Sure;
        let running = Running { core, timeline, store, bus, clock, ids, deliver, memory };
        let inbox = Inbox { intake, asked, delivered, stopped };
        let task = tokio::spawn(run(running, inbox, config.tick));
        Ok(Self { handle: Handle { requests }, stop, task })
    }

    /// Where requests go in.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Stops after what is being done now, and waits for that.
    pub async fn stop(self) {
        // The loop is gone already when nobody listens.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

impl Handle {
    /// Asks, and waits for the answer: it is given when what it rests on has landed.
    pub async fn ask(&self, sender: &str, ask: Ask) -> Result<Answer, Gone> {
        let (answer, answered) = oneshot::channel();
        let asked = Asked::Ask { sender: sender.to_owned(), ask, answer };
        self.requests.send(asked).await.map_err(|_| Gone)?;
        answered.await.map_err(|_| Gone)
    }

    /// Adds a machine, or changes what is known of it.
    pub async fn enroll(&self, machine: Machine) -> Result<Result<(), Refusal>, Gone> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Asked::Enroll { machine, answer }).await.map_err(|_| Gone)?;
        answered.await.map_err(|_| Gone)
    }
}

/// Where things come from.
struct Inbox {
    intake: Intake,
    asked: mpsc::Receiver<Asked>,
    delivered: mpsc::Receiver<Delivered>,
    stopped: watch::Receiver<bool>,
}

/// One thing that came.
enum Came {
    Hello(Request),
    Report(Request),
    Statement(Message),
    Asked(Asked),
    Delivered(Delivered),
    Tick,
    Stop,
}

/// The core and all that it is driven with.
struct Running<S, B, C, I> {
    core: Core,
    timeline: Timeline,
    store: S,
    bus: B,
    clock: C,
    ids: I,
    deliver: mpsc::Sender<Delivered>,
    memory: Memory,
}

/// Whether the core remembers what the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// It does.
    Sure,
    /// A write failed, and may have landed all the same: the store has to be read before anything else is decided.
    Doubtful,
}

async fn run<S: Store, B: Bus, C: Clock, I: Ids>(
    mut running: Running<S, B, C, I>,
    mut inbox: Inbox,
    tick: Duration,
) {
    let mut ticks = interval_at(Instant::now(), tick);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let mut came = tokio::select! {
            came = inbox.next() => came,
            _ = ticks.tick() => Came::Tick,
        };
        for _ in 0..TAKEN_AT_ONCE {
            if matches!(came, Came::Stop) {
                return;
            }
            running.take(came).await;
            match inbox.ready().await {
                Some(more) => came = more,
                None => break,
            }
        }
        running.settle().await;
    }
}

impl Inbox {
    async fn next(&mut self) -> Came {
        tokio::select! {
            _ = self.stopped.changed() => Came::Stop,
            Some(asked) = self.asked.recv() => Came::Asked(asked),
            Some(delivered) = self.delivered.recv() => Came::Delivered(delivered),
            Some(hello) = self.intake.hellos.next() => Came::Hello(hello),
            Some(report) = self.intake.reports.next() => Came::Report(report),
            Some(statement) = self.intake.statements.next() => Came::Statement(statement),
            // The bus and everyone who asks are gone.
            else => Came::Stop,
        }
    }

    /// What has come already, without waiting.
    async fn ready(&mut self) -> Option<Came> {
        tokio::select! {
            biased;
            came = self.next() => Some(came),
            () = std::future::ready(()) => None,
        }
    }
}

impl<S: Store, B: Bus, C: Clock, I: Ids> Running<S, B, C, I> {
    fn now(&self) -> DateTime<Utc> {
        self.timeline.now(&self.clock.read())
    }

    fn moment(&self) -> Anchor {
        self.timeline.anchor(&self.clock.read())
    }

    async fn take(&mut self, came: Came) {
        let now = self.now();
        // In doubt everything is still heard and answered; only what would have to land is refused.
        let _ = self.make_sure(now).await;
        match came {
            Came::Hello(request) => {
                let reply = read_request::<Hello>(&request)
                    .and_then(|hello| self.core.hear_hello(now, hello).ok());
                answer(request, now, reply);
            }
            Came::Report(request) => self.take_report(now, request).await,
            Came::Statement(message) => {
                if let Some(statement) = read_message::<Statement>(&message) {
                    // A stranger's statement is dropped.
                    let _ = self.core.hear_statement(now, statement);
                }
            }
            Came::Asked(asked) => self.take_request(now, asked).await,
            Came::Delivered(Delivered::Declared { machine, number, reply }) => {
                self.core.delivered(now, &machine, number, reply);
            }
            Came::Delivered(Delivered::Pointed { machine, id, reply }) => {
                self.core.handed(now, &machine, &id, reply);
            }
            Came::Tick => self.core.tick(),
            Came::Stop => {}
        }
    }

    /// Acknowledged only when it is kept; until then the machine goes on sending it.
    async fn take_report(&mut self, now: DateTime<Utc>, request: Request) {
        let heard = read_request::<Report>(&request)
            .and_then(|report| self.core.hear_report(now, report).ok());
        let Some((step, reply)) = heard else { return };
        if self.walk(now, &step).await.is_ok() {
            answer(request, now, Some(reply));
        }
    }

    async fn take_request(&mut self, now: DateTime<Utc>, asked: Asked) {
        match asked {
            Asked::Ask { sender, ask, answer } => {
                let fresh = self.ids.fresh(now);
                let decided = self.core.ask(Asking { sender: &sender, now, fresh: &fresh }, ask);
                let told = match decided {
                    Err(refusal) => Answer::Refused(refusal),
                    Ok((_, Reply::Machine { machine, question })) => {
                        let bus = self.bus.clone();
                        // In the background: a machine that does not answer keeps nobody waiting but who asked.
                        tokio::spawn(async move {
                            let told = of_machine::ask(&bus, now, &machine, *question).await;
                            let _ = answer.send(told);
                        });
                        return;
                    }
                    Ok((step, Reply::Told(told))) => match self.walk(now, &step).await {
                        Ok(()) => *told,
                        Err(why) => Answer::Refused(Core::not_kept(&why)),
                    },
                };
                // Whoever asked may have gone away.
                let _ = answer.send(told);
            }
            Asked::Enroll { machine, answer } => {
                let step = self.core.enroll(machine);
                let done = self.walk(now, &step).await.map_err(|why| Core::not_kept(&why));
                let _ = answer.send(done);
            }
        }
    }

    /// Does what there is to do until there is nothing more, or until the store does not take it.
    async fn settle(&mut self) {
        loop {
            let moment = self.moment();
            if self.make_sure(moment.at).await.is_err() {
                return;
            }
            let Some(step) = self.core.next(&moment) else { return };
            if self.walk(moment.at, &step).await.is_err() {
                return;
            }
        }
    }

    async fn walk(
        &mut self,
        now: DateTime<Utc>,
        step: &controller_core::Step,
    ) -> Result<(), String> {
        if self.memory == Memory::Doubtful && !step.land.is_empty() {
            let held_off = self.core.state().held_off.as_ref();
            return Err(held_off.map(|held_off| held_off.why.clone()).unwrap_or_default());
        }
        let walked = walk(&mut self.core, &self.store, &self.bus, &self.deliver, now, step).await;
        if walked.is_err() {
            self.memory = Memory::Doubtful;
        }
        walked
    }

    /// Reads the store again after a write that failed, once the pause is over.
    async fn make_sure(&mut self, now: DateTime<Utc>) -> Result<(), String> {
        if self.memory == Memory::Sure {
            return Ok(());
        }
        let held_off = self.core.state().held_off.clone();
        if let Some(held_off) = held_off.filter(|held_off| now < held_off.until) {
            return Err(held_off.why);
        }
        match read(&self.store).await {
            Ok(records) => {
                self.core.reload(records);
                self.memory = Memory::Sure;
                Ok(())
            }
            Err(error) => {
                let why = with_sources(&error);
                self.core.not_landed(now, why.clone());
                Err(why)
            }
        }
    }
}

/// Answers, where there is an answer; who asked without a good question is left to its time-out.
fn answer<T: Serialize>(request: Request, now: DateTime<Utc>, reply: Option<T>) {
    let Some(reply) = reply else { return };
    let envelope =
        Envelope::new(format!("reply-{}", now.timestamp_micros()), SENDER.into(), now, reply);
    if let Ok(bytes) = envelope.encode() {
        // An answer that is too large cannot be: it was checked when it was encoded.
        let _ = request.responder.respond(Bytes::from(bytes));
    }
}
