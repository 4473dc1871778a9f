//! Removing builds that nobody needs any more.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use names::{BuildId, ModuleName};

use crate::entry::{self, Identity};
use crate::install::{record, sweep};

/// Removes every installed build that is not in `keep` and that no workload was started from, and says which. A build is
/// moved aside first and removed then, so that an interruption leaves it whole or gone.
pub(super) fn collect(
    root: &Path,
    keep: &BTreeSet<(ModuleName, BuildId)>,
) -> BTreeSet<(ModuleName, BuildId)> {
    let mut removed = BTreeSet::new();
    // Whoever asks keeps what runs. Should it be mistaken, no workload loses the ground that it stands on.
    let Some(used) = used(root) else { return removed };
    for module in folders(&root.join("builds")) {
        let Some(name) = name(&module).and_then(|name| ModuleName::new(name).ok()) else {
            continue;
        };
        let mut is_touched = false;
        for build in folders(&module) {
            let id = self::name(&build).and_then(|name| BuildId::new(name).ok());
            // What is no build, nobody here put there.
            let Some(id) = id else { continue };
            if keep.contains(&(name.clone(), id.clone())) || used.contains(&build) {
                continue;
            }
            // On a disk that takes no writes, everything stays.
            if sweep::throw_away(root, &build).is_ok() {
                is_touched = true;
                removed.insert((name.clone(), id));
            }
        }
        is_touched |= remove_records(&module);
        if is_touched {
            // What is removed next must not come back half after a power cut.
            let _ = File::open(&module).and_then(|module| module.sync_all());
        }
        // It goes if nothing is left in it.
        let _ = fs::remove_dir(&module);
    }
    removed
}

/// Removes the records of builds that are not there.
fn remove_records(module: &Path) -> bool {
    let mut is_touched = false;
    for entry in fs::read_dir(module).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_record = path.extension().is_some_and(|extension| extension == record::EXTENSION);
        if is_record && !path.with_extension("").exists() {
            is_touched |= sweep::remove(&path).is_ok();
        }
    }
    is_touched
}

/// The builds from which workloads were started that live; `None` when that cannot be told of one.
fn used(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let mut used = BTreeSet::new();
    for shim in folders(&entry::all(root)) {
        match entry::kept(&shim) {
            Some((_, errand)) => {
                used.insert(errand.folder);
            }
            None if Identity::read(&shim).is_some_and(|one| one.shim.is_alive()) => return None,
            None => {}
        }
    }
    Some(used)
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}
