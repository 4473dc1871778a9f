//! Walks one step: what must land, then what may be done. No choice is made here.

use std::time::Duration;

use bus::{Bus, Subject};
use chrono::{DateTime, Utc};
use controller_core::{Controller, Effect, Handing, Plan, PlanState, Record, Step, Write};
use inventory::Declaration;
use names::{MachineName, WordId};
use store::{Batch, Entry, Expect, Key, Reserve, Store};
use tokio::sync::mpsc;
use wire::{Declare, DeclareReply, Envelope, Word, WordReply, subject};

use crate::of_machine;

/// How long a machine has to say whether it keeps a declaration.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// How the controller names itself on the bus.
pub(crate) const SENDER: &str = "controller";

/// What came back from a machine.
#[derive(Debug)]
pub(crate) enum Delivered {
    /// To a declaration that it was sent.
    Declared {
        machine: MachineName,
        number: inventory::DeclarationNumber,
        reply: Option<DeclareReply>,
    },
    /// To a pointer that it was handed.
    Pointed { machine: MachineName, id: WordId, reply: Option<WordReply> },
}

/// Why a step did not land.
#[derive(Debug, thiserror::Error)]
enum NotLanded {
    #[error("a document cannot be written as text: {0}")]
    Encode(#[from] serde_json::Error),
    #[error("{0}")]
    Key(#[from] store::KeyError),
    #[error("{0}")]
    Batch(#[from] store::BatchError),
    #[error("{0}")]
    Commit(#[from] store::CommitError),
}

/// Lands a step and then does the rest of it; the error is what the store says, and nothing of the rest was done then.
pub(crate) async fn walk<S: Store, B: Bus>(
    core: &mut Controller,
    store: &S,
    bus: &B,
    deliveries: &mpsc::Sender<Delivered>,
    now: DateTime<Utc>,
    step: &Step,
) -> Result<(), String> {
    if let Err(error) = land(store, step).await {
        let why = with_sources(&error);
        core.not_landed(now, why.clone());
        return Err(why);
    }
    core.landed(now, step);
    for effect in &step.then {
        match effect {
            Effect::Tell(event) => tell(bus, now, event).await,
            Effect::Send(declaration) => send(bus, deliveries, now, declaration),
            Effect::Hand(handing) => hand(bus, deliveries, now, handing),
        }
    }
    core.carried_out(now, step);
    Ok(())
}

async fn land<S: Store>(store: &S, step: &Step) -> Result<(), NotLanded> {
    if step.land.is_empty() {
        return Ok(());
    }
    let entries = step.land.iter().map(entry).collect::<Result<_, _>>()?;
    let batch = Batch::new(entries)?.with_reserve(reserve(step));
    store.commit(batch).await?;
    Ok(())
}

/// Putting back a build that failed may use the last room: else a full disk here would keep it running there.
fn reserve(step: &Step) -> Reserve {
    let puts_back = |write: &Write| match write {
        Write::Put(record) => matches!(
            &**record,
            Record::Plan(Plan { state: PlanState::PuttingBack(_) | PlanState::Failed(_), .. })
        ),
        Write::Delete(_) => false,
    };
    if step.land.iter().any(puts_back) { Reserve::Used } else { Reserve::Kept }
}

fn entry(write: &Write) -> Result<Entry, NotLanded> {
    // The lock on the store keeps every other writer out, so there is nothing to compare with.
    Ok(match write {
        Write::Put(record) => Entry::put(key(&record.key())?, Expect::Any, record.encode()?),
        Write::Delete(record) => Entry::delete(key(record)?, Expect::Any),
    })
}

fn key(record: &controller_core::RecordKey) -> Result<Key, store::KeyError> {
    record.to_string().parse()
}

/// An event that cannot be told is not lost: it is kept, and people find it there.
async fn tell<B: Bus>(bus: &B, now: DateTime<Utc>, event: &wire::Event) {
    let id = format!("event-{}-{}", event.kind, event.at.timestamp_micros());
    let envelope = Envelope::new(id, SENDER.into(), now, event.clone());
    let subject = subject::event(&event.kind).parse::<Subject>();
    if let (Ok(subject), Ok(bytes)) = (subject, envelope.encode()) {
        let _ = bus.publish(&subject, bytes.into()).await;
    }
}

/// Asks in the background, so that a machine that does not answer keeps nobody waiting; the core asks again by itself.
fn send<B: Bus>(
    bus: &B,
    deliveries: &mpsc::Sender<Delivered>,
    now: DateTime<Utc>,
    declaration: &Declaration,
) {
    let (bus, deliveries) = (bus.clone(), deliveries.clone());
    let (machine, number) = (declaration.machine.clone(), declaration.number);
    let declare = Declare { declaration: declaration.clone() };
    let envelope =
        Envelope::new(format!("declare-{machine}-{number}"), SENDER.into(), now, declare);
    tokio::spawn(async move {
        let reply = request(&bus, &machine, &envelope).await;
        // The receiver is gone only when the controller is.
        let _ = deliveries.send(Delivered::Declared { machine, number, reply }).await;
    });
}

/// Hands a pointer over in the background; the core does so again when nothing comes back.
fn hand<B: Bus>(
    bus: &B,
    deliveries: &mpsc::Sender<Delivered>,
    now: DateTime<Utc>,
    handing: &Handing,
) {
    let (bus, deliveries) = (bus.clone(), deliveries.clone());
    let Handing { machine, id, pointer } = handing.clone();
    tokio::spawn(async move {
        let reply = of_machine::say(&bus, now, &machine, Word::Pointer(pointer)).await.ok();
        // The receiver is gone only when the controller is.
        let _ = deliveries.send(Delivered::Pointed { machine, id, reply }).await;
    });
}

async fn request<B: Bus>(
    bus: &B,
    machine: &MachineName,
    envelope: &Envelope<Declare>,
) -> Option<DeclareReply> {
    let subject = subject::declare(machine).parse::<Subject>().ok()?;
    let bytes = envelope.encode().ok()?;
    let answer = bus.request(&subject, bytes.into(), ANSWER_WITHIN).await.ok()?;
    Some(Envelope::<DeclareReply>::decode(&answer).ok()?.body)
}

/// An error with all that it rests on, in one line.
pub(crate) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = error.source();
    }
    text
}
