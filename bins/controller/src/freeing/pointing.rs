//! `promote` and `rollback`: sign a pointer, hand it to the controller, and say what each machine says to it.

use std::time::Duration;

use names::{AccountName, BuildId, ModuleName};
use tokio::time::{Instant, sleep};
use wire::{
    WordReply,
    api::{BuildRef, MachineState, PointerView},
    signed::{Pointer, PointerKind, Signer, issue_pointer},
};

use super::{operator::operator, refused};
use crate::{
    clock,
    command_line::{Promote, Rollback, Said},
    failure::{Failure, FailureKind, chain},
    folder::Folder,
    ids,
    output::Output,
    shown,
    socket::Client,
};

/// How often it is looked who has answered.
const EVERY: Duration = Duration::from_millis(100);

/// How long machines that are heard have to answer; who does not is handed it again without anybody waiting.
const ANSWER_MAX: Duration = Duration::from_secs(6);

/// `controller promote`.
pub(crate) async fn promote(
    client: &mut Client,
    folder: &Folder,
    promote: Promote,
    output: &Output,
) -> Result<(), Failure> {
    let Promote { module, build, retry, said } = promote;
    let kind = if retry { PointerKind::PromoteRetry } else { PointerKind::Promote };
    let build = resolve(client, &module, build).await?;
    point(client, folder, (module, build, kind), said, output).await
}

/// `controller rollback`.
pub(crate) async fn rollback(
    client: &mut Client,
    folder: &Folder,
    rollback: Rollback,
    output: &Output,
) -> Result<(), Failure> {
    let Rollback { module, build, said } = rollback;
    let build = match build {
        Some(build) => resolve(client, &module, build).await?,
        None => registered(client, &module).await?,
    };
    point(client, folder, (module, build, PointerKind::Rollback), said, output).await
}

/// A build as people name it.
async fn resolve(
    client: &mut Client,
    module: &ModuleName,
    build: String,
) -> Result<BuildId, Failure> {
    let wanted = BuildRef { module: module.clone(), build: Some(build) };
    let builds = client.builds_of(module.clone()).await?;
    let found = builds.into_iter().find(|it| wanted.means(&it.build, &it.commit));
    found.map(|it| it.build).ok_or_else(|| {
        Failure::failed(format!("there is no build `{wanted}`"))
            .hint(format!("see controller builds {module}"))
    })
}

/// What the machines of a module run when nothing else says otherwise, and what a failed release puts back.
async fn registered(client: &mut Client, module: &ModuleName) -> Result<BuildId, Failure> {
    let modules = client.modules().await?;
    let found = modules.into_iter().find(|it| it.module == *module).ok_or_else(|| {
        Failure::failed(format!("there is no module `{module}`")).hint("see controller modules")
    })?;
    found.registered.map(|it| it.build).ok_or_else(|| {
        Failure::failed(format!("{module} has no registered build to go back to"))
            .hint(format!("name one of controller builds {module}"))
    })
}

async fn point(
    client: &mut Client,
    folder: &Folder,
    (module, build, kind): (ModuleName, BuildId, PointerKind),
    Said { channel, key }: Said,
    output: &Output,
) -> Result<(), Failure> {
    let key = operator(key.file.as_deref(), folder)?;
    let now = clock::now();
    let pointer = Pointer {
        id: ids::word(now)?,
        account: AccountName::default(),
        module,
        channel: channel.unwrap_or_default(),
        build,
        promoted_at: now,
        kind,
    };
    let signed = issue_pointer(&pointer, &key).map_err(|error| Failure::failed(chain(&error)))?;
    let mut view = *client.point(signed).await?;
    let deadline = Instant::now() + ANSWER_MAX;
    while view.machines.iter().any(|it| it.reply.is_none() && it.heard == MachineState::Heard)
        && Instant::now() < deadline
    {
        sleep(EVERY).await;
        let all = client.pointers(pointer.module.clone()).await?;
        let Some(again) = all.into_iter().find(|it| it.id == pointer.id) else {
            let what = "a newer pointer took its place meanwhile".to_owned();
            return Err(Failure::failed(what).hint("see who else promotes this module"));
        };
        view = again;
    }
    output.answer(&view, shown::pointer)?;
    outcome(&view, &key)
}

/// Whoever refused is a failure; whoever is silent hears it later.
fn outcome(view: &PointerView, key: &impl Signer) -> Result<(), Failure> {
    let refusals = view.machines.iter().filter_map(|it| match it.reply.as_ref()? {
        WordReply::Taken { .. } => None,
        WordReply::Refused { because, why } => Some((it, *because, why)),
    });
    let refusals: Vec<_> = refusals.collect();
    let Some((first, because, why)) = refusals.first() else { return Ok(()) };
    let mut failure = refused(&first.machine, (*because, why), key.public_key());
    if refusals.len() > 1 {
        failure.message =
            format!("{} refused it; {}", shown::count(refusals.len(), "machine"), failure.message);
    }
    if refusals.len() < view.machines.len() {
        // Something was changed: others have it, or will.
        failure.kind = FailureKind::Failed;
    }
    Err(failure)
}
