//! Finding what an earlier engine started: shims by their folders and by who they are, never by a bare number.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use crate::engine::remains;
use crate::engine::shimmed::{self, End, Shimmed, Start};
use crate::entry::{self, Identity, Keepsake, Who};
use crate::proc;
use crate::shim::{Errand, Fact};

/// A workload that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) keepsake: Keepsake,
    pub(crate) errand: Errand,
    pub(crate) shimmed: Shimmed,
}

/// Takes hold of every workload that an earlier engine of this boot started, and of whose end nobody has heard. Whatever
/// else lies there is removed.
pub(crate) async fn adopt(root: &Path, boot: &str, shim: &[OsString]) -> io::Result<Vec<Found>> {
    let word = shim.last().cloned().unwrap_or_default();
    let mut looking = JoinSet::new();
    for entry in fs::read_dir(entry::all(root))? {
        let folder = entry?.path();
        let (root, boot, word) = (root.to_owned(), boot.to_owned(), word.clone());
        looking.spawn(async move { look(&root, folder, &boot, &word).await });
    }
    let mut found: Vec<Found> = looking.join_all().await.into_iter().flatten().collect();
    let order = |one: &Found| (one.shimmed.workload().started, one.shimmed.workload().pid);
    found.sort_by_key(order);
    Ok(found)
}

async fn look(root: &Path, folder: PathBuf, boot: &str, word: &OsStr) -> Option<Found> {
    entry::mend(root, &folder);
    let Some(identity) = Identity::read(&folder) else {
        // Without an identity nothing was started, or will be: a shim starts nothing before it wrote one, and then only at
        // its engine's word. Should it be lost, whoever works in this folder is the shim.
        if let Some(shim) = proc::working_in(&folder, word) {
            let boot = boot.to_owned();
            remains::end(&Identity { shim, boot, group: None, workload: None }).await;
        }
        entry::remove(&folder);
        return None;
    };
    if identity.boot != boot {
        // Nothing lives longer than its boot.
        entry::remove(&folder);
        return None;
    }
    let Some((keepsake, errand)) = entry::kept(&folder) else {
        // It runs and nobody can tell what it is: nobody could look after it, and it would stand in the way.
        remains::end(&identity).await;
        entry::remove(&folder);
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
