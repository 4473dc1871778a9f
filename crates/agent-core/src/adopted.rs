//! What was found running when the agent began: another agent process of this machine started it, in this boot.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use inventory::{DeclaredModule, Stop};
use names::{ExecutionId, InstanceName, ModuleName, ResourceName};
use wire::{Held, ProcessIdentity};

use crate::action::Action;
use crate::draws::RunId;
use crate::execution::Execution;
use crate::instance::Instance;
use crate::placement::{Place, Placement};
use crate::turn::Turn;

/// A process that was found. It may have ended meanwhile: then an [`Event::Exited`](crate::Event::Exited) follows, as for
/// any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// [`RunId::adopted`], by its place in the list.
    pub run: RunId,
    /// Whose process it is.
    pub module: ModuleName,
    /// On which instance.
    pub instance: InstanceName,
    /// Which of its resources.
    pub resource: ResourceName,
    /// The execution that it belongs to.
    pub execution: ExecutionId,
    /// [`Start::declared`](crate::Start::declared) as it was given.
    pub declared: DeclaredModule,
    /// [`Agent::seen`](crate::Agent::seen) as it was when the process was started.
    pub seen: Option<Held>,
    /// Which process it is.
    pub process: ProcessIdentity,
    /// Where it was told to listen.
    pub address: SocketAddr,
}

impl Adopted {
    fn place(&self) -> Place {
        (self.module.clone(), self.instance.clone())
    }

    fn how_to_stop(&self) -> Stop {
        let mut resources = self.declared.manifest.resources.iter();
        let resource = resources.find(|one| one.name == self.resource);
        resource.map_or_else(Stop::default, |one| one.stop)
    }
}

/// What the processes found were declared as: all that is known of what should run while there is no declaration.
pub(crate) fn declared(adopted: &[Adopted]) -> BTreeMap<ModuleName, DeclaredModule> {
    let mut declared: BTreeMap<ModuleName, DeclaredModule> = BTreeMap::new();
    for one in adopted {
        let new = || DeclaredModule { instances: BTreeMap::new(), ..one.declared.clone() };
        let module = declared.entry(one.module.clone()).or_insert_with(new);
        module.instances.extend(one.declared.instances.clone());
    }
    declared
}

/// The newest declaration that had been seen here when any of these was started.
pub(crate) fn newest_seen(adopted: &[Adopted]) -> Option<Held> {
    adopted.iter().filter_map(|one| one.seen.clone()).max_by_key(|seen| seen.number)
}

/// Takes the processes found for what runs on their instances. Those that come later in the list are the newer ones.
///
/// One execution runs on an instance, and one process of a resource. Should more have been found, the newest is kept and
/// the others are stopped whole.
pub(crate) fn adopt(adopted: Vec<Adopted>, turn: &mut Turn<'_>) -> BTreeMap<Place, Instance> {
    let mut newest: BTreeMap<Place, BTreeMap<ResourceName, Adopted>> = BTreeMap::new();
    for one in adopted {
        let found = newest.entry(one.place()).or_default();
        let rivals = found.extract_if(.., |resource, other| {
            other.execution != one.execution || *resource == one.resource
        });
        for rival in rivals.map(|(_, rival)| rival) {
            turn.actions.push(Action::Stop { run: rival.run, how: rival.how_to_stop() });
        }
        found.insert(one.resource.clone(), one);
    }
    let mut instances = BTreeMap::new();
    for (place, found) in newest {
        let Some(first) = found.values().next() else { continue };
        let placement = Placement::of(&place.1, first.declared.clone());
        let execution = first.execution.clone();
        let execution = Execution::adopt(execution, placement, &place, found, turn);
        instances.insert(place.clone(), Instance::found(place, execution, turn));
    }
    instances
}
