//! A module that was wanting when its gate ended, told to the handling of failures.

use conditions::End;
use gate_judge::Gate;
use names::BuildId;

use crate::{failure, judge::judged_machines, plan::Move, reports, state::State};

/// The module with its gate's end, and with the machine's own words for why it came to that.
pub(super) fn failed_module(state: &State, it: &Move, gate: &Gate) -> failure::FailedModule {
    let machines: Vec<_> =
        judged_machines(gate, &it.module).iter().map(ToString::to_string).collect();
    let (from, to) = commits(state, it);
    let ended = gate.ended().map(|ended| failure::Ended {
        // A gate fails as one, and a build of which nobody saw anything bad is not condemned with the others.
        end: match ended.end {
            gate_judge::End::Failed(_) if ended.speaks_against(it.module.as_str()) => End::Failed,
            gate_judge::End::Failed(_)
            | gate_judge::End::CannotTell(_)
            | gate_judge::End::Passed { .. } => End::CannotTell,
        },
        why: with_evidence(state, &ended.end),
    });
    let component =
        gate_judge::core_component(it.module.as_str()).map(|core| core.name().to_owned());
    failure::FailedModule {
        module: it.module.to_string(),
        component: component.clone(),
        build: Some(it.to.to_string()),
        commit: Some(to.clone()),
        previous: from.clone(),
        first_sent: Some(gate.opening().since),
        machines: machines.clone(),
        ended: ended.clone().unwrap_or(failure::Ended { end: End::CannotTell, why: String::new() }),
        gate: Some(failure::Gate {
            component,
            machines,
            from,
            to: Some(to),
            since: Some(gate.opening().since),
            ended,
        }),
    }
}

/// Why a gate ended so, with what the machine itself said of it: an exit status and last lines, where it gave any.
fn with_evidence(state: &State, end: &gate_judge::End) -> String {
    let wanting = match end {
        gate_judge::End::Failed(gate_judge::FailedBy::Broken(wanting)) => Some(wanting),
        gate_judge::End::Failed(gate_judge::FailedBy::Bound(cause))
        | gate_judge::End::CannotTell(cause) => cause.pair(),
        gate_judge::End::Passed { .. } => None,
    };
    let said = wanting.and_then(|wanting| reports::said(state, &wanting.machine, &wanting.module));
    match said {
        Some(said) => format!("{end} ({said})"),
        None => end.to_string(),
    }
}

/// The commits of a move. Two builds of one commit that are not the same content are told apart by their ids: a manifest
/// that was changed without a commit is a change all the same.
pub(super) fn commits(state: &State, it: &Move) -> (Option<String>, String) {
    let build = |id: &BuildId| state.records.builds.get(id);
    let commit =
        |id: &BuildId| build(id).map_or_else(|| id.to_string(), |build| build.commit.to_string());
    let to = commit(&it.to);
    let Some(from_id) = &it.from else { return (None, to) };
    let from = commit(from_id);
    if from == to && state.records.content(from_id) != state.records.content(&it.to) {
        return (Some(format!("{from}@{}", from_id.short())), format!("{to}@{}", it.to.short()));
    }
    (Some(from), to)
}
