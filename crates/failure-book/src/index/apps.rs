//! The apps: the generation of each, and what it has in the book.

use super::HashMap;
use super::records::Ordinal;
use crate::counter::Generation;
use crate::names::{App, Build};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// All apps that have something in the book.
#[derive(Debug, Clone, Default)]
pub(crate) struct Apps {
    apps: HashMap<App, Entry>,
    /// Those with a generation and nothing that restricts, in the order of their keys.
    bare: BTreeSet<App>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    /// The generation as it is kept. Zero stands only in older documents, and is no generation.
    generation: Option<u64>,
    records: BTreeSet<Ordinal>,
    markers: usize,
}

impl Entry {
    fn restricts(&self) -> bool {
        self.markers > 0 || !self.records.is_empty()
    }
}

impl Apps {
    /// The generation of a build's app.
    pub(crate) fn generation_of(&self, build: &Build) -> Option<Generation> {
        self.kept_generation(build.app_text()).and_then(Generation::new)
    }

    /// The generation of an app as it is kept, where it has one.
    pub(crate) fn kept_generation(&self, app: &str) -> Option<u64> {
        self.apps.get(app)?.generation
    }

    /// The places of an app's records, in book order.
    pub(crate) fn records(&self, app: &App) -> impl Iterator<Item = Ordinal> {
        self.apps.get(app).into_iter().flat_map(|entry| entry.records.iter().copied())
    }

    /// How many records an app has.
    pub(crate) fn record_count(&self, app: &App) -> usize {
        self.apps.get(app).map_or(0, |entry| entry.records.len())
    }

    /// Whether an app has a record or a marker.
    pub(crate) fn restricts(&self, app: &App) -> bool {
        self.apps.get(app).is_some_and(Entry::restricts)
    }

    /// The generations as they are kept, by app.
    pub(crate) fn generations(&self) -> Vec<(&App, u64)> {
        let with = |(app, entry): (_, &Entry)| Some((app, entry.generation?));
        let mut kept: Vec<_> = self.apps.iter().filter_map(with).collect();
        kept.sort_unstable();
        kept
    }

    /// The apps with a record or a marker and no generation, in the order of their keys.
    pub(crate) fn without_generation(&self) -> BTreeSet<App> {
        let lacks =
            |entry: &Entry| entry.restricts() && entry.generation.is_none_or(|kept| kept == 0);
        let without = self.apps.iter().filter(|(_, entry)| lacks(entry));
        without.map(|(app, _)| app.clone()).collect()
    }

    /// Sets a generation.
    pub(crate) fn set_generation(&mut self, app: &App, generation: u64) {
        self.change(app.as_str(), |entry| entry.generation = Some(generation));
    }

    /// Takes the generations from all apps with nothing that restricts; answers which had one.
    pub(crate) fn drop_bare_generations(&mut self) -> BTreeSet<App> {
        let bare = core::mem::take(&mut self.bare);
        for app in &bare {
            self.apps.remove(app);
        }
        bare
    }

    pub(crate) fn add_record(&mut self, build: &Build, ordinal: Ordinal) {
        self.change(build.app_text(), |entry| {
            entry.records.insert(ordinal);
        });
    }

    pub(crate) fn remove_record(&mut self, build: &Build, ordinal: Ordinal) {
        self.change(build.app_text(), |entry| {
            entry.records.remove(&ordinal);
        });
    }

    pub(crate) fn add_marker(&mut self, build: &Build) {
        self.change(build.app_text(), |entry| entry.markers += 1);
    }

    pub(crate) fn remove_marker(&mut self, build: &Build) {
        self.change(build.app_text(), |entry| entry.markers = entry.markers.saturating_sub(1));
    }

    /// Changes an app's entry, and keeps the set of bare ones true.
    fn change(&mut self, app: &str, change: impl FnOnce(&mut Entry)) {
        let entry = match self.apps.get_mut(app) {
            Some(entry) => entry,
            None => self.apps.entry(App::of_text(app)).or_default(),
        };
        change(entry);
        match (entry.restricts(), entry.generation) {
            (false, Some(_)) => {
                self.bare.insert(App::of_text(app));
            }
            (false, None) => {
                self.bare.remove(app);
                self.apps.remove(app);
            }
            (true, _) => {
                self.bare.remove(app);
            }
        }
    }
}
