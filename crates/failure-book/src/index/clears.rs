//! What retries and pointers cleared, to tell which failures are older than that.

use crate::counter::Snapshot;
use crate::names::{Build, Host};
use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

/// The clears of this process. They are never saved: a process that ends takes the executions
/// along that could still report a failure from before them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clears {
    builds: BTreeMap<Build, OfBuild>,
}

#[derive(Debug, Clone, Default)]
struct OfBuild {
    /// The last clear for every host.
    everyone: Option<NonZeroU64>,
    /// The last clear for one host.
    hosts: BTreeMap<Host, NonZeroU64>,
}

impl Clears {
    /// Notes a clear for one host.
    pub(crate) fn note_host(&mut self, build: &Build, host: &Host, event: NonZeroU64) {
        self.builds.entry(build.clone()).or_default().hosts.insert(host.clone(), event);
    }

    /// Notes a clear for every host.
    pub(crate) fn note_everyone(&mut self, build: &Build, event: NonZeroU64) {
        self.builds.entry(build.clone()).or_default().everyone = Some(event);
    }

    /// Whether an outcome on a host is from before a clear.
    pub(crate) fn is_stale(&self, build: &Build, host: &Host, snapshot: Snapshot) -> bool {
        self.builds.get(build).is_some_and(|of_build| {
            let for_host = of_build.hosts.get(host).copied();
            for_host.max(of_build.everyone).is_some_and(|event| snapshot.is_before(event))
        })
    }

    /// Forgets the builds of which `keep` says no.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Build) -> bool) {
        self.builds.retain(|build, _| keep(build));
    }
}
