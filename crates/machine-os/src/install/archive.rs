//! Reading archives by rules: regular files, folders, and links that stay inside. Everything else is refused.
//!
//! Nothing here writes. [`walk`] tells what an archive holds, entry by entry, each checked before it is told, so that the
//! same rules hold for looking at the whole archive first and for unpacking it then.

mod ending;
mod names;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use inventory::Artifact;
use tar::{Archive, Entry, EntryType, PaxExtensions};

use ending::Ending;
use names::{inside, stays_inside};

/// Most that one archive may hold, so that a small file cannot fill a disk or this process's memory.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Entries, and the folders that they make.
    entries: usize,
    /// Bytes of all their content.
    bytes: u64,
    /// Bytes of all their paths.
    paths: usize,
}

/// More than any program we have heard of.
const LIMITS: Limits =
    Limits { entries: 200_000, bytes: 8 * 1024 * 1024 * 1024, paths: 32 * 1024 * 1024 };

/// Most that an archive may hold for each byte of it, beside what is little anyhow. Programs shrink to a third, texts to a
/// tenth, and what is made to fill a disk to a thousandth.
const UNPACKED_PER_BYTE: u64 = 100;
const UNPACKED_BYTES_ANYHOW: u64 = 64 * 1024 * 1024;

/// Longer descriptions of an entry have no use here: all that is taken from them is a name.
const DESCRIPTION_BYTES_MAX: u64 = 1024 * 1024;

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

/// What an entry is.
pub(super) enum What<'a> {
    Folder,
    File { mode: Mode, size: u64, content: &'a mut dyn Read },
    Link(&'a Path),
}

/// Whether a file can be executed. No other bit of its mode has a business here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Data,
    Program,
}

/// Hears what an archive holds: parents before what is in them, each path once and inside.
type Visitor<'a> = &'a mut dyn FnMut(&Path, What<'_>) -> Result<(), Refused>;

/// By its name.
pub(super) fn kind(artifact: &Artifact) -> Option<Kind> {
    let name = artifact.name.as_str();
    let is_gz = name.ends_with(".tar.gz").then_some(Kind::TarGz);
    is_gz.or_else(|| name.ends_with(".tar").then_some(Kind::Tar))
}

/// Tells all that a packed file holds, and whether it is whole.
pub(super) fn walk(kind: Kind, packed: File, visit: Visitor<'_>) -> Result<(), Refused> {
    let packed_bytes = packed.metadata()?.len();
    let most = packed_bytes.saturating_mul(UNPACKED_PER_BYTE).saturating_add(UNPACKED_BYTES_ANYHOW);
    let unpacked: Box<dyn Read> = match kind {
        Kind::Tar => Box::new(BufReader::new(packed)),
        Kind::TarGz => Box::new(BufReader::new(MultiGzDecoder::new(packed))),
    };
    read(unpacked, Limits { bytes: most.min(LIMITS.bytes), ..LIMITS }, visit)
}

fn read(unpacked: impl Read, limits: Limits, visit: Visitor<'_>) -> Result<(), Refused> {
    let mut archive = Archive::new(Ending::new(unpacked));
    let (made, next) = (BTreeMap::new(), Next::default());
    let mut reading = Reading { left: limits, made, next };
    // Raw: the library would read descriptions of any length into memory, and give files with holes as what they are not.
    for entry in archive.entries().map_err(unreadable)?.raw(true) {
        reading.entry(entry.map_err(unreadable)?, visit)?;
    }
    if reading.next != Next::default() {
        return Err(Refused::Unsafe("it describes an entry that is not there".to_owned()));
    }
    archive.into_inner().finish()
}

/// How far an archive is read.
#[derive(Debug)]
struct Reading {
    /// What may still come.
    left: Limits,
    /// By path inside. Every parent of an entry is in it as a folder, so nothing is ever made through a link.
    made: BTreeMap<PathBuf, Is>,
    next: Next,
}

/// What was said of the next entry before it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Next {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Folder,
    Other,
}

impl Reading {
    fn entry(
        &mut self,
        mut entry: Entry<'_, impl Read>,
        visit: Visitor<'_>,
    ) -> Result<(), Refused> {
        let size = entry.size();
        self.left.bytes = self.left.bytes.checked_sub(size).ok_or_else(too_much)?;
        self.left.entries = self.left.entries.checked_sub(1).ok_or_else(too_much)?;
        let kind = entry.header().entry_type();
        if self.is_description(kind, &mut entry)? {
            return Ok(());
        }
        let Next { path, link } = std::mem::take(&mut self.next);
        let path = path.unwrap_or_else(|| entry.header().path_bytes().into_owned());
        let Some(path) = inside(&path)? else {
            return if kind.is_dir() { Ok(()) } else { Err(names::refuse(&path, "has no name")) };
        };
        if kind.is_file() {
            let is_program = entry.header().mode().unwrap_or(0) & 0o111 != 0;
            let mode = if is_program { Mode::Program } else { Mode::Data };
            self.make(&path, visit)?;
            visit(&path, What::File { mode, size, content: &mut entry })
        } else if kind.is_dir() {
            self.folder(&path, visit)
        } else if kind.is_symlink() {
            let short = || entry.header().link_name_bytes().unwrap_or_default().into_owned();
            let target = link.unwrap_or_else(short);
            let depth = path.components().count().saturating_sub(1);
            let target = stays_inside(&path, &target, depth)?;
            self.make(&path, visit)?;
            visit(&path, What::Link(&target))
        } else {
            let what = "is neither a file nor a folder nor a symbolic link";
            Err(names::refuse(path.as_os_str().as_encoded_bytes(), what))
        }
    }

    /// Takes in what only describes another entry; whether it is that.
    fn is_description(
        &mut self,
        kind: EntryType,
        entry: &mut Entry<'_, impl Read>,
    ) -> Result<bool, Refused> {
        if kind.is_gnu_longname() {
            once(&mut self.next.path, zero_ended(&described(entry)?))?;
        } else if kind.is_gnu_longlink() {
            once(&mut self.next.link, zero_ended(&described(entry)?))?;
        } else if kind.is_pax_local_extensions() {
            for record in PaxExtensions::new(&described(entry)?) {
                let record = record.map_err(unreadable)?;
                match record.key_bytes() {
                    b"path" => once(&mut self.next.path, record.value_bytes())?,
                    b"linkpath" => once(&mut self.next.link, record.value_bytes())?,
                    key => harmless(key)?,
                }
            }
        } else if kind.is_pax_global_extensions() {
            for record in PaxExtensions::new(&described(entry)?) {
                match record.map_err(unreadable)?.key_bytes() {
                    b"path" | b"linkpath" => {
                        return Err(Refused::Unsafe("it names all entries at once".to_owned()));
                    }
                    key => harmless(key)?,
                }
            }
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn folder(&mut self, path: &Path, visit: Visitor<'_>) -> Result<(), Refused> {
        match self.made.get(path) {
            Some(Is::Folder) => Ok(()),
            Some(Is::Other) => Err(twice(path)),
            None => {
                self.parents(path, visit)?;
                self.left.entries = self.left.entries.checked_sub(1).ok_or_else(too_much)?;
                self.note(path, Is::Folder)?;
                visit(path, What::Folder)
            }
        }
    }

    /// Makes way for what is no folder.
    fn make(&mut self, path: &Path, visit: Visitor<'_>) -> Result<(), Refused> {
        if self.made.contains_key(path) {
            return Err(twice(path));
        }
        self.parents(path, visit)?;
        self.note(path, Is::Other)
    }

    fn parents(&mut self, path: &Path, visit: Visitor<'_>) -> Result<(), Refused> {
        match path.parent().filter(|parent| *parent != Path::new("")) {
            None => Ok(()),
            Some(parent) if self.made.get(parent) == Some(&Is::Other) => {
                Err(names::refuse(path.as_os_str().as_encoded_bytes(), "lies in what is no folder"))
            }
            Some(parent) => self.folder(parent, visit),
        }
    }

    fn note(&mut self, path: &Path, is: Is) -> Result<(), Refused> {
        let length = path.as_os_str().len();
        self.left.paths = self.left.paths.checked_sub(length).ok_or_else(too_much)?;
        self.made.insert(path.to_owned(), is);
        Ok(())
    }
}

/// That a path is there already, by this archive or another of the build.
pub(super) fn twice(path: &Path) -> Refused {
    names::refuse(path.as_os_str().as_encoded_bytes(), "is there twice")
}

/// Sorts an error of reading: the disk's own have a number, all others say that it is no archive.
pub(super) fn unreadable(error: io::Error) -> Refused {
    if error.raw_os_error().is_some() {
        return Refused::Io(error);
    }
    Refused::Unsafe(format!("it cannot be read as an archive: {error}"))
}

fn too_much() -> Refused {
    Refused::Unsafe("it holds more than any build may".to_owned())
}

fn described(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>, Refused> {
    if entry.size() > DESCRIPTION_BYTES_MAX {
        return Err(Refused::Unsafe("the description of an entry is too long".to_owned()));
    }
    let mut description = Vec::new();
    entry.read_to_end(&mut description).map_err(unreadable)?;
    Ok(description)
}

fn zero_ended(text: &[u8]) -> &[u8] {
    text.strip_suffix(&[0]).unwrap_or(text)
}

/// One name for one thing: two of them could be read as either.
fn once(name: &mut Option<Vec<u8>>, value: &[u8]) -> Result<(), Refused> {
    match name.replace(value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(names::refuse(value, "has more than one name")),
    }
}

/// Refuses what would give an entry another size than its header says, or other content than stands there.
fn harmless(key: &[u8]) -> Result<(), Refused> {
    if key == b"size" || key.starts_with(b"GNU.sparse.") {
        let key = String::from_utf8_lossy(key);
        return Err(Refused::Unsafe(format!("an entry's size is said twice, by `{key}` too")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
