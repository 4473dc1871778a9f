//! Builds on the disk: fetched, verified, unpacked aside, and renamed into place whole.

mod archive;
mod fetch;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use host::{Bundle, InstallError};
use inventory::Artifact;
use names::{BuildId, ModuleName};
use rustix::fs::{statvfs, syncfs};

/// Up to so many files and folders are synced one by one, which leaves alone what others have to write; for more than that,
/// syncing the whole file system at once is quicker.
const SYNCED_ONE_BY_ONE_MAX: usize = 100;

/// Where what is not whole yet lies.
const INCOMING: &str = "incoming";

/// Where a build lies once it is whole: that it is there says that it is.
pub(crate) fn folder(root: &Path, module: &ModuleName, build: &BuildId) -> PathBuf {
    root.join("builds").join(module.as_str()).join(build.as_str())
}

/// Removes what an interrupted install left. What cannot be removed is tried again by the install that needs its place.
pub(crate) fn clean(root: &Path) {
    let _ = fs::remove_dir_all(root.join(INCOMING));
}

/// Installs a build from a folder of artifacts, or leaves nothing of it.
pub(crate) fn install(root: &Path, artifacts: &Path, bundle: &Bundle) -> Result<(), InstallError> {
    let target = folder(root, &bundle.module, &bundle.build);
    if target.is_dir() {
        return Ok(());
    }
    let aside = root.join(INCOMING).join(bundle.module.as_str()).join(bundle.build.as_str());
    let installed = build_aside(&aside, artifacts, bundle).and_then(|content| {
        put_in_place(&content, &target).map_err(|error| failure("placing the build", bundle, error))
    });
    let _ = fs::remove_dir_all(&aside);
    installed
}

/// Makes the whole build in a folder aside, and gives the folder that becomes the build's.
fn build_aside(aside: &Path, artifacts: &Path, bundle: &Bundle) -> Result<PathBuf, InstallError> {
    let content = aside.join("content");
    let ready = || {
        if aside.exists() {
            fs::remove_dir_all(aside)?;
        }
        fs::create_dir_all(&content)
    };
    ready().map_err(|error| failure("making a folder for the build", bundle, error))?;
    check_space(aside, bundle)?;
    for artifact in &bundle.artifacts {
        let fetched = aside.join(artifact.digest.as_str());
        fetch::fetch(artifacts, artifact, &fetched).map_err(|refused| match refused {
            fetch::Refused::Missing => {
                let (name, digest) = (artifact.name.clone(), artifact.digest.clone());
                InstallError::Missing { name, digest }
            }
            fetch::Refused::Mismatch(found) => {
                InstallError::Mismatch { name: artifact.name.clone(), found }
            }
            fetch::Refused::Io(error) => failure("fetching an artifact", bundle, error),
        })?;
        archive::place(artifact, &fetched, &content).map_err(|refused| match refused {
            archive::Refused::Unsafe(why) => {
                InstallError::Unsafe { name: artifact.name.clone(), why }
            }
            archive::Refused::Io(error) => failure("unpacking an artifact", bundle, error),
        })?;
    }
    Ok(content)
}

/// An archive needs its own room and at least as much again for what is in it.
fn check_space(aside: &Path, bundle: &Bundle) -> Result<(), InstallError> {
    let room = |artifact: &Artifact| {
        let copies = if archive::kind(artifact).is_some() { 2 } else { 1 };
        artifact.size.saturating_mul(copies)
    };
    let wanted = bundle.artifacts.iter().map(room).fold(0, u64::saturating_add);
    // A disk that does not say how full it is says so when it is written.
    let Ok(disk) = statvfs(aside) else { return Ok(()) };
    if disk.f_bavail.saturating_mul(disk.f_frsize) < wanted {
        return Err(InstallError::Full { build: bundle.build.clone() });
    }
    Ok(())
}

/// Renames only what is on the disk: after a power cut, a build that is there is whole.
fn put_in_place(content: &Path, target: &Path) -> io::Result<()> {
    let paths = everything(content)?;
    if paths.len() > SYNCED_ONE_BY_ONE_MAX {
        syncfs(File::open(content)?)?;
    } else {
        paths.iter().try_for_each(|path| File::open(path)?.sync_all())?;
    }
    let parent = target.parent().ok_or_else(|| io::Error::other("a build lies in no folder"))?;
    fs::create_dir_all(parent)?;
    fs::rename(content, target)?;
    File::open(parent)?.sync_all()?;
    // The module's folder may be new as well.
    parent.parent().map_or(Ok(()), |modules| File::open(modules)?.sync_all())
}

/// A folder and all folders and files in it; what links lead to is in it as itself.
fn everything(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        next += 1;
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_symlink() {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

fn failure(what: &str, bundle: &Bundle, error: io::Error) -> InstallError {
    let kind = error.kind();
    if matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        return InstallError::Full { build: bundle.build.clone() };
    }
    if kind == io::ErrorKind::ReadOnlyFilesystem {
        return InstallError::ReadOnly;
    }
    InstallError::Failed { what: what.to_owned(), source: error.into() }
}
