//! `controller builds add`: makes a build of a folder and registers it.

mod commit;
mod pack;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use inventory::Manifest;
use names::Commit;
use wire::api::{Registered, Registration};

pub(crate) use pack::sweep;

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

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = fs::metadata(path)?.len();
    if bytes > MANIFEST_BYTES_MAX {
        let what = format!("{bytes} bytes are more than the {MANIFEST_BYTES_MAX} allowed");
        return Err(io::Error::other(what));
    }
    fs::read(path)
}
