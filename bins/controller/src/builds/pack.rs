//! Packs a folder: the same files give the same bytes, wherever and whenever they are packed.

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

use inventory::{Artifact, ArtifactName};
use names::{Digest, ModuleName};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::NamedTempFile;

use super::MANIFEST;
use crate::failure::Failure;

/// What a file that is not whole yet begins with; no digest does.
pub(crate) const NEW: &str = ".new-";

/// A packed folder that has no place among the artifacts yet; dropped, it leaves nothing.
#[derive(Debug)]
pub(super) struct Packed {
    artifact: Artifact,
    file: NamedTempFile,
    artifacts: PathBuf,
}

/// Packs all files of `folder` but its manifest, which travels by itself, so that a build whose manifest alone changed
/// shares its artifact.
pub(super) fn pack(
    folder: &Path,
    module: &ModuleName,
    artifacts: &Path,
) -> Result<Packed, Failure> {
    let apart = |error: &io::Error| {
        Failure::because(format!("{} cannot be packed", folder.display()), error)
    };
    let entries = entries(folder, artifacts).map_err(|error| apart(&error))?;
    let name = ArtifactName::new(format!("{module}.tar"))
        .map_err(|error| Failure::because("the module's name names no file", &error))?;
    let file = tempfile::Builder::new().prefix(NEW).tempfile_in(artifacts);
    let mut file = file.map_err(|error| not_kept(artifacts, &error))?;
    let mut hashing = Hashing { inner: file.as_file_mut(), sha256: Sha256::new(), size: 0 };
    write(folder, &entries, &mut hashing).map_err(|error| {
        if is_full(&error) { not_kept(artifacts, &error) } else { apart(&error) }
    })?;
    let Hashing { inner: _, sha256, size } = hashing;
    let digest = Digest::from_bytes(sha256.finalize().into());
    Ok(Packed { artifact: Artifact { name, size, digest }, file, artifacts: artifacts.to_owned() })
}

impl Packed {
    pub(super) fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Places it under its digest. It is on disk, whole, before it has that name.
    pub(super) fn place(self) -> Result<Artifact, Failure> {
        let place = || {
            self.file.as_file().sync_all()?;
            self.file.persist(self.artifacts.join(self.artifact.digest.as_str()))?;
            File::open(&self.artifacts)?.sync_all()
        };
        place().map_err(|error: io::Error| not_kept(&self.artifacts, &error))?;
        Ok(self.artifact)
    }
}

fn not_kept(artifacts: &Path, error: &io::Error) -> Failure {
    let failure =
        Failure::because(format!("the artifact cannot be kept in {}", artifacts.display()), error);
    if is_full(error) {
        failure.hint("make room on that disk and add the build again; nothing was registered")
    } else {
        failure
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// A file or a folder below the one that is packed.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Folder,
    File,
    /// A symbolic link, and what it points to.
    Link(PathBuf),
}

/// All of them, in the order of their paths.
fn entries(folder: &Path, artifacts: &Path) -> io::Result<Vec<Entry>> {
    // A folder that holds the artifacts would be packed into itself, more of it each time.
    if fs::canonicalize(artifacts)?.starts_with(fs::canonicalize(folder)?) {
        let artifacts = artifacts.display();
        return Err(io::Error::other(format!("the controller's own folder is in it: {artifacts}")));
    }
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(parent) = open.pop() {
        for entry in fs::read_dir(folder.join(&parent)).map_err(at(&parent))? {
            let entry = entry.map_err(at(&parent))?;
            let path = parent.join(entry.file_name());
            let kind = entry.file_type().map_err(at(&path))?;
            if kind.is_dir() {
                open.push(path.clone());
                found.push(Entry { path, kind: Kind::Folder });
            } else if kind.is_symlink() {
                let target = link(&path, fs::read_link(entry.path())).map_err(at(&path))?;
                found.push(Entry { path, kind: Kind::Link(target) });
            } else if !kind.is_file() {
                let what = "only files, folders and links can be packed, this is none of them";
                return Err(at(&path)(io::Error::other(what)));
            } else if path != Path::new(MANIFEST) {
                found.push(Entry { path, kind: Kind::File });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What a link points to. It must be in the folder too: no machine has anything else that was meant.
fn link(path: &Path, target: io::Result<PathBuf>) -> io::Result<PathBuf> {
    let target = target?;
    let above = path.components().count().saturating_sub(1);
    let parts = || target.components().filter(|part| *part != Component::CurDir);
    let up = parts().take_while(|part| *part == Component::ParentDir).count();
    let mut then = parts().skip(up);
    if up <= above && then.all(|part| matches!(part, Component::Normal(_))) {
        return Ok(target);
    }
    let target = target.display();
    Err(io::Error::other(format!("the link to {target} may leave the folder that is packed")))
}

/// Says where in the folder it went wrong.
fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn write(folder: &Path, entries: &[Entry], to: &mut impl Write) -> io::Result<()> {
    let mut tar = Builder::new(to);
    for Entry { path, kind } in entries {
        match kind {
            Kind::Folder => {
                let mut header = header(EntryType::Directory, 0o755, 0);
                tar.append_data(&mut header, path, io::empty()).map_err(at(path))?;
            }
            Kind::File => write_file(&mut tar, path, &folder.join(path)).map_err(at(path))?,
            Kind::Link(target) => {
                let mut header = header(EntryType::Symlink, 0o777, 0);
                tar.append_link(&mut header, path, target).map_err(at(path))?;
            }
        }
    }
    tar.into_inner()?.flush()
}

fn write_file(tar: &mut Builder<impl Write>, name: &Path, path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let before = file.metadata()?;
    let executable = before.permissions().mode() & 0o100 != 0;
    let mode = if executable { 0o755 } else { 0o644 };
    let mut header = header(EntryType::Regular, mode, before.len());
    let mut content = (&file).take(before.len());
    tar.append_data(&mut header, name, &mut content)?;
    let after = file.metadata()?;
    if content.limit() > 0
        || after.len() != before.len()
        || after.modified()? != before.modified()?
    {
        return Err(io::Error::other("it changed while it was packed; add the build again"));
    }
    Ok(())
}

/// Everything of a header that could differ between two packings of the same content is the same in all.
fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Counts and digests what passes through to a file.
struct Hashing<'a> {
    inner: &'a mut File,
    sha256: Sha256,
    size: u64,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sha256.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;

    struct Folders {
        source: tempfile::TempDir,
        artifacts: tempfile::TempDir,
    }

    impl Folders {
        fn new(files: &[(&str, &str)]) -> Self {
            let [source, artifacts] = [(), ()].map(|()| tempfile::tempdir().unwrap());
            for (path, content) in files {
                let path = source.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            Self { source, artifacts }
        }

        fn pack(&self) -> Result<Packed, Failure> {
            pack(self.source.path(), &"hello".parse().unwrap(), self.artifacts.path())
        }

        fn kept(&self) -> Vec<String> {
            let names = fs::read_dir(self.artifacts.path()).unwrap();
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    const FILES: [(&str, &str); 4] =
        [("run", "#!/bin/sh\n"), ("b/two", "2"), ("a/one", "1"), ("bellwether.toml", "x")];

    #[test]
    fn the_same_files_give_the_same_bytes_and_the_manifest_is_not_among_them() {
        let first = Folders::new(&FILES);
        let mut other_way = FILES;
        other_way.reverse();
        let second = Folders::new(&other_way);
        let run = second.source.path().join("a/one");
        fs::set_permissions(run, fs::Permissions::from_mode(0o640)).unwrap();
        let [first, second] = [first, second].map(|folders| {
            let artifact = folders.pack().unwrap().place().unwrap();
            assert_eq!(folders.kept(), [artifact.digest.to_string()]);
            let path = folders.artifacts.path().join(artifact.digest.as_str());
            let bytes = fs::read(path).unwrap();
            assert_eq!(artifact.size, bytes.len() as u64);
            let sha256 = Sha256::digest(&bytes);
            assert_eq!(artifact.digest, Digest::from_bytes(sha256.into()));
            (artifact, bytes)
        });
        assert_eq!(first, second);
        let mut archive = tar::Archive::new(&first.1[..]);
        let names: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["a", "a/one", "b", "b/two", "run"]);
    }

    #[test]
    fn what_can_be_executed_stays_so() {
        let folders = Folders::new(&FILES);
        let before = folders.pack().unwrap();
        let run = folders.source.path().join("run");
        fs::set_permissions(run, fs::Permissions::from_mode(0o700)).unwrap();
        assert_ne!(before.artifact().digest, folders.pack().unwrap().artifact().digest);
    }

    #[test]
    fn links_are_packed_as_they_are_unless_they_may_leave_the_folder() {
        for (target, may) in [
            ("one", true),
            ("./one", true),
            ("../run", true),
            ("../b/two", true),
            ("../../run", false),
            ("/etc/passwd", false),
            ("one/../../../x", false),
        ] {
            let folders = Folders::new(&FILES);
            symlink(target, folders.source.path().join("a/link")).unwrap();
            let packed = folders.pack();
            assert_eq!(packed.is_ok(), may, "{target}: {packed:?}");
            if let Err(failure) = packed {
                assert!(failure.message.contains("a/link: the link to"), "{failure:?}");
            }
        }
    }

    #[test]
    fn what_is_no_file_is_refused_by_its_path_and_nothing_is_left() {
        let folders = Folders::new(&FILES);
        let _socket = UnixListener::bind(folders.source.path().join("a/socket")).unwrap();
        let failure = folders.pack().unwrap_err();
        assert!(failure.message.contains("a/socket: only files, folders and links"), "{failure:?}");
        assert_eq!(folders.kept(), [""; 0]);
    }

    #[test]
    fn the_controllers_own_folder_is_not_packed_into_itself() {
        let folders = Folders::new(&FILES);
        let artifacts = folders.source.path().join("fleet/artifacts");
        fs::create_dir_all(&artifacts).unwrap();
        let failure = pack(folders.source.path(), &"hello".parse().unwrap(), &artifacts);
        let failure = failure.unwrap_err();
        assert!(failure.message.contains("own folder is in it"), "{failure:?}");
    }
}
