//! Statements: how every resource stands, every while and at once on a change.

use core::time::Duration;
use std::collections::BTreeMap;

use names::{BuildId, ExecutionId, InstanceName, ModuleName, ResourceName};
use wire::{ProcessIdentity, ResourceState, ResourceStatement, TroubleKind};

use crate::execution::Execution;
use crate::instance::Instance;
use crate::placement::Place;
use crate::supervised::Supervised;
use crate::turn::Turn;

/// Most bytes of reasons in one statement. With them the rows of some thousand resources fit into a message; what is
/// longer loses its words, never a row.
const REASONS_BYTES_MAX: usize = 128 * 1024;

/// When the next statement is due, and what the last one said.
#[derive(Debug)]
pub(crate) struct Stating {
    every: Duration,
    sequence: u64,
    next_at: Duration,
    last: Option<(Vec<Essence>, Vec<TroubleKind>)>,
}

/// What of a row is stated at once when it changes. The wording of a reason is not, nor is that of a trouble: it may change
/// with every look.
type Essence = (
    (ModuleName, InstanceName, ResourceName),
    (BuildId, Option<ExecutionId>, Option<ProcessIdentity>),
    (ResourceState, u32),
);

impl Stating {
    pub(crate) fn new(every: Duration) -> Self {
        Self { every, sequence: 0, next_at: Duration::ZERO, last: None }
    }

    /// The sequence number to state these rows and the machine's troubles under, if they are to be stated now.
    pub(crate) fn state(&mut self, rows: &[ResourceStatement], turn: &Turn<'_>) -> Option<u64> {
        // The first one waits a while for the first look at the machine: one that knew nothing of that would take back what
        // the agent before this one stated.
        if self.sequence == 0 && !turn.troubles.are_known() {
            if self.next_at.is_zero() {
                self.next_at = turn.now.after(self.every);
            }
            if turn.now.monotonic < self.next_at {
                return None;
            }
        }
        let kinds = turn.troubles.found().iter().map(|trouble| trouble.kind);
        let essence = (rows.iter().map(essence).collect(), kinds.collect());
        let is_due = self.next_at <= turn.now.monotonic;
        if !is_due && self.last.as_ref() == Some(&essence) {
            return None;
        }
        self.last = Some(essence);
        self.next_at = turn.now.after(self.every);
        self.sequence += 1;
        Some(self.sequence)
    }

    /// States at the next turn, whatever the rows are: something beside them changed.
    pub(crate) fn hurry(&mut self) {
        self.last = None;
    }

    pub(crate) fn wake(&self) -> Duration {
        self.next_at
    }
}

fn essence(row: &ResourceStatement) -> Essence {
    (
        (row.module.clone(), row.instance.clone(), row.resource.clone()),
        (row.build.clone(), row.execution.clone(), row.process.clone()),
        (row.state, row.restarts),
    )
}

/// A row for every resource that runs or should.
pub(crate) fn rows(instances: &BTreeMap<Place, Instance>) -> Vec<ResourceStatement> {
    let of_instance = |(place, instance)| of_instance(place, instance);
    let mut rows: Vec<ResourceStatement> = instances.iter().flat_map(of_instance).collect();
    let reasons: usize = rows.iter().filter_map(|row| row.why.as_ref()).map(String::len).sum();
    if reasons > REASONS_BYTES_MAX {
        let share = REASONS_BYTES_MAX / rows.len();
        for why in rows.iter_mut().filter_map(|row| row.why.as_mut()) {
            why.truncate(why.floor_char_boundary(share));
        }
    }
    rows
}

fn of_instance(place: &Place, instance: &Instance) -> Vec<ResourceStatement> {
    let mut rows = Vec::new();
    if let Some(running) = instance.running() {
        rows.extend(running.resources().iter().map(|one| running_row(place, running, one)));
    }
    for resource in instance.wanted().map(|wanted| wanted.resources()).unwrap_or_default() {
        if !rows.iter().any(|row| row.resource == resource.name) {
            rows.extend(meant_row(place, instance, &resource.name));
        }
    }
    rows
}

fn running_row(place: &Place, running: &Execution, one: &Supervised) -> ResourceStatement {
    let process = one.process();
    ResourceStatement {
        module: place.0.clone(),
        instance: place.1.clone(),
        resource: one.start().resource.clone(),
        build: running.placement.module.build.clone(),
        execution: Some(running.id.clone()),
        process: process.map(|(_, identity, _)| identity.clone()),
        state: one.state(),
        since: one.since(),
        restarts: one.restarts(),
        why: one.why().map(str::to_owned),
        address: process.map(|(_, _, address)| address),
    }
}

fn meant_row(
    place: &Place,
    instance: &Instance,
    resource: &ResourceName,
) -> Option<ResourceStatement> {
    let (state, why) = instance.before_start();
    Some(ResourceStatement {
        module: place.0.clone(),
        instance: place.1.clone(),
        resource: resource.clone(),
        build: instance.wanted()?.module.build.clone(),
        execution: None,
        process: None,
        state,
        since: instance.since(),
        restarts: 0,
        why: why.map(str::to_owned),
        address: None,
    })
}
