//! `node-agent book free`: frees one instance of what holds it, by the word of whoever owns the machine.
//!
//! It needs no operator's key, so it frees exactly what holds this instance, is written down before it is done, and says
//! what it was.

use std::{collections::BTreeSet, env, io::ErrorKind};

use failure_book::{App, Book, Build, Host, Kept, Rules, Served};
use serde::Serialize;
use terminal::{
    failure::{Failure, FailureKind},
    output::Output,
    paint::harmless,
    words::list,
};

use super::{
    freed::{self, Freed, Held},
    keeping::{self, Opened},
    reconciled_text,
    shown::of_account,
};
use crate::{clock, command_line::Free, folder::Folder};

/// What an instance was freed from.
#[derive(Debug, Serialize)]
struct Answer {
    account: String,
    module: String,
    instance: String,
    /// Empty: nothing held it.
    freed: Held,
    reconciled: usize,
    /// Whether the book has another identity now, since its newest changes may be missing.
    doubts: Vec<String>,
}

/// Frees an instance of whatever holds it.
pub(super) async fn free(folder: &Folder, free: &Free, output: &Output) -> Result<(), Failure> {
    let _lock = super::lock(folder).await?;
    // Looked at first: where nothing is to be freed, nothing is touched.
    let found = keeping::look(folder)?;
    let book = Book::open(found.kept, clock::now(), super::drawn, Rules::default())
        .map_err(|error| Failure::because("no identity can be drawn for the book", &error))?;
    let meant = Meant { free, ran_of: ran_of(folder, free.instance.host.as_str())? };
    let Some(app) = meant.app(&book.kept())? else {
        let answer = Answer::of(None, free, Held::default());
        return output.answer(&answer, |_, _| {
            format!("nothing in the failure book holds {}", harmless(&free.instance.to_string()))
        });
    };
    if !meant.is_known(&book.kept()) {
        output.status(&format!(
            "note: no instance {} has run here, and the book does not name it; is the name right?",
            harmless(&free.instance.to_string())
        ));
    }
    let held = held(&book, &app, &free.instance.host);
    let mut answer = Answer::of(Some(&app), free, held);
    write_down(folder, &answer, &book, free, output)?;

    let mut opened = Opened::open(folder)?;
    answer.doubts = opened.change(|book| drop(book.free_host(&app, &free.instance.host)))?;
    answer.reconciled = opened.book().reconciled();
    output.answer(&answer, |answer, _| text(answer, folder))?;
    super::done(output);
    Ok(())
}

/// The builds of an app whose records block a host, in book order and each once.
fn blocking(book: &Book, app: &App, host: &Host) -> Vec<Build> {
    let mut seen = BTreeSet::new();
    let records = book.for_app(app).filter(|record| seen.insert(&record.build));
    let builds = records.map(|record| &record.build);
    builds.filter(|build| book.blocks(build, host, Served::NotYet)).cloned().collect()
}

fn marker_of<'a>(book: &'a Book, app: &App, host: &Host) -> Option<&'a Build> {
    book.hold_ran_on(host).map(|marker| &marker.build).filter(|build| build.is_of(app))
}

fn held(book: &Book, app: &App, host: &Host) -> Held {
    let blocking = blocking(book, app, host);
    let is_down = |build: &&Build| book.held_down(build, host);
    Held {
        held_down: blocking.iter().filter(is_down).map(|build| build.name().to_owned()).collect(),
        blocked: blocking.iter().map(|build| build.name().to_owned()).collect(),
        marker: marker_of(book, app, host).map(|build| build.name().to_owned()),
    }
}

/// Which instance is meant.
struct Meant<'a> {
    free: &'a Free,
    /// The modules of which an instance of this name has run here.
    ran_of: BTreeSet<String>,
}

impl Meant<'_> {
    /// The app of the instance, if the book holds anything against it.
    fn app(&self, kept: &Kept) -> Result<Option<App>, Failure> {
        let apps: BTreeSet<App> = (kept.records().map(|record| record.build.app()))
            .chain(kept.markers().map(|(_, marker)| marker.build.app()))
            .collect();
        let meant: Vec<&App> = apps.iter().filter(|app| self.can_be(app, kept)).collect();
        let holding: Vec<&App> =
            meant.iter().copied().filter(|app| self.holds(app, kept)).collect();
        match (&holding[..], &meant[..]) {
            ([app], _) => Ok(Some((*app).clone())),
            ([], [_, ..]) => Ok(None),
            ([], []) if self.has_run() => Ok(None),
            ([], []) => Err(self.unknown(&apps)),
            (several, _) => {
                let instance = harmless(self.free.instance.host.as_str());
                let could = list(several.iter().map(|app| {
                    let (account, module) = parts(app);
                    harmless(&format!("{module}/{instance} of the account {account}"))
                }));
                let what = format!("`{instance}` can be any of {could}");
                Err(Failure::new(FailureKind::Usage, what)
                    .hint("name one of them: MODULE/INSTANCE, with --account ACCOUNT"))
            }
        }
    }

    /// Whether the instance can be of this app.
    fn can_be(&self, app: &App, kept: &Kept) -> bool {
        let Free { instance, account, .. } = self.free;
        let (of, module) = parts(app);
        if account.as_deref().is_some_and(|account| account != of) {
            return false;
        }
        match &instance.module {
            Some(meant) => meant == module,
            None => self.ran_of.contains(module) || names(kept, app, &instance.host),
        }
    }

    fn holds(&self, app: &App, kept: &Kept) -> bool {
        let host = &self.free.instance.host;
        let blocks =
            kept.records().any(|one| one.build.is_of(app) && one.blocks(host, Served::NotYet));
        blocks || kept.markers().any(|(on, marker)| on == host && marker.build.is_of(app))
    }

    /// Whether an instance of this name has run here.
    fn has_run(&self) -> bool {
        match &self.free.instance.module {
            Some(module) => self.ran_of.contains(module),
            None => !self.ran_of.is_empty(),
        }
    }

    /// Whether it has run here, or the book names it, for any app.
    fn is_known(&self, kept: &Kept) -> bool {
        let named = kept.records().map(|record| record.build.app());
        let mut named = named.chain(kept.markers().map(|(_, marker)| marker.build.app()));
        self.has_run() || named.any(|app| names(kept, &app, &self.free.instance.host))
    }

    fn unknown(&self, apps: &BTreeSet<App>) -> Failure {
        let what = format!(
            "the failure book says nothing of an instance `{}`, and none of that name has run here",
            harmless(&self.free.instance.to_string())
        );
        let failure = Failure::failed(what);
        if apps.is_empty() {
            return failure.hint("the book is empty: it holds nothing");
        }
        let modules = apps.iter().map(parts).map(|(account, module)| of_account(account, module));
        failure.hint(format!(
            "it holds something against instances of {}: name one as MODULE/INSTANCE",
            harmless(&list(modules))
        ))
    }
}

/// Whether the book names a host together with an app.
fn names(kept: &Kept, app: &App, host: &Host) -> bool {
    let in_record = kept.records().filter(|record| record.build.is_of(app)).any(|record| {
        record.host == *host || record.held_down.contains(host) || record.retried.contains(host)
    });
    in_record || kept.markers().any(|(on, marker)| on == host && marker.build.is_of(app))
}

/// The account and the module of an app.
pub(super) fn parts(app: &App) -> (&str, &str) {
    app.as_str().split_once('/').unwrap_or(("", app.as_str()))
}

/// The modules of which an instance of this name has written anything here.
fn ran_of(folder: &Folder, instance: &str) -> Result<BTreeSet<String>, Failure> {
    let output = folder.output();
    let failure = |error: std::io::Error| {
        Failure::because(format!("the output in {} cannot be read", output.display()), &error)
    };
    let modules = match std::fs::read_dir(&output) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeSet::new());
        }
        modules => modules.map_err(failure)?,
    };
    let mut found = BTreeSet::new();
    for module in modules {
        let module = module.map_err(failure)?;
        if module.path().join(instance).is_dir() {
            found.extend(module.file_name().into_string());
        }
    }
    Ok(found)
}

/// Writes it down, durably, before anything changes. Only a disk that takes nothing, or a folder that is not this user's,
/// keeps it from being done.
fn write_down(
    folder: &Folder,
    answer: &Answer,
    book: &Book,
    free: &Free,
    output: &Output,
) -> Result<(), Failure> {
    let line = Freed {
        at: clock::now(),
        uid: rustix::process::getuid().as_raw(),
        sudo_user: env::var_os("SUDO_USER").map(|user| user.to_string_lossy().into_owned()),
        account: answer.account.clone(),
        module: answer.module.clone(),
        instance: answer.instance.clone(),
        reason: free.reason.0.clone(),
        book: book.id(),
        held: answer.freed.clone(),
    };
    let path = folder.freed();
    let path = path.display();
    match freed::add(folder, &line) {
        Ok(None) => {}
        Ok(Some(aside)) => output.status(&format!(
            "warning: {path} could not be added to, and is set aside as {}",
            aside.display()
        )),
        Err(freed::NotAdded::Refused(error)) => {
            let what = format!("{path} cannot be written, so nothing is freed");
            return Err(super::owner::hint(Failure::because(what, &error), folder));
        }
        Err(freed::NotAdded::Damaged(error)) => output.status(&format!(
            "warning: {path} cannot be added to, nor set aside ({error}): this is not written down there"
        )),
    }
    super::owner::hand_over(folder, &folder.freed())
        .map_err(|error| Failure::because(format!("{path} cannot be given to its owner"), &error))
}

impl Answer {
    fn of(app: Option<&App>, free: &Free, freed: Held) -> Self {
        let (account, module) = app.map(parts).unwrap_or_default();
        let Free { instance, account: meant, .. } = free;
        let or = |found: &str, meant: &Option<String>| match found {
            "" => meant.clone().unwrap_or_default(),
            found => found.to_owned(),
        };
        Self {
            account: or(account, meant),
            module: or(module, &instance.module),
            instance: instance.host.as_str().to_owned(),
            freed,
            reconciled: 0,
            doubts: Vec::new(),
        }
    }
}

fn text(answer: &Answer, folder: &Folder) -> String {
    let Answer { account, module, instance, freed, reconciled, doubts } = answer;
    let mut lines = vec![format!("freed {module}/{instance} of the account {account}:")];
    for build in &freed.blocked {
        let down = if freed.held_down.contains(build) {
            ", and is not held down by it any more"
        } else {
            ""
        };
        lines.push(format!("  it may be moved onto build {build} again{down}"));
    }
    if let Some(build) = &freed.marker {
        lines.push(format!("  its marker is gone: it may fall back from build {build} again"));
    }
    lines.extend(super::doubted(doubts));
    lines.push(format!("written down in {}", folder.freed().display()));
    let text: Vec<String> = lines.iter().map(|line| harmless(line)).collect();
    text.join("\n") + &reconciled_text(*reconciled)
}
