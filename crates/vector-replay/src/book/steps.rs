//! The operations of a trace.

use super::disk::Disk;
use super::format::Step;
use chrono::{DateTime, Utc};
use failure_book::{
    Answer, App, BadName, Begun, Book, BookId, Build, Cleared, ExecutionId, Failure, FailureBook,
    Freed, Generation, Grant, Granted, HoldRan, Host, Intent, MarkerWish, Mode, NotBegun, Recorded,
    Snapshot, Unsaved,
};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Error, Value, json};

/// A time as an argument; none is `null`.
type Stamp = Option<DateTime<Utc>>;

/// A build, and often a host. What else an operation has is in the other arguments.
#[derive(Deserialize)]
pub(super) struct OfBuild {
    account: String,
    app: String,
    build: String,
    #[serde(default)]
    host: String,
}

impl OfBuild {
    pub(super) fn names(&self) -> Result<(Build, Host), Error> {
        let names = || -> Result<_, BadName> {
            Ok((Build::new(&self.account, &self.app, &self.build)?, Host::new(&self.host)?))
        };
        names().map_err(Error::custom)
    }
}

#[derive(Deserialize)]
struct RecordArgs {
    cause: String,
    mode: String,
    reason: String,
    promoted_at: Stamp,
    at: Stamp,
    held_down: Vec<String>,
    /// A failure has no retried hosts: the reference ignores them.
    #[serde(rename = "retried")]
    _retried: Vec<String>,
    mark_hold_ran: bool,
    hold_ran_at: Stamp,
    hold_ran_exec: String,
    seq: u64,
}

#[derive(Deserialize)]
struct MarkArgs {
    exec: String,
    at: Stamp,
}

#[derive(Deserialize)]
struct BeginArgs {
    mode: String,
    id: String,
    start: Stamp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndArgs {
    host: String,
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfHost {
    host: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BeforeArgs {
    host: String,
    snap: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkerPointerArgs {
    host: String,
    account: String,
    app: String,
    promoted_at: Stamp,
}

#[derive(Deserialize)]
struct PointerArgs {
    promoted_at: Stamp,
}

#[derive(Deserialize)]
struct GrantArgs {
    book: String,
    epoch: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PruneArgs {
    installed: Vec<(String, String, String)>,
}

/// Runs one operation on an open book, and tells its result.
pub(super) fn run(book: &mut FailureBook<Disk>, step: &Step) -> Result<Value, Error> {
    let args = &step.args;
    match step.op.as_str() {
        "record" => record(book, args, step.now),
        "mark_hold_ran" => mark_hold_ran(book, args, step.now),
        "begin" => begin(book, args),
        "end" => end(book, args),
        "retry_host_at" => retry_host_at(book, args),
        "id" => Ok(json!({"id": book.book().id()})),
        "snapshot" => Ok(json!({"snapshot": book.book().snapshot().map_or(0, Snapshot::get)})),
        "flush" => Ok(json!({"error": error(&book.run(Book::flush))})),
        "save_if_dirty" => Ok(json!({"error": error(&book.run(Book::save_if_dirty))})),
        "prune" => prune(book, args),
        "clear_hold_ran" => {
            let host = host(&OfHost::deserialize(args)?.host)?;
            Ok(cleared(book.run(|book| book.clear_hold_ran(&host))))
        }
        "clear_hold_ran_before" => {
            let BeforeArgs { host: name, snap } = BeforeArgs::deserialize(args)?;
            let host = host(&name)?;
            let snapshot = Snapshot::new(snap);
            Ok(cleared(book.run(|book| book.clear_hold_ran_before(&host, snapshot))))
        }
        "clear_hold_ran_on_pointer" => {
            let MarkerPointerArgs { host: name, account, app, promoted_at } =
                MarkerPointerArgs::deserialize(args)?;
            let host = host(&name)?;
            let app = App::new(&account, &app).map_err(Error::custom)?;
            let clear = |book: &mut Book| book.clear_hold_ran_on_pointer(&host, &app, promoted_at);
            Ok(cleared(book.run(clear)))
        }
        "retry_host" => {
            let (build, host) = OfBuild::deserialize(args)?.names()?;
            Ok(cleared(book.run(|book| book.retry_host(&build, &host))))
        }
        "clear_on_pointer" => {
            let (build, _) = OfBuild::deserialize(args)?.names()?;
            let PointerArgs { promoted_at } = PointerArgs::deserialize(args)?;
            Ok(cleared(book.run(|book| book.clear_on_pointer(&build, promoted_at))))
        }
        other => Err(Error::custom(format!("no operation {other:?}"))),
    }
}

fn record(book: &mut FailureBook<Disk>, args: &Value, now: DateTime<Utc>) -> Result<Value, Error> {
    let (build, host) = OfBuild::deserialize(args)?.names()?;
    let args = RecordArgs::deserialize(args)?;
    let held_down: Result<_, _> = args.held_down.iter().map(|name| Host::new(name)).collect();
    let failure = Failure {
        build,
        host,
        cause: args.cause,
        mode: Mode::new(args.mode),
        reason: args.reason,
        promoted_at: args.promoted_at,
        at: args.at,
        held_down: held_down.map_err(Error::custom)?,
        marker: if args.mark_hold_ran { MarkerWish::Set } else { MarkerWish::Leave },
        exec: ExecutionId::new(&args.hold_ran_exec).ok(),
        start: args.hold_ran_at,
        snapshot: Snapshot::new(args.seq),
    };
    let answer = book.run(|book| book.record(failure, now));
    let result = match answer.value {
        Recorded::Recorded => "recorded",
        Recorded::Merged => "merged",
        Recorded::Unchanged => "unchanged",
        Recorded::PreRetry => "pre_retry",
    };
    Ok(json!({"result": result, "error": error(&answer)}))
}

fn mark_hold_ran(
    book: &mut FailureBook<Disk>,
    args: &Value,
    now: DateTime<Utc>,
) -> Result<Value, Error> {
    let (build, host) = OfBuild::deserialize(args)?.names()?;
    let MarkArgs { exec, at } = MarkArgs::deserialize(args)?;
    let ran = HoldRan { build, exec: ExecutionId::new(&exec).ok(), at };
    let answer = book.run(|book| book.mark_hold_ran(&host, ran, now));
    Ok(json!({"error": error(&answer)}))
}

fn begin(book: &mut FailureBook<Disk>, args: &Value) -> Result<Value, Error> {
    let (build, host) = OfBuild::deserialize(args)?.names()?;
    let BeginArgs { mode, id, start } = BeginArgs::deserialize(args)?;
    let Ok(id) = ExecutionId::new(&id) else { return Ok(json!({"error": "intent_without_id"})) };
    let intent = Intent { build, mode: Mode::new(mode), id, start };
    let answer = book.run(|book| book.begin(&host, intent));
    let error = match &answer.value {
        Begun::MayExecute => error(&answer),
        Begun::No(NotBegun::IntentStands { .. }) => json!("intent_stands"),
        Begun::No(NotBegun::Exhausted) => json!("seq_exhausted"),
        Begun::No(NotBegun::NotLanded) => json!("save_failed"),
    };
    Ok(json!({ "error": error }))
}

fn end(book: &mut FailureBook<Disk>, args: &Value) -> Result<Value, Error> {
    let EndArgs { host: name, id } = EndArgs::deserialize(args)?;
    let host = host(&name)?;
    let answer = match ExecutionId::new(&id) {
        Ok(id) => book.run(|book| book.end(&host, &id)),
        // No intent is that of an execution without identity.
        Err(_) => book.run(Book::save_if_dirty),
    };
    Ok(json!({"error": error(&answer)}))
}

fn retry_host_at(book: &mut FailureBook<Disk>, args: &Value) -> Result<Value, Error> {
    let (build, host) = OfBuild::deserialize(args)?.names()?;
    let GrantArgs { book: named, epoch } = GrantArgs::deserialize(args)?;
    // What has no identity or no generation is no grant; one for a book that nobody has stands in.
    let (named, generation) = match (named.parse(), Generation::new(epoch)) {
        (Ok(named), Some(generation)) => (named, Some(generation)),
        (Ok(_) | Err(_), _) => (BookId::from_random([0; 16]), Generation::new(1)),
    };
    let generation = generation.ok_or_else(|| Error::custom("a generation is not zero"))?;
    let grant = Grant { build, host, book: named, generation };
    let answer = book.retry_host_at(&grant);
    let Granted { freed, generation } = answer.value;
    let (record, marker) = match freed {
        Freed::Nothing(_) => (false, false),
        Freed::Record => (true, false),
        Freed::Marker => (false, true),
        Freed::RecordAndMarker => (true, true),
    };
    Ok(json!({
        "record": record,
        "marker": marker,
        "epoch_now": generation.map_or(0, Generation::get),
        "error": error(&answer),
    }))
}

fn prune(book: &mut FailureBook<Disk>, args: &Value) -> Result<Value, Error> {
    let PruneArgs { installed } = PruneArgs::deserialize(args)?;
    let builds = installed.iter().map(|(account, app, build)| Build::new(account, app, build));
    let installed = builds.collect::<Result<_, _>>().map_err(Error::custom)?;
    let answer = book.run(|book| book.prune(&installed));
    Ok(json!({"error": error(&answer)}))
}

fn host(name: &str) -> Result<Host, Error> {
    Host::new(name).map_err(Error::custom)
}

fn cleared(answer: Answer<Cleared>) -> Value {
    let is_cleared = match answer.value {
        Cleared::Yes => true,
        Cleared::No => false,
    };
    json!({"cleared": is_cleared, "error": error(&answer)})
}

fn error<A>(answer: &Answer<A>) -> Value {
    match answer.error {
        None => Value::Null,
        Some(Unsaved::Failed) => json!("save_failed"),
        Some(Unsaved::Exhausted) => json!("seq_exhausted"),
    }
}
