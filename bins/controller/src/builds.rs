//! `controller builds add`: makes a build of a folder and registers it.

mod commit;
mod pack;

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use inventory::Manifest;
use names::Commit;
use wire::api::{Registered, Registration};

pub(crate) use pack::NEW;

use crate::{
    failure::{Failure, FailureKind},
    folder::Folder,
    socket::Client,
};

/// The manifest's name in the folder of a build.
pub(crate) const MANIFEST: &str = "bellwether.toml";

/// The longest manifest, in bytes: one that is longer is another file.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024;

/// Packs the folder, places the result among the controller's artifacts, and registers the build.
pub(crate) async fn add(
    folder: &Folder,
    client: &mut Client,
    path: &Path,
    commit: Option<Commit>,
) -> Result<Registered, Failure> {
    let source = Source::at(path)?;
    let manifest = source.manifest()?;
    let packed = pack::pack(&source.folder, &manifest.module, &folder.artifacts())?;
    let commit = match commit {
        Some(commit) => commit,
        None => commit::of(&source.folder, &packed.artifact().digest).map_err(|error| {
            Failure::because("the build has no name; give it one: --commit", &error)
        })?,
    };
    let artifacts = vec![packed.place()?];
    let registration = Registration { commit, manifest, artifacts, source_fingerprint: None };
    client.register(registration).await
}

/// Where a build is made from.
#[derive(Debug)]
struct Source {
    folder: PathBuf,
    manifest: PathBuf,
}

impl Source {
    /// `path` is the folder or the manifest in it.
    fn at(path: &Path) -> Result<Self, Failure> {
        let is_folder = fs::metadata(path)
            .map_err(|error| {
                Failure::because(format!("{} cannot be read", path.display()), &error)
                    .hint(format!("give a folder that has a {MANIFEST}"))
            })?
            .is_dir();
        if is_folder {
            return Ok(Self { folder: path.to_owned(), manifest: path.join(MANIFEST) });
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new(".")).to_owned();
        Ok(Self { folder, manifest: path.to_owned() })
    }

    fn manifest(&self) -> Result<Manifest, Failure> {
        let path = self.manifest.display();
        let text = read_bounded(&self.manifest).map_err(|error| {
            let failure = Failure::because(format!("no manifest at {path}"), &error);
            failure.hint("a manifest says how a build is to be run; controller builds add --help")
        })?;
        Manifest::from_toml(text).map_err(|faults| {
            let faults = faults.in_file(&path.to_string()).to_string();
            let what = format!("the manifest has faults, so nothing was registered\n{faults}");
            Failure::new(FailureKind::Failed, what)
        })
    }
}

/// Whatever it is that is read, a file or something that has no end.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MANIFEST_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MANIFEST_BYTES_MAX {
        let what =
            format!("it has more than the {MANIFEST_BYTES_MAX} bytes that a manifest may have");
        return Err(io::Error::other(what));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_without_an_end_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("long.toml");
        fs::write(&long, vec![b' '; usize::try_from(MANIFEST_BYTES_MAX).unwrap() + 1]).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join(MANIFEST)).unwrap();
        for path in [dir.path(), &long] {
            let refused = Source::at(path).unwrap().manifest().unwrap_err();
            assert!(refused.message.contains("more than the 262144 bytes"), "{refused:?}");
        }
    }
}
