//! What the failure book holds back on this machine, as it is told to others.

use std::collections::BTreeMap;

use failure_book::{Book, Build, Served};
use names::{InstanceName, ModuleName};
use wire::signed::Generation;
use wire::{BookState, HeldBy, HeldInstance, HeldMode, OnDisk};

use crate::failures::{self, FoundBook};
use crate::instance::Instance;
use crate::placement::Place;

/// How the book stands, with what it holds back of one module, or of all.
pub(crate) fn state(
    found: &FoundBook,
    instances: &BTreeMap<Place, Instance>,
    module: Option<&ModuleName>,
) -> BookState {
    let book = match found {
        FoundBook::Unreadable { why } => return BookState::Unusable { why: why.clone() },
        FoundBook::Open(book) => book,
    };
    let Ok(id) = book.id().to_string().parse() else {
        return BookState::Unusable { why: "its identity cannot be told".to_owned() };
    };
    if book.snapshot().is_none() {
        let why = "it has no numbers left; give it a new start with `node-agent book export` and `import`";
        return BookState::Unusable { why: why.to_owned() };
    }
    let disk = if book.save_owed() { OnDisk::Owed } else { OnDisk::All };
    BookState::Open { book: id, disk, held: held(book, instances, module) }
}

/// Everything that holds an instance of this machine back: of one module, or of all.
pub(crate) fn held(
    book: &Book,
    instances: &BTreeMap<Place, Instance>,
    module: Option<&ModuleName>,
) -> Vec<HeldInstance> {
    let mut held = Vec::new();
    let places = instances.keys().filter(|place| module.is_none_or(|module| place.0 == *module));
    for place in places {
        for record in book.list().filter(|one| one.build.app_name() == place.0.as_str()) {
            let Some(host) = failures::host(&place.1) else { continue };
            if !record.blocks(&host, Served::NotYet) {
                continue;
            }
            let rule = if record.holds_down(&host) { HeldBy::HeldDown } else { HeldBy::Record };
            held.extend(row(book, &place.1, &record.build).map(|row| HeldInstance {
                rule,
                since: record.at,
                mode: Some(mode(record.mode.as_str())),
                reason: Some(record.reason.clone()),
                ..row
            }));
        }
        let host = failures::host(&place.1);
        let marker = host.as_ref().and_then(|host| book.hold_ran_on(host));
        if let Some(marker) = marker.filter(|one| one.build.app_name() == place.0.as_str()) {
            held.extend(row(book, &place.1, &marker.build).map(|row| HeldInstance {
                since: marker.at,
                mode: Some(HeldMode::Hold),
                ..row
            }));
        }
    }
    held
}

/// A marker's row; names that nobody else could read are left out.
fn row(book: &Book, instance: &InstanceName, build: &Build) -> Option<HeldInstance> {
    let host = failures::host(instance)?;
    let generation = book.published_generation(build, &host);
    Some(HeldInstance {
        instance: instance.clone(),
        account: build.account().parse().ok()?,
        module: build.app_name().parse().ok()?,
        build: build.name().parse().ok()?,
        rule: HeldBy::Marker,
        since: None,
        mode: None,
        reason: None,
        generation: generation.and_then(|one| one.get().try_into().ok()).map(Generation),
        book: book.id().to_string().parse().ok()?,
    })
}

fn mode(mode: &str) -> HeldMode {
    match mode {
        "overlap" => HeldMode::Overlap,
        "hold" => HeldMode::Hold,
        _ => HeldMode::Other,
    }
}
