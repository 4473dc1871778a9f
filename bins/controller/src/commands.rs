//! Carries out the commands that ask a running controller.

use std::iter::repeat_n;

use inventory::{Environment, Instances};
use wire::api::{Answer, Ask, Pace, Run};

use crate::{
    builds, clock,
    command_line::{
        Asking, Assign, Builds, BuildsVerb, InstancesVerb, Machines, MachinesVerb, OfInstances,
        Plans, PlansVerb, Release, Unassign, Which,
    },
    failure::{Failure, FailureKind},
    folder::Folder,
    follow, freeing,
    output::{Asks, Confirmed, Output},
    shown,
    socket::Client,
};

/// Asks the controller that runs on this folder.
pub(crate) async fn run(asking: Asking, folder: &Folder, output: &Output) -> Result<(), Failure> {
    let mut client = Client::connect(folder).await?;
    let ask = match asking {
        Asking::Builds(Builds { verb: Some(BuildsVerb::Add { path, commit }), module: _ }) => {
            let registered = builds::add(folder, &mut client, &path, commit).await?;
            return output.answer(&registered, shown::registered);
        }
        Asking::Release(release) if release.wait => {
            return begin_and_follow(&mut client, folder, release_of(release), output).await;
        }
        Asking::Release(release) => release_of(release),
        Asking::Plans(Plans { verb: Some(PlansVerb::Retry { plan, wait: true }) }) => {
            return begin_and_follow(&mut client, folder, Ask::Retry { plan }, output).await;
        }
        Asking::Plans(Plans { verb: Some(PlansVerb::Retry { plan, wait: false }) }) => {
            Ask::Retry { plan }
        }
        Asking::Plans(Plans { verb: Some(PlansVerb::Stop { plan, yes }) }) => {
            if !yes {
                confirm(output, &format!("stop plan {plan} and put back what it moved?"))?;
            }
            Ask::Stop { plan }
        }
        Asking::Unassign(Unassign { module, to, yes }) => {
            if !yes {
                confirm(output, &format!("stop {module} on {to}?"))?;
            }
            Ask::Unassign { module, to }
        }
        Asking::Assign(assign) => assignment(assign)?,
        Asking::Machines(Machines { verb: Some(MachinesVerb::Books { machine, module }) }) => {
            return freeing::books(&mut client, machine, module, output).await;
        }
        Asking::Instances(OfInstances { verb: Some(InstancesVerb::Retry(retry)), which: _ }) => {
            return freeing::retry(&mut client, folder, retry, output).await;
        }
        Asking::Promote(promote) => {
            return freeing::promote(&mut client, folder, promote, output).await;
        }
        Asking::Rollback(rollback) => {
            return freeing::rollback(&mut client, folder, rollback, output).await;
        }
        Asking::Instances(OfInstances { verb: Some(InstancesVerb::List(which)), which: _ })
        | Asking::Instances(OfInstances { verb: None, which }) => {
            let Which { module, machine } = which;
            Ask::Instances { module, machine }
        }
        Asking::Machines(Machines { verb: None | Some(MachinesVerb::List) }) => Ask::Machines,
        Asking::Modules => Ask::Modules,
        Asking::Builds(Builds { verb: Some(BuildsVerb::List { module }), module: _ })
        | Asking::Builds(Builds { verb: None, module }) => Ask::Builds { module },
        Asking::Plans(Plans { verb: None | Some(PlansVerb::List) }) => Ask::Plans,
        Asking::Plans(Plans { verb: Some(PlansVerb::Show { plan }) }) => Ask::Plan { plan },
        Asking::Gates => Ask::Gates,
        Asking::Conditions => Ask::Conditions,
        Asking::Push { machine } => Ask::Push { machine },
    };
    show(&client.ask(ask).await?, output)
}

fn show(answer: &Answer, output: &Output) -> Result<(), Failure> {
    match answer {
        Answer::Machines(machines) => output
            .answer(machines, |machines, paint| shown::machines(machines, clock::now(), paint)),
        Answer::Modules(modules) => output.answer(modules, |all, paint| shown::modules(all, paint)),
        Answer::Builds(builds) => output.answer(builds, |all, paint| shown::builds(all, paint)),
        Answer::Plans(plans) => output.answer(plans, |all, paint| shown::plans(all, paint)),
        Answer::Plan(plan) => output.answer(plan, |plan, paint| shown::plan(plan, paint)),
        Answer::Gates(gates) => output.answer(gates, |all, paint| shown::gates(all, paint)),
        Answer::Conditions(conditions) => {
            output.answer(conditions, |all, paint| shown::conditions(all, paint))
        }
        Answer::Registered(registered) => output.answer(registered, shown::registered),
        Answer::Released(released) => output.answer(&**released, shown::released),
        Answer::Instances(instances) => {
            output.answer(instances, |all, paint| shown::instances(all, paint))
        }
        Answer::Book(_) | Answer::Said(_) | Answer::Pointed(_) | Answer::Pointers(_) => {
            Err(Failure::failed("the controller answered something else than was asked"))
        }
        Answer::Done(done) => output.answer(done, |done, _| done.clone()),
        Answer::Refused(refusal) => Err(refusal.clone().into()),
    }
}

fn confirm(output: &Output, question: &str) -> Result<(), Failure> {
    match output.asks {
        Asks::Nobody => {
            let what = format!("this must be confirmed: {question}");
            Err(Failure::new(FailureKind::Usage, what).hint("say --yes where nobody can be asked"))
        }
        Asks::Person => match output.confirm(question)? {
            Confirmed::Yes => Ok(()),
            Confirmed::No => Err(Failure::failed("nothing was done")),
        },
    }
}

fn assignment(assign: Assign) -> Result<Ask, Failure> {
    let Assign { module, to, instances, env } = assign;
    let mut environment = Environment::new();
    for (name, value) in env {
        if environment.insert(name.clone(), value).is_some() {
            let what = format!("the variable {name} is given twice");
            return Err(Failure::new(FailureKind::Usage, what));
        }
    }
    // Bounded before it is made, since a flag can hold any number.
    let copies = instances.min(Instances::COUNT_MAX + 1);
    let instances = Instances::new(repeat_n(environment, copies).collect())
        .map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))?;
    Ok(Ask::Assign { module, to, instances })
}

fn release_of(release: Release) -> Ask {
    let Release { builds, now, reason, dry_run, wait: _ } = release;
    let pace = match reason {
        Some(why) if now => Pace::Now { why },
        Some(_) | None => Pace::InTurn,
    };
    let run = if dry_run { Run::Dry } else { Run::Real };
    Ask::Release { builds, pace, run }
}

/// Asks for a plan and follows it. Where every machine runs it already, there is none to follow.
async fn begin_and_follow(
    client: &mut Client,
    folder: &Folder,
    ask: Ask,
    output: &Output,
) -> Result<(), Failure> {
    let answer = client.ask(ask).await?;
    if let Answer::Released(released) = &answer {
        return follow::follow(client, folder, released.plan.clone(), output).await;
    }
    show(&answer, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(instances: usize, env: &[(&str, &str)]) -> Result<Ask, Failure> {
        let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let (module, to) = ("hello".parse().unwrap(), "box-1".parse().unwrap());
        assignment(Assign { module, to, instances, env })
    }

    #[test]
    fn each_copy_gets_the_environment() {
        let Ok(Ask::Assign { instances, .. }) = assign(2, &[("A", "1"), ("B", "")]) else {
            panic!("two copies are an assignment")
        };
        assert_eq!(instances.environments().len(), 2);
        for environment in instances.environments() {
            assert_eq!(environment.get("A").map(String::as_str), Some("1"));
        }
    }

    #[test]
    fn no_copies_too_many_and_a_variable_twice_are_usage_errors() {
        for refused in [
            assign(0, &[]),
            assign(100, &[]),
            assign(usize::MAX, &[]),
            assign(1, &[("A", "1"), ("A", "2")]),
        ] {
            assert_eq!(refused.unwrap_err().kind, FailureKind::Usage);
        }
    }
}
