//! Where a module runs.

use inventory::{Assignment, Instances, Module, Target};
use names::ModuleName;
use wire::api::{Answer, Refusal};

use super::{Decided, unknown};
use crate::{state::State, step::Step};

pub(super) fn assign(
    state: &State,
    module: &ModuleName,
    to: Target,
    instances: Instances,
) -> Decided {
    let found = find(state, module)?;
    if let Target::Machines(names) = &to
        && let Some(stranger) =
            names.iter().find(|name| !state.records.machines.contains_key(*name))
    {
        return Err(unknown(
            format!("there is no machine `{stranger}`"),
            "see `controller machines`",
        ));
    }
    let mut next = found.clone();
    next.assignments.retain(|assignment| assignment.to != to);
    let what = format!("{module} is assigned to {to}");
    next.assignments.push(Assignment { to, instances });
    let machines = state.assigned(&next).count();
    let mut step = Step::new(what.clone());
    step.put(next);
    let proven = state.records.last_proven(module);
    let then = match proven {
        Some(build) => format!("the machines get {}", build.commit),
        None => format!("nothing is sent before a release: controller release {module}"),
    };
    Ok((step, Answer::Done(format!("{what}, {machines} machines in all; {then}"))))
}

pub(super) fn unassign(state: &State, module: &ModuleName, to: &Target) -> Decided {
    let found = find(state, module)?;
    if !found.assignments.iter().any(|assignment| assignment.to == *to) {
        let made: Vec<_> =
            found.assignments.iter().map(|assignment| format!("`{}`", assignment.to)).collect();
        let made = if made.is_empty() {
            "it has none".into()
        } else {
            format!("it has {}", made.join(", "))
        };
        return Err(unknown(
            format!("{module} has no assignment to `{to}`"),
            format!("take back one as it was made; {made}"),
        ));
    }
    let mut next = found.clone();
    next.assignments.retain(|assignment| assignment.to != *to);
    let what = format!("{module} is no longer assigned to {to}");
    let mut step = Step::new(what.clone());
    step.put(next);
    Ok((step, Answer::Done(format!("{what}; machines that no other assignment includes stop it"))))
}

fn find<'a>(state: &'a State, module: &ModuleName) -> Result<&'a Module, Refusal> {
    let found = state.records.modules.get(module);
    found.ok_or_else(|| {
        unknown(
            format!("there is no module `{module}`"),
            "register a build of it with `controller builds add`",
        )
    })
}
