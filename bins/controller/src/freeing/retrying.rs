//! `instances retry`: asks the machine's book, signs a grant for exactly what it says, and says what came of it.

use std::{collections::BTreeSet, time::Duration};

use keys::SecretKey;
use names::{BuildId, InstanceName, MachineName, ModuleName, WordId};
use serde::Serialize;
use tokio::time::{Instant, sleep};
use wire::{
    BookState, BookStatus, Freed, HeldInstance, ModuleOutcome, RefusedBecause, ResourceState, Word,
    WordReply,
    api::{InstanceView, Question},
    signed::{GrantTerms, NotIssued, Signer, issue_grant},
};

use super::{frees, held, operator::operator, refused};
use crate::{
    clock,
    command_line::Retry,
    failure::{Failure, FailureKind, chain},
    folder::Folder,
    ids,
    output::Output,
    shown,
    socket::Client,
};

/// How often it is looked whether something came of it.
const EVERY: Duration = Duration::from_millis(250);

/// How long is waited for that: a build that is installed, started and checked slowly.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// An instance that was freed.
#[derive(Debug, Serialize)]
pub(crate) struct Retried {
    pub(crate) machine: MachineName,
    pub(crate) module: ModuleName,
    pub(crate) instance: InstanceName,
    /// The build that it may try again.
    pub(crate) build: BuildId,
    /// The grant that freed it.
    pub(crate) grant: WordId,
    pub(crate) freed: Vec<Freed>,
    /// How it stands, where that was waited for.
    pub(crate) stands: Option<InstanceView>,
}

/// Frees it, and with `--wait` follows it until it runs.
pub(crate) async fn retry(
    client: &mut Client,
    folder: &Folder,
    retry: Retry,
    output: &Output,
) -> Result<(), Failure> {
    let key = operator(retry.key.file.as_deref(), folder)?;
    let before = find(client, &retry).await?;
    let mut retried = grant(client, &key, &before, retry.build.as_deref()).await?;
    if !retry.wait {
        output.answer(&retried, shown::retried)?;
        let (machine, module) = (&before.machine, &before.module);
        let look = format!("controller instances --module {module} --machine {machine}");
        output.status(&format!("it goes on by itself; what becomes of it: {look}"));
        return Ok(());
    }
    output.status(&format!("freed; waiting for what becomes of it on {}", before.machine));
    let (stands, outcome) = follow(client, folder, &before).await?;
    retried.stands = Some(stands);
    output.answer(&retried, shown::retried)?;
    outcome
}

/// The instance that is meant.
async fn find(client: &mut Client, retry: &Retry) -> Result<InstanceView, Failure> {
    let all = client.instances(None, retry.machine.clone()).await?;
    choose(all, &retry.instance)
}

/// Of several of that name the one that is held. Which one is not guessed.
fn choose(all: Vec<InstanceView>, name: &InstanceName) -> Result<InstanceView, Failure> {
    let mut named: Vec<_> = all.into_iter().filter(|it| it.instance == *name).collect();
    if named.len() > 1 {
        let is_held = |it: &InstanceView| it.held.as_ref().is_none_or(|held| !held.is_empty());
        let known_free = named.iter().all(|it| !is_held(it));
        if known_free {
            let what = format!("nothing holds {name} on any machine, as they last reported");
            return Err(Failure::failed(what).hint("see controller instances"));
        }
        named.retain(is_held);
    }
    match named.as_slice() {
        [] => Err(Failure::failed(format!("there is no instance `{name}`"))
            .hint("see controller instances")),
        [_] => Ok(named.remove(0)),
        several => {
            let machines = shown::list(several.iter().map(|it| &it.machine));
            let what = format!("{name} is on several machines where it may be held: {machines}");
            Err(Failure::new(FailureKind::Usage, what).hint("say which: --machine MACHINE"))
        }
    }
}

/// Asks the book, and hands over a grant for what it says. Where the book changed in between, it is asked anew, once.
async fn grant(
    client: &mut Client,
    key: &SecretKey,
    of: &InstanceView,
    build: Option<&str>,
) -> Result<Retried, Failure> {
    let mut is_first = true;
    loop {
        let status = client.book(of.machine.clone(), Some(of.module.clone())).await?;
        let held = held_by(&status, &of.instance, build)?;
        let now = clock::now();
        let id = ids::word(now)?;
        let terms = GrantTerms { id: id.clone(), issued_at: now, term: None };
        let signed = issue_grant(&of.machine, held, terms, key).map_err(not_issued)?;
        let question = Question::Word(Word::Grant(signed));
        match client.say(of.machine.clone(), question).await? {
            WordReply::Taken { freed } => {
                return Ok(Retried {
                    machine: of.machine.clone(),
                    module: of.module.clone(),
                    instance: of.instance.clone(),
                    build: held.build.clone(),
                    grant: id,
                    freed,
                    stands: None,
                });
            }
            WordReply::Refused {
                because: RefusedBecause::OtherGeneration | RefusedBecause::OtherBook,
                ..
            } if is_first => is_first = false,
            WordReply::Refused { because, why } => {
                return Err(refused(&of.machine, (because, &why), key.public_key()));
            }
        }
    }
}

/// What holds the instance: by one build, the one that was named or the only one.
fn held_by<'a>(
    status: &'a BookStatus,
    instance: &InstanceName,
    build: Option<&str>,
) -> Result<&'a HeldInstance, Failure> {
    let machine = &status.machine;
    match &status.book {
        BookState::Open { .. } => {}
        BookState::Unusable { why } => {
            let what = format!(
                "the failure book of {machine} cannot be used, so it takes no grant: {why}"
            );
            return Err(Failure::failed(what).hint(format!("on {machine}: node-agent doctor")));
        }
        BookState::Other => {
            let what =
                format!("how the failure book of {machine} stands is not known to this version");
            return Err(Failure::failed(what).hint("upgrade this program"));
        }
    }
    let is_meant = |held: &&HeldInstance| {
        let id = held.build.as_str();
        held.instance == *instance
            && build.is_none_or(|text| id == text || (text.len() >= 4 && id.ends_with(text)))
    };
    let meant: Vec<_> = held(status).iter().filter(is_meant).collect();
    let builds: BTreeSet<_> = meant.iter().map(|held| &held.build).collect();
    if builds.len() > 1 {
        let what = format!("several builds hold {instance} on {machine}, and a grant is for one");
        let failure = Failure::new(FailureKind::Usage, what);
        let mut commands: Vec<_> = meant.iter().map(|held| frees(status, held)).collect();
        commands.dedup();
        return Err(commands.into_iter().fold(failure, Failure::hint));
    }
    // Several rules of one build have one generation; any that is published names it.
    let published = meant.iter().find(|held| held.generation.is_some());
    published.or(meant.first()).copied().ok_or_else(|| {
        let of_build = build.map(|build| format!(" against build {build}")).unwrap_or_default();
        Failure::failed(format!(
            "nothing holds {instance} on {machine}{of_build}: there is nothing to free"
        ))
        .hint(format!("see what it holds: controller machines books {machine}"))
    })
}

fn not_issued(error: NotIssued) -> Failure {
    let failure = Failure::failed(chain(&error));
    match error {
        NotIssued::NotPublished { machine, .. } => failure.hint(format!(
            "give the command again in a moment; if that stays so, look at the disk of {machine}: controller conditions"
        )),
        NotIssued::Term(_) | NotIssued::Rotation(_) | NotIssued::Sign(_) => failure,
    }
}

/// Looks until the machine has reported anew, and how that stands is known. A controller that is away is waited for.
async fn follow(
    client: &mut Client,
    folder: &Folder,
    before: &InstanceView,
) -> Result<(InstanceView, Result<(), Failure>), Failure> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        sleep(EVERY).await;
        let late = Instant::now() >= deadline;
        match client.instances(Some(before.module.clone()), Some(before.machine.clone())).await {
            Ok(all) => {
                let now = all.into_iter().find(|it| it.instance == before.instance);
                let Some(now) = now else {
                    let what = format!("{} is declared there no longer", before.instance);
                    return Err(Failure::failed(what));
                };
                if let Some(outcome) = outcome(before, &now) {
                    return Ok((now, outcome));
                }
                if late {
                    let what = format!("nothing came of it within {} min", WAIT_MAX.as_secs() / 60);
                    let failure = Failure::failed(what).hint("see controller conditions");
                    return Ok((now, Err(failure)));
                }
            }
            Err(failure) if failure.kind == FailureKind::Unreachable && !late => {
                if let Ok(again) = Client::connect(folder).await {
                    *client = again;
                }
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// What became of it; `None` while that is not known. What was reported before it was freed says nothing.
fn outcome(before: &InstanceView, now: &InstanceView) -> Option<Result<(), Failure>> {
    if now.report <= before.report {
        return None;
    }
    let (instance, machine) = (&now.instance, &now.machine);
    match now.outcome.as_ref()? {
        ModuleOutcome::Applied => {
            let runs = now.runs.as_ref()?;
            let is_well = runs.build == now.build && runs.state == ResourceState::Healthy;
            is_well.then_some(Ok(()))
        }
        ModuleOutcome::Failed { instance, why } => {
            let what = format!("{instance} on {machine} was tried, and failed again: {why}");
            Some(Err(Failure::failed(what)
                .hint(format!("what holds it now: controller machines books {machine}"))))
        }
        ModuleOutcome::Refused { rule } => {
            let what = format!("{machine} does not start {instance} yet: {rule}");
            Some(Err(Failure::failed(what)
                .hint(format!("what holds it now: controller machines books {machine}"))))
        }
        // It goes on trying by itself.
        ModuleOutcome::Unable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use inventory::DeclarationNumber;
    use wire::api::{MachineState, ReportPlace, RunView};

    use super::*;

    fn instance(revision: u64, outcome: ModuleOutcome, state: ResourceState) -> InstanceView {
        let build: BuildId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        InstanceView {
            machine: "box-1".parse().unwrap(),
            heard: MachineState::Heard,
            module: "blog".parse().unwrap(),
            instance: "blog-1".parse().unwrap(),
            build: build.clone(),
            commit: None,
            runs: Some(RunView { build, commit: None, state, why: None }),
            outcome: Some(outcome),
            report: Some(ReportPlace { declaration: DeclarationNumber(3), revision }),
            held: None,
        }
    }

    #[test]
    fn what_was_reported_before_says_nothing_of_what_became_of_it() {
        let refused = || ModuleOutcome::Refused { rule: "held".into() };
        let before = instance(7, refused(), ResourceState::Failed);
        let became = |revision, outcome, state| {
            outcome_of(&before, revision, outcome, state).map(|it| it.is_ok())
        };
        assert_eq!(became(7, refused(), ResourceState::Failed), None, "the same report");
        assert_eq!(became(8, refused(), ResourceState::Failed), Some(false));
        assert_eq!(became(8, ModuleOutcome::Applied, ResourceState::Starting), None);
        assert_eq!(became(8, ModuleOutcome::Applied, ResourceState::Healthy), Some(true));
        let unable =
            ModuleOutcome::Unable { because: wire::UnableBecause::Disk, why: "no room".into() };
        assert_eq!(became(8, unable, ResourceState::Stopped), None, "it goes on trying");
    }

    fn outcome_of(
        before: &InstanceView,
        revision: u64,
        said: ModuleOutcome,
        state: ResourceState,
    ) -> Option<Result<(), Failure>> {
        outcome(before, &instance(revision, said, state))
    }

    #[test]
    fn of_several_the_held_one_is_meant_and_none_is_guessed() {
        let on = |machine: &str, held: Option<usize>| {
            let view = instance(1, ModuleOutcome::Applied, ResourceState::Healthy);
            let one = HeldInstance {
                instance: view.instance.clone(),
                account: Default::default(),
                module: view.module.clone(),
                build: view.build.clone(),
                rule: wire::HeldBy::Record,
                since: None,
                mode: None,
                reason: None,
                generation: None,
                book: "65a6b958f8fc0329e3503992f3e40e10".parse().unwrap(),
            };
            let held = held.map(|number| vec![one; number]);
            InstanceView { machine: machine.parse().unwrap(), held, ..view }
        };
        let name = "blog-1".parse().unwrap();
        let chosen = |all: &[InstanceView]| {
            choose(all.to_vec(), &name).map(|it| it.machine.to_string()).map_err(|it| it.kind)
        };
        let (free, held) = (on("box-1", Some(0)), on("box-2", Some(1)));
        assert_eq!(chosen(&[free.clone(), held.clone()]), Ok("box-2".to_owned()));
        assert_eq!(
            chosen(core::slice::from_ref(&free)),
            Ok("box-1".to_owned()),
            "its book is asked"
        );
        assert_eq!(chosen(&[free.clone(), on("box-3", Some(0))]), Err(FailureKind::Failed));
        assert_eq!(chosen(&[held, on("box-3", None)]), Err(FailureKind::Usage), "who knows");
        assert_eq!(chosen(&[]), Err(FailureKind::Failed));
    }
}
