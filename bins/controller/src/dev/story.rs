//! The story that `dev` tells: which step comes next, decided from what the controller knows and from nothing else.
//!
//! No step is remembered anywhere but in the controller's own inventory. So a fleet that was killed at any moment goes on
//! with the step that it had come to, and a story that was told is not told again.

use names::{BuildId, MachineName, PlanId};
use wire::{
    ResourceState,
    api::{BuildView, MachineState, MachineView, ModuleView, PlanView, WaveState},
};

use super::chapter::Chapter;
use crate::shown;

/// How often a plan whose gate could not tell is tried again; a killed controller can be the reason.
const PLANS_MAX: usize = 3;

/// What the controller answered, all asked at about one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) machines: Vec<MachineView>,
    /// The sample's, once it has one.
    pub(crate) module: Option<ModuleView>,
    /// The sample's, the newest first.
    pub(crate) builds: Vec<BuildView>,
    /// Those that move the sample, the newest first.
    pub(crate) plans: Vec<PlanView>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Register this chapter's build.
    Register(Chapter),
    /// Assign the sample to the fleet.
    Assign,
    /// Release this build.
    Release(Chapter, BuildId),
    /// Try again what a plan could not tell.
    Retry(PlanId),
    /// Nothing: something is on its way. In words, what.
    Wait(String),
    /// Nothing more: it went as it should.
    Told(Box<Told>),
    /// Nothing more: it went otherwise. In words, how.
    Broken(String),
}

/// A story that went as it should.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) good: BuildView,
    pub(crate) bad: BuildView,
    /// The machine that alone was sent the bad build.
    pub(crate) first: MachineName,
    pub(crate) machines: Vec<MachineView>,
}

/// Decides what comes next for this fleet.
pub(crate) fn next(seen: &Seen, fleet: &[MachineName]) -> Step {
    match to_the_end(seen, fleet) {
        Ok(told) => Step::Told(Box::new(told)),
        Err(step) => step,
    }
}

/// The story's stages in their order: the first that is not reached yet says what comes next.
fn to_the_end(seen: &Seen, fleet: &[MachineName]) -> Result<Told, Step> {
    heard(seen, fleet)?;
    let good = build(seen, Chapter::Good).ok_or(Step::Register(Chapter::Good))?;
    assigned(seen, fleet)?;
    proven(seen, good)?;
    if let Some(plan) = plan_of(seen, good).filter(|plan| !plan.ended) {
        return Err(under_way(plan, good));
    }
    let Some(bad) = build(seen, Chapter::Bad) else {
        runs_everywhere(seen, fleet, good)?;
        return Err(Step::Register(Chapter::Bad));
    };
    let first = only_first(condemned(seen, bad)?)?;
    if !bad.machines.is_empty() {
        return Err(wait(format!(
            "{} to be sent {} again",
            shown::list(&bad.machines),
            good.commit
        )));
    }
    runs_everywhere(seen, fleet, good)?;
    Ok(Told { good: good.clone(), bad: bad.clone(), first, machines: seen.machines.clone() })
}

fn wait(what: impl Into<String>) -> Step {
    Step::Wait(what.into())
}

fn build(seen: &Seen, chapter: Chapter) -> Option<&BuildView> {
    seen.builds.iter().find(|build| build.commit.as_str() == chapter.commit())
}

/// The newest plan that moves the sample onto this build.
fn plan_of<'a>(seen: &'a Seen, build: &BuildView) -> Option<&'a PlanView> {
    seen.plans.iter().find(|plan| moves(plan, build))
}

fn moves(plan: &PlanView, build: &BuildView) -> bool {
    plan.moves.iter().any(|one| one.to == build.build)
}

fn machine<'a>(seen: &'a Seen, name: &MachineName) -> Option<&'a MachineView> {
    seen.machines.iter().find(|machine| machine.machine == *name)
}

fn heard(seen: &Seen, fleet: &[MachineName]) -> Result<(), Step> {
    let away = fleet.iter().find(|name| {
        machine(seen, name).is_none_or(|machine| machine.state != MachineState::Heard)
    });
    away.map_or(Ok(()), |name| Err(wait(format!("{name} to be heard"))))
}

fn assigned(seen: &Seen, fleet: &[MachineName]) -> Result<(), Step> {
    let module = seen.module.as_ref().ok_or(Step::Assign)?;
    if fleet.iter().all(|name| module.machines.contains(name)) { Ok(()) } else { Err(Step::Assign) }
}

/// The good build passed its gate.
fn proven(seen: &Seen, good: &BuildView) -> Result<(), Step> {
    match good.standing.as_str() {
        "proven" => return Ok(()),
        "condemned" => {
            let why = good.why.as_deref().unwrap_or("nobody knows why");
            return Err(Step::Broken(format!("the good build was condemned: {why}")));
        }
        _ => {}
    }
    let plan = on_its_way(seen, good, Chapter::Good)?;
    Err(match plan.state.as_str() {
        "done" => wait(format!("{} to be proven", good.commit)),
        state => Step::Broken(format!("the good build's plan ended as {state}: {}", plan.note)),
    })
}

/// The bad build's gate failed, and nothing of its plan is left to be done.
fn condemned<'a>(seen: &'a Seen, bad: &BuildView) -> Result<&'a PlanView, Step> {
    if bad.standing == "proven" {
        return Err(Step::Broken("the gate let the bad build pass".to_owned()));
    }
    let plan = on_its_way(seen, bad, Chapter::Bad)?;
    match plan.state.as_str() {
        "failed" if bad.standing == "condemned" => Ok(plan),
        "failed" => Err(wait(format!("{} to be condemned", bad.commit))),
        state => {
            let what = format!("the bad build's plan ended as {state}: {}", plan.note);
            Err(Step::Broken(what))
        }
    }
}

/// The build's newest plan, once it has ended and could tell.
fn on_its_way<'a>(
    seen: &'a Seen,
    build: &BuildView,
    chapter: Chapter,
) -> Result<&'a PlanView, Step> {
    let Some(plan) = plan_of(seen, build) else {
        return Err(Step::Release(chapter, build.build.clone()));
    };
    if !plan.ended {
        return Err(under_way(plan, build));
    }
    let plans = seen.plans.iter().filter(|plan| moves(plan, build)).count();
    if plan.state == "cannot tell" && plans < PLANS_MAX {
        return Err(Step::Retry(plan.plan.clone()));
    }
    Ok(plan)
}

fn under_way(plan: &PlanView, build: &BuildView) -> Step {
    wait(format!("the plan of {} to end; {}: {}", build.commit, plan.state, plan.note))
}

/// The one machine that was sent what the plan moved.
fn only_first(plan: &PlanView) -> Result<MachineName, Step> {
    let sent = plan.waves.iter().filter(|wave| wave.state != WaveState::Waiting);
    let sent: Vec<_> = sent.flat_map(|wave| &wave.machines).collect();
    match sent[..] {
        [first] => Ok(first.clone()),
        _ => {
            let what =
                format!("the bad build was sent to {}, not to one machine", shown::list(sent));
            Err(Step::Broken(what))
        }
    }
}

/// Each machine holds what it was declared, and runs this build, healthy, and no other of the sample.
fn runs_everywhere(seen: &Seen, fleet: &[MachineName], good: &BuildView) -> Result<(), Step> {
    for name in fleet {
        let runs = machine(seen, name).is_some_and(|machine| {
            let mut of_sample =
                machine.resources.iter().filter(|resource| resource.module == good.module);
            let fine = |resource: &wire::api::ResourceView| {
                resource.build == good.build && resource.state == ResourceState::Healthy
            };
            machine.holds == machine.declared
                && of_sample.clone().count() > 0
                && of_sample.all(fine)
        });
        if !runs {
            return Err(wait(format!("{name} to run {} healthy", good.commit)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn fleet() -> Vec<MachineName> {
        ["box-1", "box-2", "box-3"].map(|name| name.parse().unwrap()).into()
    }

    fn machines(commit: &str) -> Vec<MachineView> {
        let healthy =
            |name: &MachineName| samples::machine(name.as_str(), commit, ResourceState::Healthy);
        fleet().iter().map(healthy).collect()
    }

    fn plan(commit: &str, state: &str) -> PlanView {
        let mut plan = samples::plan();
        plan.moves[0].to = samples::build_id(commit);
        plan.state = state.to_owned();
        plan.ended = !["queued", "sending", "judging", "putting back"].contains(&state);
        if plan.ended {
            plan.waves[0].state = WaveState::NotPassed;
        }
        plan
    }

    /// What is seen with these builds (commit and standing) and plans (commit and state), all machines healthy on `v1`.
    fn seen(builds: &[(&str, &str)], plans: &[(&str, &str)]) -> Seen {
        Seen {
            machines: machines("v1"),
            module: Some(samples::module_view(&["box-1", "box-2", "box-3"])),
            builds: builds
                .iter()
                .map(|(commit, standing)| samples::build(commit, standing))
                .collect(),
            plans: plans.iter().map(|(commit, state)| plan(commit, state)).collect(),
        }
    }

    fn word(step: &Step) -> String {
        match step {
            Step::Register(chapter) => format!("register {}", chapter.commit()),
            Step::Assign => "assign".to_owned(),
            Step::Release(chapter, _) => format!("release {}", chapter.commit()),
            Step::Retry(_) => "retry".to_owned(),
            Step::Wait(what) => format!("wait for {what}"),
            Step::Told(told) => format!("told, first was {}", told.first),
            Step::Broken(how) => format!("broken: {how}"),
        }
    }

    #[test]
    fn each_stage_is_recognised_from_what_the_controller_knows() {
        let unproven = [("v1", "unproven")];
        let proven = [("v1", "proven")];
        let second = [("v2", "unproven"), ("v1", "proven")];
        let condemned = [("v2", "condemned"), ("v1", "proven")];
        // Builds by commit and standing, plans by commit and state, and the step.
        type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a str);
        let cases: &[Case<'_>] = &[
            (&[], &[], "register v1"),
            (&unproven, &[], "release v1"),
            (&unproven, &[("v1", "queued")], "wait for the plan of v1 to end; queued: it begins"),
            (&unproven, &[("v1", "judging")], "wait for the plan of v1 to end; judging: it begins"),
            (&unproven, &[("v1", "cannot tell")], "retry"),
            (
                &unproven,
                &[("v1", "judging"), ("v1", "cannot tell")],
                "wait for the plan of v1 to end; judging: it begins",
            ),
            (
                &unproven,
                &[("v1", "cannot tell"); PLANS_MAX],
                "broken: the good build's plan ended as cannot tell: it begins",
            ),
            (&unproven, &[("v1", "done")], "wait for v1 to be proven"),
            (
                &unproven,
                &[("v1", "stopped")],
                "broken: the good build's plan ended as stopped: it begins",
            ),
            (
                &[("v1", "condemned")],
                &[("v1", "failed")],
                "broken: the good build was condemned: nobody knows why",
            ),
            // A build is proven by its first wave; the others follow.
            (&proven, &[("v1", "judging")], "wait for the plan of v1 to end; judging: it begins"),
            (&proven, &[("v1", "done")], "register v2"),
            (&second, &[("v1", "done")], "release v2"),
            (
                &second,
                &[("v2", "judging"), ("v1", "done")],
                "wait for the plan of v2 to end; judging: it begins",
            ),
            (
                &condemned,
                &[("v2", "putting back")],
                "wait for the plan of v2 to end; putting back: it begins",
            ),
            (&second, &[("v2", "failed")], "wait for v2 to be condemned"),
            (&second, &[("v2", "cannot tell")], "retry"),
            (&second, &[("v2", "done")], "broken: the bad build's plan ended as done: it begins"),
            (
                &[("v2", "proven"), ("v1", "proven")],
                &[("v2", "done")],
                "broken: the gate let the bad build pass",
            ),
            (&condemned, &[("v2", "failed"), ("v1", "done")], "told, first was box-1"),
            // The plan of the good build can be long gone.
            (&condemned, &[("v2", "failed")], "told, first was box-1"),
        ];
        for (builds, plans, expected) in cases {
            assert_eq!(
                word(&next(&seen(builds, plans), &fleet())),
                *expected,
                "{builds:?} {plans:?}"
            );
        }
    }

    fn told() -> Seen {
        seen(&[("v2", "condemned"), ("v1", "proven")], &[("v2", "failed"), ("v1", "done")])
    }

    #[test]
    fn the_end_is_looked_at_machine_by_machine() {
        type Case = (fn(&mut Seen), &'static str);
        let cases: [Case; 8] = [
            (|seen| seen.machines.truncate(2), "wait for box-3 to be heard"),
            (|seen| seen.machines[1].state = MachineState::Silent, "wait for box-2 to be heard"),
            (|seen| seen.module = None, "assign"),
            (|seen| seen.module.as_mut().unwrap().machines.truncate(2), "assign"),
            (
                |seen| seen.machines[0].resources[0].build = samples::build_id("v2"),
                "wait for box-1 to run v1 healthy",
            ),
            (
                |seen| seen.machines[2].resources[0].state = ResourceState::Unhealthy,
                "wait for box-3 to run v1 healthy",
            ),
            (|seen| seen.machines[1].resources.clear(), "wait for box-2 to run v1 healthy"),
            (
                |seen| seen.builds[0].machines = vec!["box-1".parse().unwrap()],
                "wait for box-1 to be sent v1 again",
            ),
        ];
        for (change, expected) in cases {
            let mut seen = told();
            change(&mut seen);
            assert_eq!(word(&next(&seen, &fleet())), expected);
        }
    }

    #[test]
    fn a_bad_build_that_went_further_is_no_good_end() {
        let mut seen = told();
        seen.plans[0].waves[1].state = WaveState::Judging;
        assert_eq!(
            word(&next(&seen, &fleet())),
            "broken: the bad build was sent to box-1, box-2, box-3, not to one machine"
        );
    }

    #[test]
    fn the_bad_build_waits_for_the_good_one_to_be_everywhere() {
        let mut seen = seen(&[("v1", "proven")], &[("v1", "done")]);
        seen.machines[2].resources[0].state = ResourceState::Starting;
        assert_eq!(word(&next(&seen, &fleet())), "wait for box-3 to run v1 healthy");
    }
}
