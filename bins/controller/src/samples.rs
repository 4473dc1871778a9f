//! Views for the tests of what is made of them.

use chrono::{DateTime, Utc};
use names::{BuildId, MachineName, ModuleName, PlanId};
use wire::{
    ResourceState,
    api::{
        BuildView, GateView, MachineState, MachineView, ModuleView, MoveView, PlanView,
        ResourceView, WaveState, WaveView,
    },
};

pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

pub(crate) fn module() -> ModuleName {
    "sample".parse().unwrap()
}

pub(crate) fn plan_id() -> PlanId {
    "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap()
}

/// A build's id that ends in the commit's letters.
pub(crate) fn build_id(commit: &str) -> BuildId {
    format!("01ARZ3NDEKTSV4RRFFQ69G00{}", commit.to_uppercase()).parse().unwrap()
}

fn machines(names: &[&str]) -> Vec<MachineName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// A plan that has just been asked for.
pub(crate) fn plan() -> PlanView {
    let wave = |wave, names: &[&str]| WaveView {
        tier: 1,
        wave,
        machines: machines(names),
        away: Vec::new(),
        state: WaveState::Waiting,
    };
    PlanView {
        plan: plan_id(),
        by: "ann".to_owned(),
        at: at(0),
        state: "queued".to_owned(),
        note: "it begins".to_owned(),
        moves: vec![MoveView {
            tier: 1,
            module: module(),
            from: Some("v1".to_owned()),
            to: build_id("v2"),
            commit: Some("v2".parse().unwrap()),
            end: "unproven".to_owned(),
            rollback: None,
        }],
        waves: vec![wave(0, &["box-1"]), wave(1, &["box-2", "box-3"])],
        first: None,
        gate: None,
        ended: false,
    }
}

/// The same, judged on its first machine.
pub(crate) fn judging(passes: u32, wanting: &[&str]) -> PlanView {
    let mut view = plan();
    view.state = "judging".to_owned();
    view.note = "wave 1 of 2".to_owned();
    view.waves[0].state = WaveState::Judging;
    view.gate = Some(GateView {
        plan: plan_id(),
        modules: vec![module()],
        machines: machines(&["box-1"]),
        state: "judging".to_owned(),
        since: at(1),
        passes,
        of: 3,
        wanting: wanting.iter().map(|text| (*text).to_owned()).collect(),
        why: None,
    });
    view
}

/// The same, failed and put back.
pub(crate) fn failed() -> PlanView {
    let mut view = judging(0, &[]);
    view.state = "failed".to_owned();
    view.note = "it crash-loops".to_owned();
    view.waves[0].state = WaveState::NotPassed;
    view.moves[0].end = "failed".to_owned();
    view.moves[0].rollback = Some("put back to v1".to_owned());
    view.ended = true;
    view
}

/// A machine that is heard and runs the sample.
pub(crate) fn machine(name: &str, commit: &str, state: ResourceState) -> MachineView {
    MachineView {
        machine: name.parse().unwrap(),
        state: MachineState::Heard,
        heard: Some(at(0)),
        agent: Some("0.1.0".to_owned()),
        declared: None,
        holds: None,
        resources: vec![ResourceView {
            module: module(),
            instance: "sample-1".parse().unwrap(),
            resource: "web".parse().unwrap(),
            build: build_id(commit),
            commit: Some(commit.parse().unwrap()),
            state,
            restarts: 0,
            address: Some(([127, 0, 0, 1], 4001).into()),
            why: None,
        }],
    }
}

pub(crate) fn build(commit: &str, standing: &str) -> BuildView {
    BuildView {
        module: module(),
        build: build_id(commit),
        commit: commit.parse().unwrap(),
        standing: standing.to_owned(),
        why: None,
        registered_at: at(0),
        machines: Vec::new(),
    }
}

pub(crate) fn module_view(names: &[&str]) -> ModuleView {
    ModuleView {
        module: module(),
        registered: None,
        proven: None,
        assigned: vec![names.join(",")],
        machines: machines(names),
        plan: None,
    }
}
