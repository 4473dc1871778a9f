//! What people ask, checked against all that is known and made into a step.

mod assign;
mod end_plan;
mod point;
mod register;
mod release;

use chrono::{DateTime, Utc};
use names::{MachineName, ModuleName};
use wire::api::{Answer, Ask, Question, Refusal, RefusalKind};

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

/// What follows a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer.
    Told(Box<Answer>),
    /// This machine has the answer. It is asked, and what it says is believed of itself alone.
    Machine {
        /// Which.
        machine: MachineName,
        /// What it is asked.
        question: Box<Question>,
    },
}

/// Decides on a request.
pub(crate) fn ask(state: &State, asking: Asking<'_>, ask: Ask) -> Result<(Step, Reply), Refusal> {
    let told = |answer| Ok((Step::default(), answer));
    let now = asking.now;
    let decided: Decided = match ask {
        Ask::OfMachine { machine, question } => {
            known(state, &machine)?;
            return Ok((Step::default(), Reply::Machine { machine, question: Box::new(question) }));
        }
        Ask::Machines => told(Answer::Machines(view::machines(state, now))),
        Ask::Modules => told(Answer::Modules(view::modules(state))),
        Ask::Builds { module } => {
            known_module(state, module.as_ref())?;
            told(Answer::Builds(view::builds(state, module.as_ref())))
        }
        Ask::Instances { module, machine } => {
            known_module(state, module.as_ref())?;
            machine.iter().try_for_each(|machine| known(state, machine))?;
            let (module, machine) = (module.as_ref(), machine.as_ref());
            told(Answer::Instances(view::instances(state, now, module, machine)))
        }
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
        Ask::Push { machine } => push(state, asking, &machine),
        Ask::Point { pointer } => point::point(state, asking, pointer),
        Ask::Pointers { module } => {
            known_module(state, module.as_ref())?;
            told(Answer::Pointers(view::pointers(state, now, module.as_ref())))
        }
    };
    decided.map(|(step, answer)| (step, Reply::Told(Box::new(answer))))
}

fn push(state: &State, asking: Asking<'_>, machine: &MachineName) -> Decided {
    let declared = state.records.declared.get(machine).ok_or_else(|| {
        let why = format!("no machine `{machine}` was ever declared anything");
        unknown(why, "see `controller machines`")
    })?;
    let number = declared.declaration.number;
    let taken = state.sightings.get(machine).map(|sighting| &sighting.delivery);
    let again = if matches!(taken, Some(Delivery::Taken { .. })) { " again" } else { "" };
    let mut step = Step::new(format!("{} pushes to {machine}", asking.sender));
    step.then.push(Effect::Send(Box::new(declared.declaration.clone())));
    Ok((step, Answer::Done(format!("declaration {number} is sent to {machine}{again}"))))
}

fn known(state: &State, machine: &MachineName) -> Result<(), Refusal> {
    match state.records.machines.contains_key(machine) {
        true => Ok(()),
        false => {
            Err(unknown(format!("there is no machine `{machine}`"), "see `controller machines`"))
        }
    }
}

fn known_module(state: &State, module: Option<&ModuleName>) -> Result<(), Refusal> {
    match module.filter(|module| !state.records.modules.contains_key(*module)) {
        None => Ok(()),
        Some(module) => {
            Err(unknown(format!("there is no module `{module}`"), "see `controller modules`"))
        }
    }
}

pub(crate) fn unknown(why: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal { kind: RefusalKind::Unknown, why: why.into(), hint: Some(hint.into()) }
}

pub(crate) fn rule(why: impl Into<String>, hint: impl Into<String>) -> Refusal {
    Refusal { kind: RefusalKind::Rule, why: why.into(), hint: Some(hint.into()) }
}
