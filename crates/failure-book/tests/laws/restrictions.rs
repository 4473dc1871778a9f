//! What a book restricts, as sets and as texts that can be compared.

use crate::operations::{APPS, BUILDS, HOSTS};
use failure_book::{App, Book, Build, Host, Served};
use std::collections::{BTreeMap, BTreeSet};

/// Every build with every host.
pub(crate) fn everywhere() -> impl Iterator<Item = (Build, Host)> {
    builds().flat_map(|build| {
        HOSTS.into_iter().map(move |host| (build.clone(), Host::new(host).unwrap()))
    })
}

/// Every build.
pub(crate) fn builds() -> impl Iterator<Item = Build> {
    APPS.into_iter().flat_map(|(account, app)| {
        BUILDS.into_iter().map(move |build| Build::new(account, app, build).unwrap())
    })
}

/// One thing that must not happen on a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Restriction {
    /// It must not be moved onto the build.
    Blocked(Build, Host),
    /// It is held down.
    HeldDown(Build, Host),
    /// Nothing falls back there, since this ran.
    HoldRan(Build, Host),
}

/// All that a book restricts.
pub(crate) fn of(book: &Book) -> BTreeSet<Restriction> {
    let mut all = BTreeSet::new();
    for (build, host) in everywhere() {
        if book.hold_ran_on(&host).is_some_and(|marker| marker.build == build) {
            all.insert(Restriction::HoldRan(build.clone(), host.clone()));
        }
        if book.held_down(&build, &host) {
            all.insert(Restriction::HeldDown(build.clone(), host.clone()));
        }
        if book.blocks(&build, &host, Served::NotYet) {
            all.insert(Restriction::Blocked(build, host));
        }
    }
    all
}

/// Everything of each app that restricts, as text: equal texts are equal states.
pub(crate) fn by_app(book: &Book) -> BTreeMap<App, String> {
    let mut texts = BTreeMap::new();
    for app in builds().map(|build| build.app()) {
        let records: Vec<_> = book.for_app(&app).collect();
        let hosts = HOSTS.into_iter().map(|host| Host::new(host).unwrap());
        let markers: Vec<_> = hosts
            .filter_map(|host| Some((book.hold_ran_on(&host)?, host)))
            .filter(|(marker, _)| marker.build.is_of(&app))
            .collect();
        texts.insert(app, format!("{records:?} {markers:?}"));
    }
    texts
}

/// The generation of each app that has one in memory.
pub(crate) fn generations(book: &Book) -> BTreeMap<App, u64> {
    let document = book.kept().to_document().unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let generations = document["gens"].as_object().into_iter().flatten();
    generations
        .map(|(app, number)| (App::from_joined(app).unwrap(), number.as_u64().unwrap()))
        .collect()
}
