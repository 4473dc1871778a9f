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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_the_clears_for_a_host_and_for_everyone_counts() {
        let build = Build::new("ac", "web", "b1").unwrap();
        let [here, there] = ["h1", "h2"].map(|name| Host::new(name).unwrap());
        let number = |number| NonZeroU64::new(number).unwrap();
        for (host, everyone) in [(5, 9), (9, 5)] {
            let mut clears = Clears::default();
            clears.note_host(&build, &here, number(host));
            clears.note_everyone(&build, number(everyone));
            let is_stale =
                |on, snapshot| clears.is_stale(&build, on, Snapshot::new(snapshot).unwrap());
            assert!(is_stale(&here, 5) && is_stale(&here, 9) && !is_stale(&here, 10));
            assert!(is_stale(&there, everyone) && !is_stale(&there, everyone + 1));
        }
    }
}
