//! One execution: a build that runs on an instance, with all its resources.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use names::{ExecutionId, ResourceName};
use wire::{ModuleOutcome, ProcessIdentity, ResourceState};

use crate::action::Action;
use crate::adopted::Adopted;
use crate::draws::{CheckId, RunId};
use crate::event::Obstacle;
use crate::placement::{Place, Placement};
use crate::supervised::{Record, Supervised};
use crate::turn::Turn;

/// A build on an instance, from its start until everything of it is gone.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) id: ExecutionId,
    pub(crate) placement: Placement,
    resources: Vec<Supervised>,
}

impl Execution {
    /// Asks for the first process of each resource.
    pub(crate) fn begin(
        id: ExecutionId,
        placement: Placement,
        place: &Place,
        turn: &mut Turn<'_>,
    ) -> Self {
        let launch = |resource: &inventory::Resource| {
            let start = placement.start(place, &id, resource);
            Supervised::launch(resource.clone(), start, turn)
        };
        let resources = placement.resources().iter().map(launch).collect();
        Self { id, placement, resources }
    }

    /// Takes over the processes that were found of an execution. What they left out is not started yet: it may not be
    /// wanted any longer. Of two processes of one resource the older one is only stopped.
    pub(crate) fn adopt(
        id: ExecutionId,
        placement: Placement,
        place: &Place,
        found: Vec<Adopted>,
        turn: &mut Turn<'_>,
    ) -> Self {
        let mut newest: BTreeMap<ResourceName, Adopted> = BTreeMap::new();
        for one in found {
            let rival = newest.insert(one.resource.clone(), one);
            let rival =
                rival.map(|rival| Action::Stop { run: rival.run, how: rival.how_to_stop() });
            turn.actions.extend(rival);
        }
        let mut resources = Vec::new();
        for resource in placement.resources() {
            if let Some(Adopted { run, process, address, .. }) = newest.remove(&resource.name) {
                turn.homes.insert(run, (place.clone(), resource.name.clone()));
                let start = placement.start(place, &id, resource);
                let resource = resource.clone();
                resources.push(Supervised::adopt(resource, start, run, process, address, turn));
            }
        }
        Self { id, placement, resources }
    }

    /// Asks for the first process of each resource that has none: the agent that began the execution did not come to it, or
    /// died while it waited to start one again.
    pub(crate) fn complete(&mut self, place: &Place, turn: &mut Turn<'_>) {
        for (at, resource) in self.placement.resources().iter().enumerate() {
            if !self.resources.iter().any(|one| one.start().resource == resource.name) {
                let start = self.placement.start(place, &self.id, resource);
                let at = at.min(self.resources.len());
                self.resources.insert(at, Supervised::launch(resource.clone(), start, turn));
            }
        }
    }

    pub(crate) fn resources(&self) -> &[Supervised] {
        &self.resources
    }

    pub(crate) fn stop(&mut self, turn: &mut Turn<'_>) {
        self.resources.iter_mut().for_each(|resource| resource.stop(turn));
    }

    /// Whether nothing of it is alive or will be.
    pub(crate) fn is_over(&self) -> bool {
        self.resources.iter().all(Supervised::is_over)
    }

    /// Its live processes.
    pub(crate) fn runs(&self) -> Vec<RunId> {
        self.resources.iter().filter_map(|one| one.process()).map(|(run, ..)| run).collect()
    }

    /// Whether a run is one of its own.
    pub(crate) fn has(&self, run: RunId) -> bool {
        self.resources.iter().any(|one| one.is_in(run))
    }

    /// Whether anything of it ran, or may have.
    pub(crate) fn may_have_run(&self) -> bool {
        self.resources.iter().any(Supervised::may_have_run)
    }

    /// Whether every resource of it is healthy.
    pub(crate) fn is_healthy(&self) -> bool {
        self.resources.iter().all(|one| one.state() == ResourceState::Healthy)
    }

    /// Whether every resource of it has been healthy at some time.
    pub(crate) fn was_healthy(&self) -> bool {
        self.resources.iter().all(|one| matches!(one.record(), Record::WasHealthy))
    }

    /// Whether nothing of it is alive, since every resource was given up.
    pub(crate) fn is_given_up(&self) -> bool {
        let is_so =
            |one: &Supervised| one.state() == ResourceState::Failed && one.process().is_none();
        self.resources.iter().all(is_so)
    }

    /// What weighed on the machine is over: what waits to be started again is started now.
    pub(crate) fn relieve(&mut self, turn: &Turn<'_>) {
        self.resources.iter_mut().for_each(|resource| resource.relieve(turn));
    }

    pub(crate) fn tick(&mut self, turn: &mut Turn<'_>) {
        self.resources.iter_mut().for_each(|resource| resource.tick(turn));
    }

    pub(crate) fn wake(&self) -> Option<core::time::Duration> {
        self.resources.iter().filter_map(Supervised::wake).min()
    }

    /// Hands what became of a run to the resource whose run it is.
    pub(crate) fn heard(
        &mut self,
        resource: &ResourceName,
        run: RunId,
        what: Heard,
        turn: &mut Turn<'_>,
    ) {
        let mut resources = self.resources.iter_mut();
        let Some(one) = resources.find(|one| one.start().resource == *resource) else { return };
        match what {
            Heard::Started(process, address) => one.started(run, process, address, turn),
            Heard::NotStarted(obstacle) => one.not_started(run, obstacle, turn),
            Heard::Checked(check, outcome) => one.checked(run, check, outcome, turn),
            Heard::Exited(how, lines) => one.exited(run, &how, &lines, turn),
        }
    }

    /// What came of bringing the instance onto its build, as soon as that is known. A resource that fell after it was
    /// healthy changes nothing: the build was brought here, and how it does is said by statements.
    pub(crate) fn outcome(&self, place: &Place) -> Option<ModuleOutcome> {
        let mut all_started = true;
        let mut unable = None;
        for one in &self.resources {
            match one.record() {
                Record::Started if one.state() == ResourceState::Failed => {
                    let why = one.why().unwrap_or_default();
                    let why = format!("resource `{}`: {why}", one.start().resource);
                    return Some(ModuleOutcome::Failed { instance: place.1.clone(), why });
                }
                Record::Started | Record::WasHealthy => {}
                Record::NeverStarted(None) => all_started = false,
                Record::NeverStarted(Some(obstacle)) => {
                    all_started = false;
                    unable = unable.or(Some(obstacle));
                }
            }
        }
        match unable {
            Some(obstacle) => Some(obstacle.outcome()),
            None => all_started.then_some(ModuleOutcome::Applied),
        }
    }
}

/// What became of a run.
#[derive(Debug)]
pub(crate) enum Heard {
    Started(ProcessIdentity, SocketAddr),
    NotStarted(Obstacle),
    Checked(CheckId, Result<(), String>),
    Exited(String, Vec<String>),
}
