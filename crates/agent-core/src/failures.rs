//! The failure book in the agent: what it says of an instance, and the names that it knows things by.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use failure_book::{App, Book, Build, Host, Record};
use inventory::{DeclaredModule, Swap};
use names::{BuildId, InstanceName, ModuleName};
use wire::signed::Floors;
use wire::{Trouble, TroubleKind};

use crate::excerpt::excerpt;
use crate::placement::{Place, Placement};
use crate::served::{self, Served};

/// What there is of this machine's failure book.
#[derive(Debug)]
pub enum FoundBook {
    /// It was opened. What the open owes has not landed yet.
    Open(Box<Book>),
    /// It cannot be read. What it would forbid is not known, so nothing that it might forbid is begun.
    Unreadable {
        /// Why, in words, with what to do.
        why: String,
    },
}

/// Why an instance may not be moved onto a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The build failed on this machine.
    Record {
        build: String,
        host: String,
        why: String,
        /// Whether it is what came of this very wish on this very instance.
        is_this: bool,
    },
    /// A newer build ran here as a hold and failed: its data may be migrated.
    HeldDown { by: String },
    /// A newer build ran here as a hold and was not brought to an end: its data may be migrated.
    Marker { by: String },
    /// The book cannot be read, so it is not known whether a newer build has been at the data.
    Unreadable { why: String },
}

impl Rule {
    /// The rule in words.
    pub(crate) fn words(&self, instance: &InstanceName) -> String {
        match self {
            Self::Record { build, host, why, .. } => {
                format!("build {build} failed on this machine, first on {host}: {why}")
            }
            Self::HeldDown { by } => format!(
                "{instance} is held down: build {by} ran here as a hold and failed, so its data may be migrated; nothing older \
                 is started by itself"
            ),
            Self::Marker { by } => format!(
                "{instance} is held: build {by} ran here as a hold and was not brought to an end, so its data may be migrated; \
                 nothing older is started by itself"
            ),
            Self::Unreadable { why } => format!(
                "the failure book cannot be read, so it is not known whether a newer build has been at the data of {instance}: {why}"
            ),
        }
    }
}

/// What the book knows a build by; none when a name has no place in it, and then nothing is known against the build.
pub(crate) fn build(declared: &DeclaredModule, module: &ModuleName) -> Option<Build> {
    build_of(declared, module, &declared.build)
}

/// The same for another build of the same module.
pub(crate) fn build_of(
    declared: &DeclaredModule,
    module: &ModuleName,
    build: &BuildId,
) -> Option<Build> {
    Build::new(declared.account.as_str(), module.as_str(), build.as_str()).ok()
}

/// What the book knows an instance by.
pub(crate) fn host(instance: &InstanceName) -> Option<Host> {
    Host::new(instance.as_str()).ok()
}

impl FoundBook {
    pub(crate) fn open(&self) -> Option<&Book> {
        match self {
            Self::Open(book) => Some(book),
            Self::Unreadable { .. } => None,
        }
    }

    /// What is stated of a book that cannot be read: it is a file of the machine's that is damaged.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        match self {
            Self::Open(_) => None,
            Self::Unreadable { why } => {
                let why = format!("the failure book cannot be read, and no build is tried: {why}");
                Some(Trouble { kind: TroubleKind::FileDamaged, why: excerpt(&why) })
            }
        }
    }

    /// Whether a retry freed the instance from the record of this build.
    pub(crate) fn is_retried(&self, place: &Place, to: &Placement) -> bool {
        let (Some(book), Some(build), Some(host)) =
            (self.open(), build(&to.module, &place.0), host(&place.1))
        else {
            return false;
        };
        book.retried(&build, &host)
    }

    /// Why an instance may not try a build that it has not served.
    pub(crate) fn against_trying(&self, place: &Place, to: &Placement) -> Option<Rule> {
        let (build, host) = (build(&to.module, &place.0)?, host(&place.1)?);
        let book = self.open()?;
        let record =
            book.lookup(&build).filter(|one| one.blocks(&host, failure_book::Served::NotYet))?;
        Some(Rule::Record {
            build: to.module.build.to_string(),
            host: record.host.as_str().to_owned(),
            why: record.reason.clone(),
            is_this: record.host == host && record.promoted_at >= to.composed_at,
        })
    }

    /// Why nothing may bring an instance back onto a build that it has served.
    pub(crate) fn against_return(
        &self,
        place: &Place,
        to: &Placement,
        served: &Served,
        floors: &Floors,
    ) -> Option<Rule> {
        let book = match self {
            Self::Open(book) => book,
            Self::Unreadable { why } => {
                return match to.module.manifest.swap {
                    Swap::Hold => Some(Rule::Unreadable { why: why.clone() }),
                    Swap::Overlap => None,
                };
            }
        };
        let (build, host) = (build(&to.module, &place.0)?, host(&place.1)?);
        let app: App = build.app();
        let holds = |by: &Build| *by != build && !is_over(served, place, by);
        let pointed = floors.stamp_of(&to.module.account, &place.0, &to.module.build);
        let down =
            book.for_app(&app).filter(|one| one.holds_down(&host) && !is_lifted(one, pointed));
        if let Some(by) = down.map(|record| record.build.clone()).find(holds) {
            return Some(Rule::HeldDown { by: by.name().to_owned() });
        }
        let by = marked(book, &app, &host).filter(holds)?;
        Some(Rule::Marker { by: by.name().to_owned() })
    }

    /// Whether a build of this module, whichever, has left a marker on an instance.
    pub(crate) fn is_marked(&self, place: &Place, to: &Placement) -> bool {
        let (Some(book), Some(build), Some(host)) =
            (self.open(), build(&to.module, &place.0), host(&place.1))
        else {
            return false;
        };
        marked(book, &build.app(), &host).is_some()
    }

    /// The builds other than this one that hold an instance, by their records or by its marker.
    pub(crate) fn holding(&self, place: &Place, but: &Placement) -> BTreeSet<BuildId> {
        let (Some(book), Some(build), Some(host)) =
            (self.open(), build(&but.module, &place.0), host(&place.1))
        else {
            return BTreeSet::new();
        };
        let app = build.app();
        let all = holding(book, &app, &host).chain(marked(book, &app, &host));
        all.filter(|by| *by != build).filter_map(|by| by.name().parse().ok()).collect()
    }
}

/// Whether an operator's word of then, which names another build, lets an instance go back although this record holds it
/// down: it was said when the failure was known.
pub(crate) fn is_lifted(record: &Record, pointed: Option<DateTime<Utc>>) -> bool {
    pointed.is_some() && pointed > record.promoted_at.max(record.at)
}

/// The builds of an app whose records hold a host down.
fn holding(book: &Book, app: &App, host: &Host) -> impl Iterator<Item = Build> {
    let records = book.for_app(app).filter(|record| record.holds_down(host));
    records.map(|record| record.build.clone())
}

/// The build of an app that a host's marker names.
fn marked(book: &Book, app: &App, host: &Host) -> Option<Build> {
    let marker = book.hold_ran_on(host).filter(|marker| marker.build.is_of(app))?;
    Some(marker.build.clone())
}

/// Whether what a build did to the data of an instance is over: it has passed there after all, or another one after it.
fn is_over(served: &Served, place: &Place, by: &Build) -> bool {
    by.name().parse().is_ok_and(|by| {
        served::has_served(served, place, &by) || served::has_outlived(served, place, &by)
    })
}
