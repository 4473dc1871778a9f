//! Retries: what frees a host from a record, or everyone of it.

use super::Book;
use crate::change::RowKey;
use crate::counter::Generation;
use crate::entries::{Served, Time, known};
use crate::identity::BookId;
use crate::names::{App, Build, Host};
use crate::rules::MarkerOfRetriedHost;
use crate::step::{Answer, Step};
use alloc::vec::Vec;

/// Whether a call cleared what it was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleared {
    /// It did.
    Yes,
    /// There was nothing that it could clear.
    No,
}

impl From<bool> for Cleared {
    fn from(is_cleared: bool) -> Self {
        if is_cleared { Self::Yes } else { Self::No }
    }
}

/// A signed permission to try again. Its signature was checked by whoever hands it to the book.
///
/// # Why a stale grant can clear nothing
///
/// A grant is signed by an operator who saw a restriction. It may arrive at any later time, more
/// than once, and after crashes. It must free what the operator saw, and nothing else. So it names
/// the book and the app's generation, and five things make that enough.
///
/// 1. *What was seen had landed.* A generation is published only while no save is owed. So the
///    number, and the restrictions that it stood for, were on the disk when it was seen.
/// 2. *Within a process, the same generation is the same state.* Every change of any restriction
///    of an app takes the next number for the app's generation, and numbers only grow. If the
///    generation now is that of the grant, nothing of the app changed in between.
/// 3. *Across a crash no number that was seen comes again.* A change writes the counter first, the
///    generations next, and what they stand for after that; and an open starts at the largest
///    number that it finds anywhere. What was seen had landed, so it is found, and every later
///    change takes a larger one. A number that was given and did not land may be given again: by 1
///    nobody saw it.
/// 4. *Another book has another identity.* A new book draws sixteen random bytes. So does one that
///    is made of an older document, of which 1 may not have been true. A grant for a book that is
///    gone names nobody.
/// 5. *Numbers never wrap.* A book that runs out of them is exhausted: until it is opened anew, as
///    it landed last, it lands nothing, publishes nothing and takes no grant.
///
/// And no grant is looked at while a save is owed. What it freed would be in memory only: the
/// operator would see it used up, and after a crash find the restriction standing.
///
/// The book cannot see two things, and its owner must: that it is the only writer of its journal,
/// and that the journal is not a copy ([`Book::rotate_identity`]).
///
/// `tests/laws/grants.rs` holds the book to this, over journals that fail, tear and lose answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The build that is to be tried again.
    pub build: Build,
    /// The host that it is to be tried on.
    pub host: Host,
    /// The book that published the restriction.
    pub book: BookId,
    /// The generation that it published.
    pub generation: Generation,
}

/// What came of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// What it freed.
    pub freed: Freed,
    /// The restriction's generation when the grant was looked at, whatever came of it; `None` when
    /// the build does not restrict the host.
    pub generation: Option<Generation>,
}

/// What a grant freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freed {
    /// Nothing.
    Nothing(NotFreed),
    /// The host from the build's record.
    Record,
    /// The host from its marker.
    Marker,
    /// The host from both.
    RecordAndMarker,
}

/// Why a grant freed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotFreed {
    /// What the book holds is not all on the disk. Save, and ask again.
    #[error("the failure book owes a save")]
    SaveOwed,
    /// It names another book.
    #[error("the grant is for another failure book")]
    OtherBook,
    /// The build does not restrict the host.
    #[error("the build does not restrict this host")]
    NotRestricted,
    /// Some restriction of the app changed since it was signed.
    #[error("the grant is for generation {signed}, and the app is at {now} now")]
    OtherGeneration {
        /// The grant's.
        signed: Generation,
        /// The app's.
        now: Generation,
    },
}

impl Book {
    /// Frees a host from a build's record, by an operator's word on the machine itself: it is
    /// listed as retried, and its hold-down is dropped.
    ///
    /// A host that is listed already changes nothing: the canary that the first retry let through
    /// may be running, and its failure must spend that retry.
    pub fn retry_host(&mut self, build: &Build, host: &Host) -> Step<Cleared> {
        let is_freed = self.free_of_record(build, host);
        if is_freed {
            let event = self.event();
            self.clears.note_host(build, host, event);
            self.move_generation(&build.app());
        }
        self.settle(Cleared::from(is_freed))
    }

    /// Frees a host from every record of an app and from its marker of that app, by an operator's
    /// word on the machine itself, in one change.
    ///
    /// As with [`Book::retry_host`], a record that a retry freed the host from already is left as
    /// it is.
    pub fn free_host(&mut self, app: &App, host: &Host) -> Step<Cleared> {
        let holding = self.for_app(app).filter(|record| record.blocks(host, Served::NotYet));
        let builds: Vec<Build> = holding.map(|record| record.build.clone()).collect();
        let mut is_freed = false;
        for build in &builds {
            if self.free_of_record(build, host) {
                let event = self.event();
                self.clears.note_host(build, host, event);
                is_freed = true;
            }
        }
        let is_marked = self.hold_ran_on(host).is_some_and(|marker| marker.build.is_of(app));
        if is_marked {
            self.remove_marker(host);
        }
        if is_freed || is_marked {
            self.move_generation(app);
        }
        self.settle(Cleared::from(is_freed || is_marked))
    }

    /// Frees what a signed grant names, if it is still what the grant was signed for.
    ///
    /// [`Grant`] says why a stale one can clear nothing. While a save is owed nothing is looked at:
    /// [`Book::save_if_dirty`] first, then this.
    pub fn retry_host_at(&mut self, grant: &Grant) -> Step<Granted> {
        let generation = self.restriction_generation(&grant.build, &grant.host);
        let freed = match self.why_not(grant, generation) {
            Some(why) => {
                let value = Granted { freed: Freed::Nothing(why), generation };
                return Step::Done(Answer { value, error: None });
            }
            None => self.free_by_grant(&grant.build, &grant.host),
        };
        self.settle(Granted { freed, generation })
    }

    /// Why a grant frees nothing, when the restriction that it names is at this generation.
    fn why_not(&self, grant: &Grant, generation: Option<Generation>) -> Option<NotFreed> {
        if self.save_owed() {
            return Some(NotFreed::SaveOwed);
        }
        if self.id != grant.book {
            return Some(NotFreed::OtherBook);
        }
        let signed = grant.generation;
        match generation {
            None => Some(NotFreed::NotRestricted),
            Some(now) => (now != signed).then_some(NotFreed::OtherGeneration { signed, now }),
        }
    }

    /// Removes a build's record, when a signed pointer that names the build is newer than the
    /// record's.
    pub fn clear_on_pointer(&mut self, build: &Build, promoted_at: Option<Time>) -> Step<Cleared> {
        let is_newer =
            self.lookup(build).is_some_and(|record| known(promoted_at) > record.promoted_at);
        if is_newer && let Some(ordinal) = self.records.remove_first(build) {
            self.apps.remove_record(build, ordinal);
            self.owed.touch(RowKey::Record(ordinal));
            let event = self.event();
            self.clears.note_everyone(build, event);
            self.move_generation(&build.app());
        }
        self.settle(Cleared::from(is_newer))
    }

    /// Frees the host from the record and from the marker that restrict it. Takes one number for
    /// the retry and one for the generation, whichever of the two it was.
    fn free_by_grant(&mut self, build: &Build, host: &Host) -> Freed {
        let was_retried = self.retried(build, host);
        let of_record = self.free_of_record(build, host);
        let of_marker = self.marker_names(host, build) && self.remove_marker(host).is_some();
        let freed = match (of_record, of_marker) {
            (true, true) => Freed::RecordAndMarker,
            (true, false) => Freed::Record,
            (false, true) => Freed::Marker,
            (false, false) => return Freed::Nothing(NotFreed::NotRestricted),
        };
        let event = self.event();
        let is_retry = match self.rules.marker_of_retried_host {
            MarkerOfRetriedHost::IsARetry => true,
            MarkerOfRetriedHost::IsNoRetry => !was_retried,
        };
        if is_retry {
            self.clears.note_host(build, host, event);
        }
        self.move_generation(&build.app());
        freed
    }

    /// Lists a host as retried and drops its hold-down; answers whether the record held it.
    fn free_of_record(&mut self, build: &Build, host: &Host) -> bool {
        let Some((ordinal, record)) = self.records.first_mut(build) else { return false };
        if !record.retried.insert(host) {
            return false;
        }
        record.held_down.remove(host);
        self.owed.touch(RowKey::Record(ordinal));
        true
    }
}
