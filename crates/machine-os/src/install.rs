//! Builds on the disk: fetched, verified, unpacked aside, and renamed into place whole.
//!
//! | below the host's folder | what |
//! |---|---|
//! | `builds/MODULE/BUILD/` | a build, whole: that it is there says so |
//! | `builds/MODULE/BUILD.files` | what its files were when it was installed |
//! | `incoming/DIGEST.part` | an artifact, or as much of it as came; kept for the next try, within bounds |
//! | `incoming/content/` | the build that is being unpacked |
//! | `incoming/trash/` | what is being removed |
//!
//! Packed artifacts are not kept once their build is installed: every build would lie on the disk twice for as long as it is
//! kept, and putting one back needs what was unpacked alone.

mod archive;
mod collect;
mod fetch;
mod place;
mod record;
mod source;
mod sweep;
mod unpack;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, TryLockError};

use host::{Bundle, InstallError};
use inventory::Artifact;
use names::{BuildId, Digest, ModuleName};

use crate::disk::{Disk, Fault, Room};
use record::{Damage, Record};
use source::Folder;

/// Where what is not whole yet lies.
const INCOMING: &str = "incoming";
const CONTENT: &str = "content";

/// Where a build lies once it is whole: that it is there says that it is.
pub(crate) fn folder(root: &Path, module: &ModuleName, build: &BuildId) -> PathBuf {
    root.join("builds").join(module.as_str()).join(build.as_str())
}

/// The builds of one host.
#[derive(Debug)]
pub(crate) struct Builds {
    root: PathBuf,
    source: Folder,
    /// Held by whoever installs or removes: one at a time, so that room that was found free is still free when it is taken,
    /// and nothing is removed under somebody's hands.
    work: Mutex<()>,
}

impl Builds {
    /// Removes what an interrupted install or removal left. What cannot be removed now is removed by the next.
    pub(crate) fn open(root: PathBuf, artifacts: PathBuf) -> Self {
        sweep::sweep(&root, &BTreeSet::new());
        // On a disk that takes no writes, whoever needs them says so.
        let _ = sweep::make_folders(&root);
        Self { root, source: Folder(artifacts), work: Mutex::new(()) }
    }

    /// Installs a build, or leaves nothing that looks like it. One that is there is looked at and, if it was damaged, mended.
    pub(crate) fn install(&self, bundle: &Bundle) -> Result<(), InstallError> {
        let target = folder(&self.root, &bundle.module, &bundle.build);
        if is_whole(&target) {
            // An install that was interrupted at its very end left them.
            if let Ok(_work) = self.work.try_lock() {
                self.drop_parts(bundle);
            }
            return Ok(());
        }
        let _work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have been at it meanwhile.
        if is_whole(&target) {
            return Ok(());
        }
        let content = self.root.join(INCOMING).join(CONTENT);
        let installed = self.make(bundle, &content).and_then(|record| {
            let placed = match Record::read(&target).filter(|_| target.is_dir()) {
                None => place::put_in_place(&self.root, &content, &record, &target),
                Some(old) => place::mend(&self.root, &content, old, &record, &target),
            };
            placed.map_err(|error| failure("placing the build", bundle, error))
        });
        let _ = fs::remove_dir_all(&content);
        if installed.is_ok() {
            self.drop_parts(bundle);
        }
        installed.map_err(|error| match damage(&target).first() {
            Some(damage) => not_mended(bundle, damage, error),
            None => error,
        })
    }

    /// Removes builds that are not to be kept and what interrupted work left, unless somebody is installing.
    pub(crate) fn collect(
        &self,
        keep: &BTreeSet<(ModuleName, BuildId)>,
    ) -> BTreeSet<(ModuleName, BuildId)> {
        let _work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(work)) => work.into_inner(),
            Err(TryLockError::WouldBlock) => return BTreeSet::new(),
        };
        let removed = collect::collect(&self.root, keep);
        sweep::sweep(&self.root, &BTreeSet::new());
        removed
    }

    /// Makes the whole build in a folder aside.
    fn make(&self, bundle: &Bundle, content: &Path) -> Result<Record, InstallError> {
        let incoming = self.root.join(INCOMING);
        let ready = || {
            sweep::make_folders(&self.root)?;
            sweep::remove(content)?;
            fs::create_dir(content)
        };
        // A disk that is full has no room for a folder either, and may have some in a moment.
        self.check_room(bundle, &incoming, self.to_fetch(bundle))?;
        ready().map_err(|error| failure("making a folder for the build", bundle, error))?;
        for artifact in &bundle.artifacts {
            self.fetch(bundle, artifact)?;
        }
        let mut room = Room::default();
        for artifact in &bundle.artifacts {
            if let Some(kind) = archive::kind(artifact) {
                let surveyed = unpack::survey(kind, &self.part(&artifact.digest));
                room = room.and(surveyed.map_err(|refused| not_placed(bundle, artifact, refused))?);
            }
        }
        self.check_room(bundle, &incoming, room)?;
        let mut record = Record::default();
        for artifact in &bundle.artifacts {
            let part = self.part(&artifact.digest);
            if !part.exists() {
                // Placed already, under another name.
                self.fetch(bundle, artifact)?;
            }
            unpack::place(artifact, &part, content, &mut record)
                .map_err(|refused| not_placed(bundle, artifact, refused))?;
        }
        Ok(record)
    }

    fn fetch(&self, bundle: &Bundle, artifact: &Artifact) -> Result<(), InstallError> {
        let fetched = fetch::fetch(&self.source, artifact, &self.part(&artifact.digest));
        fetched.map_err(|refused| match refused {
            fetch::Refused::Missing => {
                let (name, digest) = (artifact.name.clone(), artifact.digest.clone());
                InstallError::Missing { name, digest }
            }
            fetch::Refused::Mismatch(found) => {
                InstallError::Mismatch { name: artifact.name.clone(), found }
            }
            fetch::Refused::Source(error) => {
                let what = format!("fetching the artifact `{}`", artifact.name);
                InstallError::Failed { what, source: error.into() }
            }
            fetch::Refused::Disk(error) => failure("writing an artifact", bundle, error),
        })
    }

    /// Removes what was fetched for a build that is in its place. What cannot be removed is when it is old.
    fn drop_parts(&self, bundle: &Bundle) {
        for artifact in &bundle.artifacts {
            let _ = fs::remove_file(self.part(&artifact.digest));
        }
    }

    fn part(&self, digest: &Digest) -> PathBuf {
        self.root.join(INCOMING).join(sweep::part(digest))
    }

    /// What has still to be fetched, and at least as much again for what is in an archive.
    fn to_fetch(&self, bundle: &Bundle) -> Room {
        let room = |artifact: &Artifact| {
            let held = self.part(&artifact.digest).metadata().map_or(0, |part| part.len());
            let packed = Room::of_file(artifact.size.saturating_sub(held));
            match archive::kind(artifact) {
                Some(_) => packed.and(Room::of_file(artifact.size)),
                None => packed,
            }
        };
        bundle.artifacts.iter().map(room).fold(Room::default(), Room::and)
    }

    /// Refuses what the disk has no room for beside its reserve. What earlier fetches left goes first.
    fn check_room(&self, bundle: &Bundle, at: &Path, wanted: Room) -> Result<(), InstallError> {
        let look = || {
            // A disk that does not say how full it is says so when it is written.
            let place = if at.is_dir() { at } else { &self.root };
            Disk::of(place).map_or(Ok(()), |disk| disk.takes(wanted))
        };
        let found = look().or_else(|_| {
            let needed = bundle.artifacts.iter().map(|artifact| sweep::part(&artifact.digest));
            sweep::make_room(&self.root, &needed.collect());
            look()
        });
        found.map_err(|fault| match fault {
            Fault::ReadOnly => InstallError::ReadOnly,
            Fault::Full | Fault::Other => InstallError::Full { build: bundle.build.clone() },
        })
    }
}

/// Whether a build is there, and as it was installed as far as can be seen.
fn is_whole(target: &Path) -> bool {
    target.is_dir() && damage(target).is_empty()
}

/// What of a build is damaged; nothing, if it is not there.
fn damage(target: &Path) -> Vec<Damage> {
    let record = Record::read(target).filter(|_| target.is_dir());
    record.map_or_else(Vec::new, |record| record.damage(target))
}

/// Says of a build that cannot be made good why that was tried at all: the build is not to blame.
fn not_mended(bundle: &Bundle, damage: &Damage, error: InstallError) -> InstallError {
    match error {
        InstallError::Full { .. } | InstallError::ReadOnly => error,
        InstallError::Missing { .. }
        | InstallError::Mismatch { .. }
        | InstallError::Unsafe { .. }
        | InstallError::Failed { .. } => {
            let (path, how) = (damage.path.display(), &damage.how);
            let build = &bundle.build;
            let what = format!("build {build} was damaged (`{path}` {how}), and mending it");
            InstallError::Failed { what, source: error.into() }
        }
    }
}

fn not_placed(bundle: &Bundle, artifact: &Artifact, refused: archive::Refused) -> InstallError {
    match refused {
        archive::Refused::Unsafe(why) => InstallError::Unsafe { name: artifact.name.clone(), why },
        archive::Refused::Io(error) => failure("unpacking an artifact", bundle, error),
    }
}

fn failure(what: &str, bundle: &Bundle, error: io::Error) -> InstallError {
    match Fault::of(&error) {
        Fault::Full => InstallError::Full { build: bundle.build.clone() },
        Fault::ReadOnly => InstallError::ReadOnly,
        Fault::Other => InstallError::Failed { what: what.to_owned(), source: error.into() },
    }
}
