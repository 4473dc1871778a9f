//! What the handling of a failure looks up: builds, and how they compare.

use inventory::{Build, Reversal};
use names::BuildId;

use crate::{
    failure,
    plan::{Move, Plan},
    state::State,
};

/// The move of a module that the handling names.
pub(super) fn move_of<'a>(plan: &'a Plan, module: &str) -> Option<&'a Move> {
    plan.moves().find(|it| it.module.as_str() == module)
}

/// How the two builds of a module's move compare by a fingerprint that not every build has.
pub(super) fn compare<T: PartialEq>(
    state: &State,
    plan: &Plan,
    module: &str,
    fingerprint: impl Fn(&Build) -> Option<T>,
) -> failure::Likeness {
    let of = |build: &BuildId| state.records.builds.get(build).and_then(&fingerprint);
    let both = move_of(plan, module).and_then(|it| Some((of(it.from.as_ref()?)?, of(&it.to)?)));
    match both {
        None => failure::Likeness::Unknown,
        Some((from, to)) if from == to => failure::Likeness::Identical,
        Some(_) => failure::Likeness::Different,
    }
}

/// What is known of the build that did not pass.
pub(super) fn failed_build(state: &State, plan: &Plan, module: &str) -> failure::FailedBuild {
    let build = move_of(plan, module).and_then(|it| state.records.builds.get(&it.to));
    match build.map(|build| build.manifest.reversal) {
        None => failure::FailedBuild::Missing,
        Some(Reversal::PointOfNoReturn) => failure::FailedBuild::PointOfNoReturn,
        Some(Reversal::Possible) => failure::FailedBuild::Found,
    }
}

/// What is known of the build that would go back.
pub(super) fn previous_build(state: &State, plan: &Plan, module: &str) -> failure::PreviousBuild {
    let from = move_of(plan, module).and_then(|it| it.from.as_ref());
    match from {
        Some(build) if state.records.is_condemned(build) => failure::PreviousBuild::Condemned,
        Some(build) if state.records.builds.contains_key(build) => {
            failure::PreviousBuild::Found(build.to_string())
        }
        Some(_) | None => failure::PreviousBuild::NotFound,
    }
}
