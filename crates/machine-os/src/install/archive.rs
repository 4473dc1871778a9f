//! Unpacking: regular files, folders, and links that stay inside; everything else is refused before it is made.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use inventory::Artifact;
use tar::{Archive, EntryType};

/// Most that one archive may hold, so that a small file cannot fill a disk: more than any program we have heard of.
const ENTRIES_MAX: u64 = 100_000;
const UNPACKED_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;

/// How an artifact is packed, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tar,
    TarGz,
}

/// Why an artifact is not placed.
#[derive(Debug)]
pub(super) enum Refused {
    /// What is wrong with what it holds.
    Unsafe(String),
    /// The disk failed.
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// By its name.
pub(super) fn kind(artifact: &Artifact) -> Option<Kind> {
    let name = artifact.name.as_str();
    let is_gz = name.ends_with(".tar.gz").then_some(Kind::TarGz);
    is_gz.or_else(|| name.ends_with(".tar").then_some(Kind::Tar))
}

/// Places a verified artifact in a build's folder: unpacked, or as an executable file.
pub(super) fn place(artifact: &Artifact, fetched: &Path, folder: &Path) -> Result<(), Refused> {
    match kind(artifact) {
        Some(Kind::Tar) => unpack(File::open(fetched)?, folder),
        Some(Kind::TarGz) => unpack(GzDecoder::new(File::open(fetched)?), folder),
        None => {
            let target = folder.join(artifact.name.as_str());
            if target.symlink_metadata().is_ok() {
                return Err(Refused::Unsafe("another artifact has a file of its name".to_owned()));
            }
            fs::set_permissions(fetched, Permissions::from_mode(0o755))?;
            Ok(fs::rename(fetched, target)?)
        }
    }
}

fn unpack(packed: impl Read, folder: &Path) -> Result<(), Refused> {
    // One more than is allowed, so that too much is seen and not taken for the end.
    let mut archive = Archive::new(packed.take(UNPACKED_BYTES_MAX + 1));
    let mut made = Made { folder, entries: BTreeMap::new() };
    let mut count = 0;
    let mut bytes: u64 = 0;
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        count += 1;
        bytes = bytes.saturating_add(entry.size());
        if count > ENTRIES_MAX || bytes > UNPACKED_BYTES_MAX {
            return Err(Refused::Unsafe("it holds more than any build may".to_owned()));
        }
        let path = entry.path().map_err(unreadable)?.into_owned();
        let Some(inside) = inside(&path)? else { continue };
        let kind = entry.header().entry_type();
        if kind.is_file() {
            let mode = entry.header().mode().unwrap_or(0);
            made.file(inside, mode, &mut entry)?;
        } else if kind.is_dir() {
            made.folder(inside)?;
        } else if kind.is_symlink() {
            let target = entry.link_name().map_err(unreadable)?.unwrap_or_default().into_owned();
            made.link(inside, &target)?;
        } else if kind != EntryType::XGlobalHeader {
            return Err(refuse(&path, "is neither a file nor a folder nor a symbolic link"));
        }
    }
    Ok(())
}

/// What an archive has made so far.
struct Made<'a> {
    folder: &'a Path,
    /// By path inside. Every parent of an entry is in it as a folder, so nothing is ever made through a link.
    entries: BTreeMap<PathBuf, Is>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Folder,
    Other,
}

impl Made<'_> {
    fn folder(&mut self, path: PathBuf) -> Result<(), Refused> {
        match self.entries.get(&path) {
            Some(Is::Folder) => return Ok(()),
            Some(Is::Other) => return Err(refuse(&path, "is there twice")),
            None => {}
        }
        self.parents(&path)?;
        let whole = self.folder.join(&path);
        match fs::create_dir(&whole) {
            // Another artifact of the build may have made it, but only as a folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !whole.symlink_metadata()?.is_dir() {
                    return Err(refuse(&path, "is there twice"));
                }
            }
            done => done?,
        }
        self.entries.insert(path, Is::Folder);
        Ok(())
    }

    fn file(&mut self, path: PathBuf, mode: u32, content: &mut impl Read) -> Result<(), Refused> {
        self.fresh(&path)?;
        // Only whether it can be executed is taken over: no other bit has a business here.
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        let whole = self.folder.join(&path);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&whole);
        let mut file = file.map_err(|error| twice(&path, error))?;
        // Reading and writing fail differently, and `io::copy` would not tell which it was.
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = content.read(&mut buffer).map_err(unreadable)?;
            let piece = buffer.get(..length).unwrap_or_default();
            if piece.is_empty() {
                break;
            }
            io::Write::write_all(&mut file, piece)?;
        }
        file.set_permissions(Permissions::from_mode(mode))?;
        self.entries.insert(path, Is::Other);
        Ok(())
    }

    fn link(&mut self, path: PathBuf, target: &Path) -> Result<(), Refused> {
        self.fresh(&path)?;
        let depth = path.components().count().saturating_sub(1);
        if !stays_inside(target, depth) {
            let text = format!("links to `{}`, which may lie outside", target.display());
            return Err(refuse(&path, &text));
        }
        let made = symlink(target, self.folder.join(&path));
        made.map_err(|error| twice(&path, error))?;
        self.entries.insert(path, Is::Other);
        Ok(())
    }

    fn fresh(&mut self, path: &Path) -> Result<(), Refused> {
        if self.entries.contains_key(path) {
            return Err(refuse(path, "is there twice"));
        }
        self.parents(path)
    }

    fn parents(&mut self, path: &Path) -> Result<(), Refused> {
        match path.parent().filter(|parent| *parent != Path::new("")) {
            None => Ok(()),
            Some(parent) => match self.entries.get(parent) {
                Some(Is::Folder) => Ok(()),
                Some(Is::Other) => Err(refuse(path, "lies in what is no folder")),
                None => self.folder(parent.to_owned()),
            },
        }
    }
}

/// The path without its `.` parts, if it stays inside; `None` for the folder itself.
fn inside(path: &Path) -> Result<Option<PathBuf>, Refused> {
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) if is_name(name) => inside.push(name),
            Component::CurDir => {}
            Component::Normal(_)
            | Component::ParentDir
            | Component::RootDir
            | Component::Prefix(_) => return Err(refuse(path, "leaves the build's folder")),
        }
    }
    Ok(Some(inside).filter(|inside| *inside != Path::new("")))
}

fn is_name(name: &OsStr) -> bool {
    !name.as_encoded_bytes().contains(&0)
}

/// Whether a link in a folder `depth` below the top stays inside: it climbs at most to the top, and only at its beginning.
/// A step up after a name would start from wherever that name leads, which a link may have moved.
fn stays_inside(target: &Path, depth: usize) -> bool {
    let mut climbed = 0;
    let mut descends = false;
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) if is_name(name) => descends = true,
            Component::ParentDir if !descends => climbed += 1,
            Component::Normal(_)
            | Component::ParentDir
            | Component::RootDir
            | Component::Prefix(_) => return false,
        }
    }
    climbed <= depth && target != Path::new("")
}

fn refuse(path: &Path, why: &str) -> Refused {
    Refused::Unsafe(format!("`{}` {why}", path.display()))
}

fn twice(path: &Path, error: io::Error) -> Refused {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return refuse(path, "is there twice");
    }
    Refused::Io(error)
}

fn unreadable(error: io::Error) -> Refused {
    Refused::Unsafe(format!("it cannot be read as an archive: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_links_stay_inside() {
        for (target, depth, expected) in [
            ("file", 0, true),
            ("a/b", 0, true),
            ("./a", 0, true),
            ("../a", 1, true),
            ("../../a", 2, true),
            ("..", 0, false),
            ("../a", 0, false),
            ("../../a", 1, false),
            ("a/../b", 1, false),
            ("/etc/passwd", 3, false),
            ("", 0, false),
        ] {
            assert_eq!(stays_inside(Path::new(target), depth), expected, "{target} at {depth}");
        }
    }

    #[test]
    fn which_paths_are_inside() {
        let cases = [("a/b", Some("a/b")), ("./a/./b/", Some("a/b")), ("./", None)];
        for (path, expected) in cases {
            let found = inside(Path::new(path)).unwrap();
            assert_eq!(found.as_deref(), expected.map(Path::new), "{path}");
        }
        for path in ["/a", "../a", "a/../../b", "a/../b"] {
            assert!(matches!(inside(Path::new(path)), Err(Refused::Unsafe(_))), "{path}");
        }
    }
}
