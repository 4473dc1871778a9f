//! A book in the world of a trace: its disk, its clock, its source of identities.

use super::disk::{Disk, DiskError, File};
use super::format::{Query, Step};
use super::steps;
use crate::Disagreement;
use failure_book::{
    App, BookId, DocumentError, FailureBook, Host, OpenError, RECONCILED_REASON, Rules, Served,
};
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// What the traces say for the reason of a failure that an open made of an intent.
const RECONCILED: &str = "$reconciled";

pub(super) struct World {
    ids: VecDeque<BookId>,
    disk: Disk,
    rules: Rules,
    book: Option<FailureBook<Disk>>,
}

/// The source of identities has none to give.
#[derive(Debug, thiserror::Error)]
#[error("no identity can be drawn")]
struct NoIdentity;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Corrupt {
    corrupt: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IoError {
    #[serde(rename = "io_error")]
    _io_error: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenArgs {
    identity: Option<String>,
}

impl World {
    pub(super) fn new(
        ids: &[String],
        file: Option<&Value>,
        rules: Rules,
    ) -> Result<Self, Disagreement> {
        let ids: Result<_, _> = ids.iter().map(|id| id.parse()).collect();
        let ids = ids.map_err(serde_json::Error::custom)?;
        let file = match file {
            None => File::Missing,
            Some(file) if file.get("corrupt").is_some() => {
                File::Text(Corrupt::deserialize(file)?.corrupt)
            }
            Some(file) if file.get("io_error").is_some() => {
                IoError::deserialize(file)?;
                File::CannotBeRead
            }
            Some(file) => File::Text(file.to_string()),
        };
        Ok(Self { ids, disk: Disk::new(file), rules, book: None })
    }

    /// How many identities were not asked for.
    pub(super) fn ids_left(&self) -> usize {
        self.ids.len()
    }

    /// Makes one step, and tells all that came of it.
    pub(super) fn step(&mut self, step: &Step) -> Result<Value, Disagreement> {
        self.disk.plan(step.save, &step.save_attempts);
        let result = match step.op.as_str() {
            "open" | "reopen" => self.open(step)?,
            _ => {
                let book = self.book.as_mut();
                let book = book.ok_or_else(|| serde_json::Error::custom("no book is open"))?;
                steps::run(book, step)?
            }
        };
        let queries: Result<Vec<_>, _> =
            step.queries.iter().map(|query| self.answer(query)).collect();
        let mut landed = self.disk.landed();
        let file = landed.pop();
        let mut got = Map::new();
        let mut put = |name: &str, value: Value| got.insert(name.to_owned(), value);
        put("result", result);
        put("saved", json!(file.is_some()));
        put("save_attempts", json!(self.disk.attempts()));
        put("file", file.map_or(Value::Null, with_reason));
        put("earlier_files", landed.into_iter().map(with_reason).collect());
        put("after", self.after()?);
        put("queries", queries?.into());
        Ok(Value::Object(got))
    }

    fn open(&mut self, step: &Step) -> Result<Value, serde_json::Error> {
        let OpenArgs { identity } = OpenArgs::deserialize(&step.args)?;
        self.book = None;
        let ids = &mut self.ids;
        let fresh = || match identity {
            Some(_) => Err(NoIdentity),
            None => ids.pop_front().ok_or(NoIdentity),
        };
        let opened = FailureBook::open(self.disk.clone(), step.now, fresh, self.rules);
        let error = match opened {
            Ok(book) => {
                self.book = Some(book);
                Value::Null
            }
            Err(OpenError::Journal(DiskError::Document(DocumentError::UnknownSchema {
                ..
            }))) => json!("unknown_schema"),
            Err(OpenError::Journal(_)) => json!("unreadable"),
            Err(OpenError::Identity(NoIdentity)) => json!("no_identity"),
        };
        Ok(json!({ "error": error }))
    }

    /// The whole state of the book.
    fn after(&self) -> Result<Value, serde_json::Error> {
        let Some(book) = self.book.as_ref().map(FailureBook::book) else { return Ok(Value::Null) };
        let document: Value = serde_json::from_str(&book.kept().to_document()?)?;
        let part = |name: &str| document.get(name).cloned().unwrap_or_default();
        Ok(with_reason(json!({
            "id": book.id(),
            "seq": book.seq(),
            "save_owed": book.save_owed(),
            "exhausted": book.is_exhausted(),
            "reconciled": book.reconciled(),
            "records": part("records"),
            "hold_ran": part("hold_ran"),
            "intents": part("intents"),
            "gens": part("gens"),
        })))
    }

    fn answer(&self, Query { q, args, .. }: &Query) -> Result<Value, serde_json::Error> {
        let book = self.book.as_ref().map(FailureBook::book);
        let book = book.ok_or_else(|| serde_json::Error::custom("no book is open"))?;
        let of_build = || steps::OfBuild::deserialize(args)?.names();
        let number = |generation: Option<failure_book::Generation>| {
            json!(generation.map_or(0, failure_book::Generation::get))
        };
        Ok(match q.as_str() {
            "blocks" => {
                let served = match args.get("served").and_then(Value::as_bool) {
                    Some(true) => Served::Already,
                    Some(false) => Served::NotYet,
                    None => return Err(serde_json::Error::custom("served is missing")),
                };
                let (build, host) = of_build()?;
                json!(book.blocks(&build, &host, served))
            }
            "held_down" => of_build().map(|(build, host)| json!(book.held_down(&build, &host)))?,
            "retried" => of_build().map(|(build, host)| json!(book.retried(&build, &host)))?,
            "restriction_epoch" => of_build()
                .map(|(build, host)| number(book.restriction_generation(&build, &host)))?,
            "published_epoch" => {
                of_build().map(|(build, host)| number(book.published_generation(&build, &host)))?
            }
            "hold_ran_on" => {
                let host = Host::new(text(args, "host")?).map_err(serde_json::Error::custom)?;
                json!(book.hold_ran_on(&host))
            }
            "lookup" => {
                let (build, _) = of_build()?;
                with_reason(json!({"records": [book.lookup(&build)]}))["records"][0].take()
            }
            "snapshot" => json!(book.snapshot().map_or(0, failure_book::Snapshot::get)),
            "for_app_len" => {
                let app = App::new(text(args, "account")?, text(args, "app")?);
                json!(book.for_app_len(&app.map_err(serde_json::Error::custom)?))
            }
            "hold_ran_count" => json!(book.hold_ran_count()),
            other => return Err(serde_json::Error::custom(format!("no query {other:?}"))),
        })
    }
}

fn text<'a>(args: &'a Value, name: &str) -> Result<&'a str, serde_json::Error> {
    let text = args.get(name).and_then(Value::as_str);
    text.ok_or_else(|| serde_json::Error::custom(format!("{name} is missing")))
}

/// The same dump, with the traces' word for our reason of a reconciled failure.
fn with_reason(mut dump: Value) -> Value {
    let records = dump.get_mut("records").and_then(Value::as_array_mut);
    for reason in records.into_iter().flatten().filter_map(|record| record.get_mut("reason")) {
        if reason == RECONCILED_REASON {
            *reason = json!(RECONCILED);
        }
    }
    dump
}
