//! Machines, as people see them.

use chrono::{DateTime, Utc};
use inventory::Machine;
use names::MachineName;
use wire::{
    ResourceStatement,
    api::{MachineState, MachineView, ResourceView},
};

use crate::state::State;

/// Every machine.
pub(crate) fn machines(state: &State, now: DateTime<Utc>) -> Vec<MachineView> {
    state.records.machines.values().map(|machine| view(state, now, machine)).collect()
}

fn view(state: &State, now: DateTime<Utc>, machine: &Machine) -> MachineView {
    let sighting = state.sightings.get(&machine.name);
    let hello = sighting.and_then(|sighting| sighting.hello.as_ref());
    let stated =
        sighting.and_then(|sighting| sighting.statement.as_ref()).map(|stated| &stated.statement);
    let resources = stated.into_iter().flat_map(|statement| &statement.resources);
    MachineView {
        machine: machine.name.clone(),
        state: heard(state, now, &machine.name),
        heard: sighting.and_then(|sighting| sighting.heard),
        agent: hello.map(|hello| hello.agent.clone()),
        declared: state
            .records
            .declared
            .get(&machine.name)
            .map(|declared| declared.declaration.number),
        holds: match stated {
            Some(statement) => statement.declaration,
            None => hello.and_then(|hello| hello.held.as_ref()).map(|held| held.number),
        },
        resources: resources.map(|stated| resource(state, stated)).collect(),
    }
}

/// Whether a machine is heard.
pub(super) fn heard(state: &State, now: DateTime<Utc>, machine: &MachineName) -> MachineState {
    match state.sightings.get(machine).and_then(|sighting| sighting.heard) {
        None => MachineState::Unheard,
        Some(_) if state.is_heard(machine, now) => MachineState::Heard,
        Some(_) => MachineState::Silent,
    }
}

fn resource(state: &State, stated: &ResourceStatement) -> ResourceView {
    ResourceView {
        module: stated.module.clone(),
        instance: stated.instance.clone(),
        resource: stated.resource.clone(),
        build: stated.build.clone(),
        commit: state.records.builds.get(&stated.build).map(|build| build.commit.clone()),
        state: stated.state,
        restarts: stated.restarts,
        address: stated.address,
        why: stated.why.clone(),
    }
}
