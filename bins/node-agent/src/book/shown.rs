//! The book for people and for programs: what is in it, each with what it means.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use chrono::{DateTime, Utc};
use failure_book::{App, BookId, Build, Generation, Host, Intent, Kept, Marker, Record};
use serde::Serialize;
use terminal::{
    paint::{Line, Paint, Tone, harmless},
    table::{Cell, Table},
    words::{age, instant, list, one_line},
};

use super::{
    bring::of_each,
    freed::{Freed, Newest},
    freeing::parts,
    keeping::Found,
};
use crate::folder::{Folder, Held};

/// A book as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown<'a> {
    /// Of this document.
    version: u32,
    /// Where it is; none: it is a document that was not imported.
    folder: Option<PathBuf>,
    /// Its identity; none: there is no book yet, or the next that opens it gives it one.
    book: Option<BookId>,
    engine: Engine,
    /// Why its newest changes may be missing.
    doubts: &'a [String],
    records: Vec<Meant<&'a Record>>,
    markers: Vec<Meant<OnHost<&'a Marker>>>,
    intents: Vec<Meant<OnHost<&'a Intent>>>,
    /// What a retry grant has to name, by account and module.
    generations: BTreeMap<&'a str, Option<Generation>>,
    freed: Newest,
    #[serde(skip)]
    kept: Option<&'a Kept>,
}

/// Whether an engine runs on the book's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Engine {
    /// One does; its process, where the kernel tells.
    Runs(Option<u32>),
    None,
}

/// An entry with what it means.
#[derive(Debug, Serialize)]
struct Meant<T> {
    #[serde(flatten)]
    entry: T,
    means: String,
}

/// An entry of an instance.
#[derive(Debug, Serialize)]
struct OnHost<T> {
    host: String,
    #[serde(flatten)]
    entry: T,
}

impl<'a> Shown<'a> {
    const VERSION: u32 = 1;

    /// What was found in a folder.
    pub(super) fn new(folder: &Folder, found: &'a Found, held: Held, freed: Newest) -> Self {
        let engine = match held {
            Held::By(pid) => Engine::Runs(pid),
            Held::ByNobody => Engine::None,
        };
        let Found { kept, doubts } = found;
        Self { folder: Some(folder.book()), doubts, freed, ..Self::of(kept.as_ref(), engine) }
    }

    /// What a document holds.
    pub(super) fn of_document(kept: &'a Kept) -> Self {
        Self::of(Some(kept), Engine::None)
    }

    fn of(kept: Option<&'a Kept>, engine: Engine) -> Self {
        let records = kept.into_iter().flat_map(Kept::records);
        let markers = kept.into_iter().flat_map(Kept::markers);
        let intents = kept.into_iter().flat_map(Kept::intents);
        let generations = kept.into_iter().flat_map(Kept::generations);
        let named = |host: &Host| host.as_str().to_owned();
        Self {
            version: Self::VERSION,
            folder: None,
            book: kept.and_then(Kept::id),
            engine,
            doubts: &[],
            records: records.map(|entry| Meant { means: of_record(entry), entry }).collect(),
            markers: markers
                .map(|(host, entry)| Meant {
                    means: of_marker(host),
                    entry: OnHost { host: named(host), entry },
                })
                .collect(),
            intents: intents
                .map(|(host, entry)| Meant {
                    means: of_intent(entry, engine),
                    entry: OnHost { host: named(host), entry },
                })
                .collect(),
            generations: generations.map(|(app, kept)| (app.as_str(), kept)).collect(),
            freed: Newest::default(),
            kept,
        }
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.markers.is_empty() && self.intents.is_empty()
    }
}

fn of_record(record: &Record) -> String {
    let blocks = if record.retried.is_empty() {
        "blocks every instance".to_owned()
    } else {
        format!("blocks every instance but {}", list(record.retried.iter()))
    };
    let down: Vec<&Host> = record.held_down.iter().filter(|host| record.holds_down(host)).collect();
    if down.is_empty() { blocks } else { format!("{blocks}; holds {} down", list(down)) }
}

fn of_marker(host: &Host) -> String {
    format!("nothing falls back on {host} by itself")
}

fn of_intent(intent: &Intent, engine: Engine) -> String {
    let held = if intent.mode.is_hold() { ", and holds the instance down" } else { "" };
    match engine {
        Engine::Runs(_) => {
            "is being tried; when the engine ends before it is over, it has failed".to_owned()
        }
        Engine::None => {
            format!("has no outcome; the next who opens the book makes a failure of it{held}")
        }
    }
}

/// A book as text.
pub(super) fn text(shown: &Shown<'_>, now: DateTime<Utc>, paint: Paint) -> String {
    let mut parts = vec![heading(shown, paint)];
    if !shown.records.is_empty() {
        parts.push(records(shown, now, paint));
    }
    if !shown.markers.is_empty() {
        parts.push(markers(shown, now, paint));
    }
    if !shown.intents.is_empty() {
        parts.push(intents(shown, now, paint));
    }
    // No grant names what is only a document.
    if shown.folder.is_some() && !shown.generations.is_empty() {
        parts.push(generations(shown, paint));
    }
    parts.extend(freed(&shown.freed, now, paint));
    if shown.folder.is_some() && (!shown.records.is_empty() || !shown.markers.is_empty()) {
        let hint =
            "to free one instance by hand: node-agent book free MODULE/INSTANCE --reason WHY";
        parts.push(paint.tone(Tone::Faint, hint));
    }
    parts.join("\n\n")
}

fn heading(shown: &Shown<'_>, paint: Paint) -> String {
    let mut lines = Vec::new();
    let mut field = |name: &str, line: Line| {
        let name = Line::default().and(Tone::Faint, format!("{name:<8}"));
        lines.push(name.followed_by(line).render(paint));
    };
    let plain = |text: String| Line::default().and(Tone::Plain, text);
    if let Some(folder) = &shown.folder {
        field("book", plain(folder.display().to_string()));
    }
    let id = |id: BookId| Line::default().and(Tone::Strong, id);
    field(
        "id",
        match (shown.book, &shown.folder, shown.kept) {
            (Some(book), Some(_), _) => id(book),
            (Some(book), None, _) => id(book).and(Tone::Plain, "; an import gives it another"),
            (None, _, Some(_)) => plain("none that counts; an import gives it one".to_owned()),
            (None, _, None) => plain("none: there is no failure book here yet".to_owned()),
        },
    );
    let holds = if shown.is_empty() {
        Line::default().and(Tone::Good, "nothing: nothing that failed here restricts anything")
    } else {
        plain(of_each(shown.records.len(), shown.markers.len(), shown.intents.len()))
    };
    field("holds", holds);
    match shown.engine {
        Engine::Runs(pid) => {
            let process = pid.map_or_else(String::new, |pid| format!(" as process {pid}"));
            field("engine", plain(format!("runs{process}: only it changes the book")));
        }
        Engine::None => {}
    }
    for doubt in shown.doubts {
        let line = Line::default().and(Tone::Bad, "its newest changes may be missing: ");
        field(
            "doubt",
            line.and(
                Tone::Plain,
                format!("{doubt}; whoever changes it next gives it a new identity"),
            ),
        );
    }
    lines.join("\n")
}

fn module(build: &Build) -> String {
    of_account(build.account(), build.app_name())
}

/// A module, with its account where that is not the usual one.
pub(super) fn of_account(account: &str, module: &str) -> String {
    if account == "default" { module.to_owned() } else { format!("{module} (account {account})") }
}

fn when(at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Cell {
    Cell::known(at.map(|at| format!("{} ({})", instant(at), age(at, now))))
}

fn records(shown: &Shown<'_>, now: DateTime<Utc>, paint: Paint) -> String {
    let mut table = Table::new(["MODULE", "BUILD", "FAILED ON", "WHEN", "MODE", "MEANS", "REASON"]);
    for Meant { entry, means } in &shown.records {
        let Record { build, host, cause, mode, reason, at, .. } = entry;
        table.row([
            Cell::plain(module(build)),
            Cell::new(Tone::Strong, build.name()),
            Cell::plain(host),
            when(*at, now),
            Cell::plain(mode),
            Cell::new(Tone::Bad, one_line(means)),
            Cell::plain(one_line(if reason.is_empty() { cause } else { reason })),
        ]);
    }
    format!(
        "failed here; no instance of the module is moved onto it but those that served it already:\n{}",
        table.render(paint, "")
    )
}

fn markers(shown: &Shown<'_>, now: DateTime<Utc>, paint: Paint) -> String {
    let mut table = Table::new(["INSTANCE", "MODULE", "BUILD", "EXECUTION", "STARTED", "MEANS"]);
    for Meant { entry: OnHost { host, entry }, means } in &shown.markers {
        let Marker { build, exec, at, .. } = entry;
        table.row([
            Cell::new(Tone::Strong, host),
            Cell::plain(module(build)),
            Cell::plain(build.name()),
            Cell::known(exec.as_ref()),
            when(*at, now),
            Cell::new(Tone::Bad, one_line(means)),
        ]);
    }
    format!(
        "ran as the only owner of its data, and neither passed nor failed:\n{}",
        table.render(paint, "")
    )
}

fn intents(shown: &Shown<'_>, now: DateTime<Utc>, paint: Paint) -> String {
    let mut table =
        Table::new(["INSTANCE", "MODULE", "BUILD", "EXECUTION", "MODE", "STARTED", "MEANS"]);
    for Meant { entry: OnHost { host, entry }, means } in &shown.intents {
        let Intent { build, mode, id, start } = entry;
        table.row([
            Cell::new(Tone::Strong, host),
            Cell::plain(module(build)),
            Cell::plain(build.name()),
            Cell::plain(id),
            Cell::plain(mode),
            when(*start, now),
            Cell::new(Tone::Busy, one_line(means)),
        ]);
    }
    format!("was begun, and has no outcome yet:\n{}", table.render(paint, ""))
}

fn generations(shown: &Shown<'_>, paint: Paint) -> String {
    let mut table = Table::new(["MODULE", "GENERATION"]);
    for (app, generation) in shown.kept.into_iter().flat_map(Kept::generations) {
        table.row([of_app(app), Cell::known(generation)]);
    }
    format!("a retry grant has to name this generation, and the book:\n{}", table.render(paint, ""))
}

fn of_app(app: &App) -> Cell {
    let (account, module) = parts(app);
    Cell::plain(of_account(account, module))
}

fn freed(newest: &Newest, now: DateTime<Utc>, paint: Paint) -> Option<String> {
    let Newest { told, trouble } = newest;
    let mut table = Table::new(["INSTANCE", "MODULE", "WHEN", "BY", "HELD BY", "REASON"]);
    for freed in told {
        let Freed { at, uid, sudo_user, account, module, instance, reason, held, .. } = freed;
        let by = match sudo_user {
            Some(user) => format!("{user} (user {uid})"),
            None => format!("user {uid}"),
        };
        let held: BTreeSet<&String> = held.blocked.iter().chain(&held.marker).collect();
        table.row([
            Cell::new(Tone::Strong, instance),
            Cell::plain(of_account(account, module)),
            when(Some(*at), now),
            Cell::plain(by),
            Cell::plain(one_line(&list(held))),
            Cell::plain(one_line(reason)),
        ]);
    }
    let trouble = trouble.as_deref().map(|text| paint.tone(Tone::Bad, harmless(text)));
    let table = (!told.is_empty())
        .then(|| format!("freed by hand, the newest last:\n{}", table.render(paint, "")));
    match (table, trouble) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one),
        (Some(table), Some(trouble)) => Some(format!("{table}\n{trouble}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{
        "schema": 3, "seq": 9, "durable_epochs": true, "book": "00112233445566778899aabbccddeeff",
        "records": [{
            "account": "default", "app": "blog", "build": "b1", "host": "blog-1", "cause": "release", "mode": "hold",
            "reason": "it exited\u001b[2J\nwith 3", "at": "2026-03-01T00:00:06.5Z",
            "held_down": ["blog-1", "blog-2"], "retried": ["blog-2"]
        }, {
            "account": "ac", "app": "shop", "build": "b7", "host": "till-1", "cause": "release", "mode": "overlap"
        }],
        "hold_ran": {"blog-4": {
            "account": "default", "app": "blog", "build": "b1", "exec": "a3", "seq": 4, "at": "2026-03-01T00:00:04Z"
        }},
        "intents": {"blog-5": {
            "account": "default", "app": "blog", "build": "b2", "mode": "hold", "id": "w7", "start": "2026-03-01T00:00:05Z"
        }},
        "gens": {"default/blog": 8, "ac/shop": 9}
    }"#;

    fn now() -> DateTime<Utc> {
        "2026-03-01T02:00:06Z".parse().unwrap()
    }

    fn freed() -> Newest {
        let held = freed_from(&["b1"], Some("b1"));
        let line = Freed {
            at: now(),
            uid: 0,
            sudo_user: Some("anna".to_owned()),
            account: "default".to_owned(),
            module: "blog".to_owned(),
            instance: "blog-2".to_owned(),
            reason: "the disk\nwas full".to_owned(),
            book: BookId::from_random([1; 16]),
            held,
        };
        let trouble = "1 of the newest lines cannot be read".to_owned();
        Newest { told: vec![line], trouble: Some(trouble) }
    }

    fn freed_from(blocked: &[&str], marker: Option<&str>) -> super::super::freed::Held {
        super::super::freed::Held {
            blocked: blocked.iter().map(|build| (*build).to_owned()).collect(),
            held_down: Vec::new(),
            marker: marker.map(str::to_owned),
        }
    }

    #[test]
    fn everything_in_a_book_is_told_with_what_it_means() {
        let found = Found {
            kept: Some(Kept::from_document(DOCUMENT.as_bytes()).unwrap()),
            doubts: vec!["its mark was missing".to_owned()],
        };
        let folder = Folder::at(std::path::Path::new("/data"));
        let shown = Shown::new(&folder, &found, Held::ByNobody, freed());
        let expected = "\
book    /data/book
id      00112233445566778899aabbccddeeff
holds   2 failure records, 1 marker, 1 intent
doubt   its newest changes may be missing: its mark was missing; whoever changes it next gives it a new identity

failed here; no instance of the module is moved onto it but those that served it already:
MODULE             BUILD  FAILED ON  WHEN                               MODE     MEANS                                                REASON
blog               b1     blog-1     2026-03-01 00:00:06 UTC (1 h ago)  hold     blocks every instance but blog-2; holds blog-1 down  it exited [2J with 3
shop (account ac)  b7     till-1     -                                  overlap  blocks every instance                                release

ran as the only owner of its data, and neither passed nor failed:
INSTANCE  MODULE  BUILD  EXECUTION  STARTED                            MEANS
blog-4    blog    b1     a3         2026-03-01 00:00:04 UTC (2 h ago)  nothing falls back on blog-4 by itself

was begun, and has no outcome yet:
INSTANCE  MODULE  BUILD  EXECUTION  MODE  STARTED                            MEANS
blog-5    blog    b2     w7         hold  2026-03-01 00:00:05 UTC (2 h ago)  has no outcome; the next who opens the book makes a failure of it, and holds the instance down

a retry grant has to name this generation, and the book:
MODULE             GENERATION
shop (account ac)  9
blog               8

freed by hand, the newest last:
INSTANCE  MODULE  WHEN                           BY             HELD BY  REASON
blog-2    blog    2026-03-01 02:00:06 UTC (now)  anna (user 0)  b1       the disk was full
1 of the newest lines cannot be read

to free one instance by hand: node-agent book free MODULE/INSTANCE --reason WHY";
        assert_eq!(text(&shown, now(), Paint::Plain), expected);
    }

    #[test]
    fn a_running_engine_has_its_intents_under_way() {
        let kept = Some(Kept::from_document(DOCUMENT.as_bytes()).unwrap());
        let found = Found { kept, doubts: Vec::new() };
        let folder = Folder::at(std::path::Path::new("/data"));
        let shown = Shown::new(&folder, &found, Held::By(Some(7)), Newest::default());
        let told = text(&shown, now(), Paint::Plain);
        assert!(told.contains("engine  runs as process 7: only it changes the book"), "{told}");
        assert!(told.contains("is being tried; when the engine ends"), "{told}");
    }

    #[test]
    fn no_book_and_an_empty_one_are_told_apart() {
        let folder = Folder::at(std::path::Path::new("/data"));
        let told = |kept| {
            let found = Found { kept, doubts: Vec::new() };
            let shown = Shown::new(&folder, &found, Held::ByNobody, Newest::default());
            text(&shown, now(), Paint::Plain)
        };
        let nothing = "holds   nothing: nothing that failed here restricts anything";
        let none = "book    /data/book\nid      none: there is no failure book here yet\n";
        assert_eq!(told(None), format!("{none}{nothing}"));
        let empty =
            r#"{"schema": 3, "durable_epochs": true, "book": "00112233445566778899aabbccddeeff"}"#;
        let empty = Kept::from_document(empty.as_bytes()).unwrap();
        let is_there = "book    /data/book\nid      00112233445566778899aabbccddeeff\n";
        assert_eq!(told(Some(empty)), format!("{is_there}{nothing}"));
    }

    #[test]
    fn a_document_is_told_as_what_an_import_makes_of_it() {
        let kept = Kept::from_document(DOCUMENT.as_bytes()).unwrap();
        let told = text(&Shown::of_document(&kept), now(), Paint::Plain);
        let id = "id      00112233445566778899aabbccddeeff; an import gives it another\n";
        assert!(told.starts_with(id), "{told}");
        assert!(!told.contains("grant") && !told.contains("book free"), "{told}");
    }
}
