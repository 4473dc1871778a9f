//! What the disk of the world says: what is declared, what has served, and what the failure book holds, read from its rows.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{Kept, ServedHere, Start};
use failure_book::{Build, Intent, Record, Row, RowKey};
use inventory::{DeclaredModule, Swap};
use names::{BuildId, ExecutionId, InstanceName, ModuleName, ResourceName};
use wire::{ResourceState, ResourceStatement, Statement};

/// Which instance of which module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Host {
    pub(crate) module: ModuleName,
    pub(crate) instance: InstanceName,
}

impl Host {
    pub(crate) fn of(start: &Start) -> Self {
        Self { module: start.module.clone(), instance: start.instance.clone() }
    }
}

/// A build that ran on an instance when an agent died, before its outcome was on the disk.
#[derive(Debug, Clone)]
pub(crate) struct Condemned {
    host: Host,
    build: String,
    is_hold: bool,
}

/// Everything that is on the disk.
pub(crate) struct Paper<'a> {
    pub(crate) kept: Option<&'a Kept>,
    /// What the agent knows to be kept: what landed without its hearing of it counts for it from its next start.
    pub(crate) known: Option<&'a Kept>,
    pub(crate) rows: &'a BTreeMap<RowKey, Row>,
}

impl Paper<'_> {
    fn wanted(&self) -> impl Iterator<Item = (&ModuleName, &DeclaredModule)> {
        let declared = self.known.into_iter().flat_map(|kept| &kept.declaration.modules);
        let declared = declared.filter(|(_, one)| !one.instances.is_empty());
        declared.chain(self.known.into_iter().flat_map(|kept| &kept.left))
    }

    fn wanted_on(&self, host: &Host) -> Option<&DeclaredModule> {
        let mut all = self.wanted();
        let is_it = |(module, one): &(&ModuleName, &DeclaredModule)| {
            **module == host.module && one.instances.contains_key(&host.instance)
        };
        all.find(is_it).map(|(_, one)| one)
    }

    pub(crate) fn wants(&self, start: &Start) -> bool {
        self.wanted_on(&Host::of(start)).is_some_and(|one| is(one, start))
    }

    /// Every instance that should run.
    pub(crate) fn hosts(&self) -> BTreeSet<Host> {
        let hosts = |(module, one): (&ModuleName, &DeclaredModule)| {
            let module = module.clone();
            let host = move |instance| Host { module: module.clone(), instance };
            one.instances.keys().cloned().map(host).collect::<Vec<_>>()
        };
        self.wanted().flat_map(hosts).collect()
    }

    fn served(&self, host: &Host) -> Option<&ServedHere> {
        self.kept?.served.get(&host.module)?.get(&host.instance)
    }

    pub(crate) fn has_served(&self, host: &Host, build: &BuildId) -> bool {
        let here = self.served(host);
        here.is_some_and(|here| here.good.build == *build || here.earlier.contains(build))
    }

    pub(crate) fn is_good(&self, start: &Start) -> bool {
        self.served(&Host::of(start)).is_some_and(|here| is(&here.good, start))
    }

    /// What must not be collected: what is declared, what is good, and what was good before it.
    pub(crate) fn needed(&self) -> BTreeSet<(ModuleName, BuildId)> {
        let declared = self.known.into_iter().flat_map(|kept| &kept.declaration.modules);
        let wanted = declared.map(|(module, one)| (module.clone(), one.build.clone()));
        let wanted =
            wanted.chain(self.wanted().map(|(module, one)| (module.clone(), one.build.clone())));
        let served = self.hosts().into_iter().flat_map(|host| {
            let here = self.served(&host);
            let good = here.map(|here| here.good.build.clone());
            let last = here.and_then(|here| here.earlier.last().cloned());
            good.into_iter().chain(last).map(move |build| (host.module.clone(), build))
        });
        wanted.chain(served).collect()
    }

    pub(crate) fn intents(&self) -> Vec<&Intent> {
        self.rows.values().filter_map(intent).collect()
    }

    /// Whether an execution is announced.
    pub(crate) fn intends(&self, host: &Host, execution: &ExecutionId) -> bool {
        let name = |row: &Row| matches!(row, Row::Intent(on, intent) if on.as_str() == host.instance.as_str() && intent.id.as_str() == execution.as_str());
        self.rows.values().any(name)
    }

    fn records(&self, module: &ModuleName) -> impl Iterator<Item = &Record> {
        let of_module = move |one: &&Record| one.build.app_name() == module.as_str();
        self.rows.values().filter_map(record).filter(of_module)
    }

    /// What has run under an intent that stands, and has not been kept as good.
    pub(crate) fn condemned(&self, begun: &BTreeSet<ExecutionId>) -> Vec<Condemned> {
        let condemned = |row: &Row| {
            let Row::Intent(host, Intent { build, mode, id, .. }) = row else { return None };
            let (module, instance) = (build.app_name().parse().ok()?, host.as_str().parse().ok()?);
            let (host, build) = (Host { module, instance }, build.name().to_owned());
            let ran = begun.iter().any(|execution| execution.as_str() == id.as_str());
            let passed = self.has_served(&host, &build.parse().ok()?);
            let is_hold = mode.is_hold();
            (ran && !passed).then_some(Condemned { host, build, is_hold })
        };
        self.rows.values().filter_map(condemned).collect()
    }

    /// Whether a build that has served must not be brought back: another one may have been at the data after it.
    pub(crate) fn is_held(&self, host: &Host, build: &BuildId, condemned: &[Condemned]) -> bool {
        let is_host = |one: &failure_book::Host| one.as_str() == host.instance.as_str();
        let records = self.records(&host.module);
        let records = records.filter(|one| one.held_down.iter().any(is_host));
        let markers = self.rows.values().filter_map(|row| {
            if let Row::Marker(on, marker) = row { Some((on, &marker.build)) } else { None }
        });
        let markers =
            markers.filter(|(on, build)| is_host(on) && build.app_name() == host.module.as_str());
        let condemned = condemned.iter().filter(|one| one.is_hold && one.host == *host);
        let by =
            records.map(|one| one.build.name()).chain(markers.map(|(_, build)| Build::name(build)));
        let mut by = by.chain(condemned.map(|one| one.build.as_str()));
        by.any(|by| {
            let by: BuildId = by.parse().unwrap();
            let outlived = self.served(host).is_some_and(|here| here.outlived.contains(&by));
            by != *build && !outlived && !self.has_served(host, &by)
        })
    }

    fn has_failed(&self, module: &ModuleName, build: &BuildId, condemned: &[Condemned]) -> bool {
        let condemned =
            condemned.iter().any(|one| one.host.module == *module && one.build == build.as_str());
        condemned || self.records(module).any(|one| one.build.name() == build.as_str())
    }

    /// A build that has not served is tried only under its intent, where it has not failed, and where no sibling tries one.
    pub(crate) fn may_be_tried(&self, host: &Host, start: &Start, condemned: &[Condemned]) {
        assert!(self.intends(host, &start.execution), "no intent has landed: {start:?}");
        let intents = self.intents();
        let of_module: Vec<_> =
            intents.iter().filter(|one| one.build.app_name() == host.module.as_str()).collect();
        assert_eq!(of_module.len(), 1, "one instance of a module at a time: {of_module:?}");
        let failed = self.has_failed(&host.module, &start.build, condemned);
        assert!(!failed, "what failed on this machine is not tried: {start:?}");
    }

    /// Whether a start may be beside another execution.
    pub(crate) fn may_stand_beside(&self, host: &Host, start: &Start) -> bool {
        let is_overlap = start.declared.manifest.swap == Swap::Overlap;
        let listens = start.declared.manifest.resources.iter().any(|one| one.listen.is_some());
        !listens && (is_overlap || self.has_served(host, &start.build))
    }

    /// What stands on one instance in the end.
    pub(crate) fn stands(
        &self,
        host: &Host,
        found: &BTreeMap<&ResourceName, &Start>,
        stated: &[&ResourceStatement],
        condemned: &[Condemned],
    ) {
        let Some(wanted) = self.wanted_on(host) else { return };
        let served = self.served(host).map(|here| &here.good);
        let refused = if self.has_served(host, &wanted.build) {
            self.is_held(host, &wanted.build, condemned)
        } else {
            self.has_failed(&host.module, &wanted.build, condemned)
        };
        let Some(first) = found.values().next() else {
            let falls_back = served.is_some_and(|good| !self.is_held(host, &good.build, condemned));
            assert!(refused && !falls_back, "{host:?} is down for no reason: {:?}", self.rows);
            let says =
                |row: &&ResourceStatement| row.state == ResourceState::Failed && row.why.is_some();
            assert!(!stated.is_empty() && stated.iter().all(says), "why {host:?} is down is said");
            return;
        };
        if !is(wanted, first) {
            assert!(refused, "{host:?} should run what is declared: {:?}", self.rows);
            assert!(served.is_some_and(|good| is(good, first)), "{host:?} is on its good build");
        }
        let resources: BTreeSet<_> =
            first.declared.manifest.resources.iter().map(|one| &one.name).collect();
        assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), resources);
        let healthy = stated.iter().filter(|row| row.state == ResourceState::Healthy);
        assert_eq!(healthy.count(), resources.len(), "{host:?} is healthy: {stated:?}");
    }
}

fn intent(row: &Row) -> Option<&Intent> {
    if let Row::Intent(_, intent) = row { Some(intent) } else { None }
}

fn record(row: &Row) -> Option<&Record> {
    if let Row::Record(_, record) = row { Some(record) } else { None }
}

/// Whether a start is of this build in this environment.
fn is(one: &DeclaredModule, start: &Start) -> bool {
    one.build == start.build && one.instances.get(&start.instance) == Some(&start.environment)
}

/// A statement has a row for every resource that should run.
pub(crate) fn lists_everything(paper: &Paper<'_>, statement: &Statement) {
    let rows: BTreeSet<(&ModuleName, &InstanceName, _)> =
        statement.resources.iter().map(|row| (&row.module, &row.instance, &row.resource)).collect();
    for (module, one) in paper.wanted() {
        for instance in one.instances.keys() {
            for resource in &one.manifest.resources {
                let row = (module, instance, &resource.name);
                assert!(rows.contains(&row), "{row:?} is not stated");
            }
        }
    }
}
