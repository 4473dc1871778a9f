//! Pruning: forgetting builds that nothing here installs.

use super::Book;
use crate::change::RowKey;
use crate::names::Build;
use crate::step::Step;
use alloc::collections::BTreeSet;

impl Book {
    /// Drops the records and the remembered clears of builds that no route here installs.
    ///
    /// An app that has neither record nor marker left loses its generation; a later restriction
    /// takes a larger one. An app that lost a record and still has something gets a new one.
    /// Markers stay: what ran on an instance's data is true whatever is installed.
    ///
    /// Unlike every other operation, this one looks at all records.
    pub fn prune(&mut self, installed: &BTreeSet<Build>) -> Step<()> {
        let mut apps = BTreeSet::new();
        for build in self.records.without(|build| installed.contains(build)) {
            if let Some(ordinal) = self.records.remove_first(&build) {
                self.apps.remove_record(&build, ordinal);
                self.owed.touch(RowKey::Record(ordinal));
                apps.insert(build.app());
            }
        }
        self.clears.retain(|build| installed.contains(build));
        for app in apps {
            if self.apps.restricts(&app) {
                self.move_generation(&app);
            }
        }
        for app in self.apps.drop_bare_generations() {
            self.owed.touch(RowKey::Generation(app));
        }
        self.settle(())
    }
}
