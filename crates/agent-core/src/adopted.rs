//! What was found running when the agent began: another agent process of this machine started it, in this boot.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use inventory::{DeclaredModule, Stop};
use names::{ExecutionId, InstanceName, ModuleName, ResourceName};
use wire::{Held, ProcessIdentity};

use crate::draws::RunId;
use crate::execution::Execution;
use crate::instance::Instance;
use crate::kept::Kept;
use crate::placement::{Place, Placement};
use crate::served;
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

    pub(crate) fn how_to_stop(&self) -> Stop {
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
/// At most one execution goes on on an instance. All others are stopped whole: what was tried when the agent before this one
/// ended, what was being stopped, and everything that is held.
pub(crate) fn adopt(
    adopted: Vec<Adopted>,
    kept: Option<&Kept>,
    turn: &mut Turn<'_>,
) -> BTreeMap<Place, Instance> {
    let wanted = kept.map(Kept::placements).unwrap_or_default();
    let is_served_known = kept.is_some_and(Kept::knows_what_served);
    let mut instances = BTreeMap::new();
    for (place, executions) in by_execution(adopted) {
        let mut found = Vec::new();
        for (id, processes) in executions {
            let Some(first) = processes.first() else { continue };
            let placement = Placement::of(&place.1, first.declared.clone());
            found.push(Execution::adopt(id, placement, &place, processes, turn));
        }
        let serving = goes_on(&place, &found, wanted.get(&place), turn)
            .or_else(|| if is_served_known { None } else { unblocked(&place, &found, turn) });
        let serving = serving.map(|at| found.remove(at));
        found.iter_mut().for_each(|one| one.stop(turn));
        instances.insert(place.clone(), Instance::found(place, serving, found, turn));
    }
    instances
}

/// Which of the executions found on an instance goes on: the newest of its good build; else of the build that it was being
/// moved back to. Where nothing can be known, since the book cannot be read, any that runs is better left alone.
fn goes_on(
    place: &Place,
    found: &[Execution],
    wanted: Option<&Placement>,
    turn: &Turn<'_>,
) -> Option<usize> {
    let is_readable = turn.book.open().is_some();
    let good = served::good(turn.served, place);
    let newest = |may: &dyn Fn(&Placement) -> bool| {
        found.iter().rposition(|one| {
            let is_held =
                turn.book.against_return(place, &one.placement, turn.served, turn.floors).is_some();
            may(&one.placement) && (!is_readable || !is_held)
        })
    };
    let is_good = |one: &Placement| good.as_ref().is_some_and(|good| one.is(good));
    let is_good_build =
        |one: &Placement| good.as_ref().is_some_and(|good| one.module.build == good.module.build);
    let is_moved_to = |one: &Placement| {
        wanted.is_some_and(|wanted| one.is(wanted))
            && served::has_served(turn.served, place, &one.module.build)
    };
    newest(&is_good)
        .or_else(|| newest(&is_good_build))
        .or_else(|| newest(&is_moved_to))
        .or_else(|| newest(&|_| !is_readable))
}

/// Which of them goes on where it is not known what has served: the newest that nothing is known against.
fn unblocked(place: &Place, found: &[Execution], turn: &Turn<'_>) -> Option<usize> {
    let has_served = served::good(turn.served, place).is_some();
    found.iter().rposition(|one| {
        let is_blocked = turn.book.against_trying(place, &one.placement).is_some()
            || turn.book.against_return(place, &one.placement, turn.served, turn.floors).is_some();
        !has_served && !is_blocked
    })
}

type ByExecution = Vec<(ExecutionId, Vec<Adopted>)>;

/// The processes of each instance by their executions, the newest last.
fn by_execution(adopted: Vec<Adopted>) -> BTreeMap<Place, ByExecution> {
    let mut places: BTreeMap<Place, ByExecution> = BTreeMap::new();
    for one in adopted {
        let executions = places.entry(one.place()).or_default();
        match executions.iter_mut().find(|(id, _)| *id == one.execution) {
            Some((_, processes)) => processes.push(one),
            None => executions.push((one.execution.clone(), vec![one])),
        }
    }
    places
}
