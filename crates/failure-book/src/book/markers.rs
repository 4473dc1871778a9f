//! Hold-ran markers: set, renewed, replaced, cleared.

use super::Book;
use super::retries::Cleared;
use crate::change::RowKey;
use crate::counter::Snapshot;
use crate::entries::{HoldRan, Marker, Time, known};
use crate::names::{App, Host};
use crate::step::Step;

impl Book {
    /// Sets a host's marker: a `hold` build executed there, and neither passed nor was held down.
    ///
    /// The standing marker's own execution, said again, changes nothing. Any other renews or
    /// replaces it, and the later of the two starts is kept. A start that is not known is taken to
    /// be `now`, which is later than any real one: the safe direction.
    pub fn mark_hold_ran(&mut self, host: &Host, ran: HoldRan, now: Time) -> Step<()> {
        self.set_marker(host, ran, now);
        self.settle(())
    }

    /// Clears a host's marker.
    pub fn clear_hold_ran(&mut self, host: &Host) -> Step<Cleared> {
        self.clear_marker_if(host, |_| true)
    }

    /// Clears a host's marker that was set before a snapshot; with `None`, none.
    ///
    /// For an execution that passed: what it took its snapshot before, it did not disprove. Never
    /// for the first write of an instance.
    pub fn clear_hold_ran_before(
        &mut self,
        host: &Host,
        snapshot: Option<Snapshot>,
    ) -> Step<Cleared> {
        self.clear_marker_if(host, |marker| {
            let both = marker.seq.zip(snapshot);
            both.is_some_and(|(event, snapshot)| !snapshot.is_before(event))
        })
    }

    /// Clears a host's marker of this app, when a signed pointer is newer than the marked
    /// execution's start.
    ///
    /// Only for an instance whose route installs its good build, and only when the verified
    /// pointer names that build.
    pub fn clear_hold_ran_on_pointer(
        &mut self,
        host: &Host,
        app: &App,
        promoted_at: Option<Time>,
    ) -> Step<Cleared> {
        self.clear_marker_if(host, |marker| {
            marker.build.is_of(app) && known(promoted_at) > marker.at
        })
    }

    fn clear_marker_if(
        &mut self,
        host: &Host,
        is_meant: impl FnOnce(&Marker) -> bool,
    ) -> Step<Cleared> {
        let is_cleared = self.markers.get(host).is_some_and(is_meant);
        if is_cleared && let Some(app) = self.remove_marker(host) {
            self.move_generation(&app);
        }
        self.settle(Cleared::from(is_cleared))
    }

    /// Removes a host's marker; answers the app whose generation is to be moved for it.
    pub(super) fn remove_marker(&mut self, host: &Host) -> Option<App> {
        let marker = self.markers.remove(host)?;
        self.apps.remove_marker(&marker.build);
        self.owed.touch(RowKey::Marker(host.clone()));
        Some(marker.build.app())
    }

    /// Sets a host's marker, unless the standing one is of this very execution. Takes the marker's
    /// number first, then the generation of another app whose marker it replaced, then its own
    /// app's.
    pub(super) fn set_marker(&mut self, host: &Host, ran: HoldRan, now: Time) {
        let HoldRan { build, exec, at } = ran;
        let before = self.markers.get(host);
        if before.is_some_and(|standing| {
            exec.is_some() && standing.exec == exec && standing.build == build
        }) {
            return;
        }
        let at = known(at).or(Some(now)).max(before.and_then(|standing| standing.at));
        let seq = Some(self.event());
        let app = build.app();
        let replaced = self.remove_marker(host);
        self.apps.add_marker(&build);
        self.markers.insert(host.clone(), Marker { build, exec, seq, at });
        self.owed.touch(RowKey::Marker(host.clone()));
        if let Some(other) = replaced.filter(|other| *other != app) {
            self.move_generation(&other);
        }
        self.move_generation(&app);
    }
}
