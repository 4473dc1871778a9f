//! A new build is registered, and old ones make room.

use std::collections::BTreeSet;

use inventory::{Build, InUse, Module, Release, Standing, Waves, collect};
use names::BuildId;
use wire::api::{Answer, Refusal, RefusalKind, Registered, Registration};

use super::{Asking, Decided, rule};
use crate::{
    record::RecordKey,
    state::State,
    step::{Step, Write},
};

pub(super) fn register(state: &State, asking: Asking<'_>, registration: Registration) -> Decided {
    let id = BuildId::new(asking.fresh).map_err(|error| Refusal {
        kind: RefusalKind::Usage,
        why: error.to_string(),
        hint: None,
    })?;
    let mut names = BTreeSet::new();
    if let Some(twice) =
        registration.artifacts.iter().find(|artifact| !names.insert(&artifact.name))
    {
        return Err(Refusal {
            kind: RefusalKind::Usage,
            why: format!("the build has two artifacts named `{}`", twice.name),
            hint: Some("give each a name of its own".into()),
        });
    }
    let build = Build {
        id,
        commit: registration.commit,
        manifest: registration.manifest,
        artifacts: registration.artifacts,
        source_fingerprint: registration.source_fingerprint,
        registered_at: asking.now,
    };
    let content = build.content();
    if let Standing::Condemned(verdict) = state.records.verdicts.standing(&content) {
        return Err(rule(
            format!(
                "this build of {} is what failed its gate as {} (plan {}): {}",
                build.module(),
                verdict.build,
                verdict.plan,
                verdict.why.text
            ),
            format!(
                "change what is wrong with it; or ask for it once more with `controller plans retry {}`",
                verdict.plan
            ),
        ));
    }
    let is_same = |known: &&Build| state.records.content(&known.id) == Some(&content);
    if let Some(known) = state.records.builds_of(build.module()).rev().find(is_same) {
        return Ok((
            Step::default(),
            Answer::Registered(Registered { known: true, ..registered(known) }),
        ));
    }
    let mut step =
        Step::new(format!("{} registers {} {}", asking.sender, build.module(), build.commit));
    if !state.records.modules.contains_key(build.module()) {
        step.put(Module {
            account: names::AccountName::default(),
            name: build.module().clone(),
            registered: None,
            assignments: Vec::new(),
            release: Release::Manual,
            hold: None,
            waves: Waves::default(),
        });
    }
    let answer = Answer::Registered(registered(&build));
    forget_old(state, &build, &mut step);
    step.put(build);
    Ok((step, answer))
}

fn registered(build: &Build) -> Registered {
    Registered {
        module: build.module().clone(),
        build: build.id.clone(),
        commit: build.commit.clone(),
        known: false,
    }
}

/// Old builds of the module that nothing rests on make room for the new one.
fn forget_old(state: &State, new: &Build, step: &mut Step) {
    let of_module = state.records.builds_of(new.module()).chain([new]);
    let collection = collect(of_module, [], &in_use(state));
    for build in collection.collectable.into_iter().filter(|build| *build != new.id) {
        step.land.push(Write::Delete(RecordKey::Build(new.module().clone(), build)));
    }
}

/// What something rests on. Every build of a plan that has not ended counts, its targets and what it would put back.
fn in_use(state: &State) -> InUse {
    let records = &state.records;
    let unfinished = records.plans.values().filter(|plan| plan.is_open());
    let moves = unfinished.flat_map(|plan| plan.moves());
    let declared =
        records.declared.values().flat_map(|declared| declared.declaration.modules.values());
    let proven = records.modules.keys().filter_map(|module| records.last_proven(module));
    InUse {
        registered: records
            .modules
            .values()
            .filter_map(|module| module.registered.clone())
            .collect(),
        declared: declared.map(|module| module.build.clone()).collect(),
        last_proven: proven.map(|build| build.id.clone()).collect(),
        rollback_targets: moves
            .flat_map(|it| it.from.iter().chain([&it.to]))
            .cloned()
            .collect::<BTreeSet<_>>(),
    }
}
