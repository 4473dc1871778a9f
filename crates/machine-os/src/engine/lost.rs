//! Shims of this host that no folder tells of any more: theirs was damaged beyond reading, or removed. Nobody could take hold
//! of them, and beside what is started in their place a second copy would run: so they are ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tokio::task::spawn_blocking;

use crate::engine::remains;
use crate::entry::{self, Identity, Who};
use crate::proc;
use crate::shim::MARK;

/// Ends every workload of this host whose shim has no folder, or none that can be read.
pub(super) async fn end(root: &Path, boot: &str) {
    let of = root.to_owned();
    let found = spawn_blocking(move || find(&of)).await.unwrap_or_default();
    for shim in found {
        let identity = Identity { shim, boot: boot.to_owned(), group: None, workload: None };
        remains::end(&identity).await;
    }
}

/// Whatever descends from a workload carries the mark of its shim. One of this host works in a folder of the host's, and so
/// does its workload, at least in the beginning.
fn find(root: &Path) -> Vec<Who> {
    let mut marked: BTreeMap<(u32, u64), Vec<u32>> = BTreeMap::new();
    for one in proc::all().unwrap_or_default().values().filter(|one| !one.is_zombie) {
        if let Some(shim) = mark(one.pid) {
            marked.entry(shim).or_default().push(one.pid);
        }
    }
    // Read after the processes were: whatever was seen had written who it is before. And should this engine be a workload
    // itself, it does not end itself.
    let mut known = known(root);
    known.extend(mark(std::process::id()));
    let is_here = |pid: u32| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder.starts_with(root))
    };
    let lost = marked.into_iter().filter(|(shim, _)| !known.contains(shim));
    let shims = lost.map(|((pid, started), tree)| (Who { pid, started }, tree));
    shims
        .filter(|(shim, tree)| {
            (shim.is_alive() && is_here(shim.pid)) || tree.iter().any(|pid| is_here(*pid))
        })
        .map(|(shim, _)| shim)
        .collect()
}

/// The shim whose workload a process descends from, by number and start time.
fn mark(pid: u32) -> Option<(u32, u64)> {
    let mark = proc::variable(pid, MARK)?;
    let (shim, started) = mark.split_once('.')?;
    Some((shim.parse().ok()?, started.parse().ok()?))
}

fn known(root: &Path) -> BTreeSet<(u32, u64)> {
    let folders = fs::read_dir(entry::all(root)).into_iter().flatten().flatten();
    let identities = folders.filter_map(|folder| Identity::read(&folder.path()));
    identities.map(|identity| (identity.shim.pid, identity.shim.started)).collect()
}
