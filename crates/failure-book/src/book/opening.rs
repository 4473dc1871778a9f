//! Opening: older entries are numbered, and executions without an outcome become failures.

use super::Book;
use crate::change::RowKey;
use crate::counter::Counter;
use crate::entries::{Failure, Intent, Marker, MarkerWish, Time};
use crate::hosts::Hosts;
use crate::identity::BookId;
use crate::index::{Apps, Clears, Records};
use crate::kept::Kept;
use crate::names::{App, Host};
use crate::owed::Owed;
use crate::rules::Rules;
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};

/// The cause of a failure that an open made of an intent.
const CAUSE: &str = "release";

/// What is told of such a failure.
pub const RECONCILED_REASON: &str =
    "the agent ended while this build was being tried, so its outcome is not known";

impl Book {
    /// Opens a book with what is kept of it; `None` is a book that was never saved.
    ///
    /// It lands nothing: what is owed then is told by [`Book::save_owed`], and is to be landed
    /// before anything is done. Each standing intent becomes a failure of its build, stamped with
    /// `now`, so that only a pointer that is signed after this clears it.
    ///
    /// `fresh` draws an identity from the operating system's secure source. It is asked only by a
    /// book that has none: a new one, or one made of an older document.
    ///
    /// # Errors
    ///
    /// That of `fresh`.
    pub fn open<E>(
        kept: Option<Kept>,
        now: Time,
        fresh: impl FnOnce() -> Result<BookId, E>,
        rules: Rules,
    ) -> Result<Self, E> {
        let kept = kept.unwrap_or_default();
        let id = match kept.id {
            Some(id) => id,
            None => fresh()?,
        };
        let is_owed = kept.needs_identity() || kept.is_outdated;
        let mut book = Self::assemble(kept, id, now, rules);
        if is_owed {
            book.owed.touch(RowKey::Book);
        }
        Ok(book)
    }

    /// Puts a book together, with nothing owed but what had to be changed.
    pub(super) fn assemble(kept: Kept, id: BookId, now: Time, rules: Rules) -> Self {
        let counter = Counter::from_last(largest_number(&kept));
        let mut records = Records::default();
        let mut apps = Apps::default();
        for (ordinal, record) in kept.records {
            apps.add_record(&record.build, ordinal);
            records.put_last(ordinal, record);
        }
        kept.markers.values().for_each(|marker| apps.add_marker(&marker.build));
        kept.generations.iter().for_each(|(app, kept)| apps.set_generation(app, *kept));
        let mut book = Self {
            rules,
            id,
            counter,
            records,
            markers: kept.markers,
            intents: BTreeMap::new(),
            apps,
            clears: Clears::default(),
            reconciled: kept.intents.len(),
            owed: Owed::nothing_since(kept.seq),
        };
        book.number_older_entries();
        for (host, intent) in kept.intents {
            book.owed.touch(RowKey::Intent(host.clone()));
            let _ = book.take(&outcome_not_known(host, intent, now), now);
        }
        book
    }

    /// Numbers markers that have no number, by host, and gives a new generation to each app that
    /// has such a marker, or has restrictions and no generation, by key.
    fn number_older_entries(&mut self) {
        let is_unnumbered = |(_, marker): &(&Host, &Marker)| marker.seq.is_none();
        let unnumbered: BTreeMap<Host, App> = (self.markers.iter().filter(is_unnumbered))
            .map(|(host, marker)| (host.clone(), marker.build.app()))
            .collect();
        for host in unnumbered.keys() {
            let event = self.event();
            if let Some(marker) = self.markers.get_mut(host) {
                marker.seq = Some(event);
            }
            self.owed.touch(RowKey::Marker(host.clone()));
        }
        let mut apps: BTreeSet<App> = self.apps.without_generation();
        apps.extend(unnumbered.into_values());
        for app in apps {
            self.move_generation(&app);
        }
    }
}

/// The failure that stands in for an outcome that nobody knows.
fn outcome_not_known(host: Host, intent: Intent, now: Time) -> Failure {
    let Intent { build, mode, id, start } = intent;
    let (held_down, marker) = if mode.is_hold() {
        (Hosts::from_iter([host.clone()]), MarkerWish::Set)
    } else {
        (Hosts::default(), MarkerWish::Leave)
    };
    Failure {
        build,
        host,
        cause: CAUSE.to_owned(),
        mode,
        reason: RECONCILED_REASON.to_owned(),
        promoted_at: Some(now),
        at: Some(now),
        held_down,
        marker,
        exec: Some(id),
        start,
        snapshot: None,
    }
}

/// The largest number that is found anywhere.
fn largest_number(kept: &Kept) -> u64 {
    let markers = kept.markers.values().filter_map(|marker| marker.seq).map(u64::from);
    let generations = kept.generations.values().copied();
    markers.chain(generations).fold(kept.seq, u64::max)
}
