//! Finding what an earlier engine started: shims by their folders and by who they are, never by a bare number.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use crate::aside;
use crate::engine::shimmed::{self, End, Shimmed, Start};
use crate::engine::{lost, remains};
use crate::entry::{self, Identity, Keepsake, Who};
use crate::shim::{Errand, Fact};

/// A workload that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) keepsake: Keepsake,
    pub(crate) errand: Errand,
    pub(crate) shimmed: Shimmed,
}

/// Takes hold of every workload that an earlier engine of this boot started, and of whose end nobody has heard. Whatever
/// else lies there is removed, or set aside if it was damaged.
pub(crate) async fn adopt(root: &Path, boot: &str) -> io::Result<Vec<Found>> {
    let mut looking = JoinSet::new();
    for entry in fs::read_dir(entry::all(root))? {
        let (root, folder) = (root.to_owned(), entry?.path());
        let boot = boot.to_owned();
        looking.spawn(async move { look(&root, folder, &boot).await });
    }
    let mut found: Vec<Found> = looking.join_all().await.into_iter().flatten().collect();
    lost::end(root, boot).await;
    let order = |one: &Found| (one.shimmed.workload().started, one.shimmed.workload().pid);
    found.sort_by_key(order);
    Ok(found)
}

async fn look(root: &Path, folder: PathBuf, boot: &str) -> Option<Found> {
    entry::heal(&folder, |damaged| {
        // What cannot be moved is written over.
        let _ = aside::set_aside(root, damaged);
    });
    let identity = Identity::read(&folder).filter(|identity| identity.boot == boot);
    let Some(identity) = identity else {
        // Without an identity nothing was started, or will be: a shim starts nothing before it wrote one, and then only at
        // its engine's word. And nothing lives longer than its boot. Where an identity was and cannot be read any more, the
        // shim is found without it.
        if Identity::is_damaged(&folder) {
            set_aside(root, &folder);
        } else {
            entry::remove(&folder);
        }
        return None;
    };
    let Some((keepsake, errand)) = entry::kept(&folder) else {
        // It runs and nobody can tell what it is: nobody could look after it, and it would stand in the way.
        remains::end(&identity).await;
        set_aside(root, &folder);
        return None;
    };
    let output = errand.output.clone();
    let start = |identity: &Identity, workload| Start {
        identity: identity.clone(),
        workload,
        folder: Some(folder.clone()),
        output: output.clone(),
    };
    if identity.shim.is_alive()
        && let Ok((facts, Fact::Started { pid, started, execution })) =
            shimmed::connect(&folder, identity.shim).await
        && execution == keepsake.execution.as_str()
    {
        let workload = Who { pid, started };
        let identity = Identity { workload: Some(workload), ..identity };
        let shimmed = Shimmed::new(start(&identity, workload), facts);
        return Some(Found { keepsake, errand, shimmed });
    }
    // The shim is gone, or nobody can speak to it; or it was about to start something when its engine died.
    let workload = identity.workload.or(Identity::read(&folder).and_then(|one| one.workload));
    let end = match workload {
        Some(workload) => shimmed::found_over(&start(&identity, workload)).await,
        None => {
            remains::end(&identity).await;
            End { exit: host::Exit::Unknown, lines: Vec::new() }
        }
    };
    entry::remove(&folder);
    let shimmed = Shimmed::over(identity, workload?, end);
    Some(Found { keepsake, errand, shimmed })
}

/// Keeps the folder of a shim that cannot be read, for a person to look at.
fn set_aside(root: &Path, folder: &Path) {
    if aside::set_aside(root, folder).is_err() {
        entry::remove(folder);
    }
}
