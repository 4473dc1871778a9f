//! What people ask, checked against all that is known and made into a step.

mod assign;
mod end_plan;
mod register;
mod release;

use chrono::{DateTime, Utc};
use wire::api::{Answer, Ask, Refusal, RefusalKind};

use crate::{
    sighting::Delivery,
    state::State,
    step::{Effect, Step},
    view,
};

/// Who asks, when, and the id that whatever is made of it may take.
#[derive(Debug, Clone, Copy)]
pub struct Asking<'a> {
    /// Who: kept with every change.
    pub sender: &'a str,
    /// When.
    pub now: DateTime<Utc>,
    /// A ULID that was never used.
    pub fresh: &'a str,
}

/// What is to be done and then answered. Where nothing has to be done the step is empty.
pub(crate) type Decided = Result<(Step, Answer), Refusal>;

/// Decides on a request.
pub(crate) fn ask(state: &State, asking: Asking<'_>, ask: Ask) -> Decided {
    let told = |answer| Ok((Step::default(), answer));
    let now = asking.now;
    match ask {
        Ask::Machines => told(Answer::Machines(view::machines(state, now))),
        Ask::Modules => told(Answer::Modules(view::modules(state))),
        Ask::Builds { module: Some(module) } if !state.records.modules.contains_key(&module) => {
            Err(unknown(format!("there is no module `{module}`"), "see `controller modules`"))
        }
        Ask::Builds { module } => told(Answer::Builds(view::builds(state, module.as_ref()))),
        Ask::Plans => told(Answer::Plans(view::plans(state, now))),
        Ask::Plan { plan } => {
            told(Answer::Plan(Box::new(view::plan(state, end_plan::find(state, &plan)?, now))))
        }
        Ask::Gates => told(Answer::Gates(view::gates(state))),
        Ask::Conditions => told(Answer::Conditions(view::conditions(state))),
        Ask::Register(registration) => register::register(state, asking, *registration),
        Ask::Assign { module, to, instances } => assign::assign(state, &module, to, instances),
        Ask::Unassign { module, to } => assign::unassign(state, &module, &to),
        Ask::Release { builds, pace, run } => release::release(state, asking, &builds, pace, run),
        Ask::Retry { plan } => release::retry(state, asking, &plan),
        Ask::Stop { plan } => end_plan::stop(state, asking, &plan),
        Ask::Push { machine } => {
            let declared = state.records.declared.get(&machine);
            let declared = declared.ok_or_else(|| {
                unknown(
                    format!("no machine `{machine}` was ever declared anything"),
                    "see `controller machines`",
                )
            })?;
            let number = declared.declaration.number;
            let taken = state.sightings.get(&machine).map(|sighting| &sighting.delivery);
            let again = if matches!(taken, Some(Delivery::Taken { .. })) { " again" } else { "" };
            let mut step = Step::new(format!("{} pushes to {machine}", asking.sender));
            step.then.push(Effect::Send(Box::new(declared.declaration.clone())));
            Ok((step, Answer::Done(format!("declaration {number} is sent to {machine}{again}"))))
        }
    }
}

pub(crate) fn unknown(why: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal { kind: RefusalKind::Unknown, why: why.into(), hint: Some(hint.into()) }
}

pub(crate) fn rule(why: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal { kind: RefusalKind::Rule, why: why.into(), hint: Some(hint.into()) }
}
