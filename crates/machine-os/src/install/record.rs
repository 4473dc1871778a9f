//! What a build was when it was installed, kept beside it: so that damage done to it later is seen before it is started,
//! and is not taken for a fault of the build.
//!
//! Programs must be as they were, to the byte. Other files may be changed by the workload, which runs in its build's folder;
//! of them only that is damage which nobody wrote: another length although nothing was written since.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use names::Digest;
use sha2::{Digest as _, Sha256};

use crate::sealed;

/// Follows the build's name.
pub(super) const EXTENSION: &str = "files";

/// Every file of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    files: BTreeMap<PathBuf, Installed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Installed {
    size: u64,
    /// In seconds and nanoseconds.
    modified: (i64, i64),
    /// That of a program.
    digest: Option<Digest>,
}

/// A file that is not as it was, and how, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) path: PathBuf,
    pub(super) how: String,
}

/// Where the record of the build in this folder lies.
pub(super) fn beside(build: &Path) -> PathBuf {
    build.with_added_extension(EXTENSION)
}

impl Record {
    /// Notes a file as it is now.
    pub(super) fn note(&mut self, path: &Path, file: &Metadata, digest: Option<Digest>) {
        let modified = (file.mtime(), file.mtime_nsec());
        self.files.insert(path.to_owned(), Installed { size: file.len(), modified, digest });
    }

    /// Takes over what another record knows of these files.
    pub(super) fn renew(&mut self, other: &Self, paths: &[PathBuf]) {
        for path in paths {
            if let Some(installed) = other.files.get(path) {
                self.files.insert(path.clone(), installed.clone());
            }
        }
    }

    /// Writes it where it is not read yet. It returns once it is on the disk.
    pub(super) fn write(&self, to: &Path) -> io::Result<()> {
        let mut text = String::new();
        for (path, Installed { size, modified: (seconds, nanoseconds), digest }) in &self.files {
            let digest = digest.as_ref().map_or("-", Digest::as_str);
            let path = path.display();
            // Writing to memory does not fail.
            let _ = writeln!(text, "{size} {seconds}.{nanoseconds} {digest} {path}");
        }
        let mut file = File::create(to)?;
        file.write_all(&sealed::seal(text.as_bytes()))?;
        file.sync_all()
    }

    /// The record of a build; `None` when there is none that can be read, and then nothing is known against the build.
    pub(super) fn read(build: &Path) -> Option<Self> {
        let bytes = fs::read(beside(build)).ok()?;
        Self::parse(std::str::from_utf8(sealed::open(&bytes)?).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut files = BTreeMap::new();
        for line in text.lines() {
            let mut fields = line.splitn(4, ' ');
            let size = fields.next()?.parse().ok()?;
            let (seconds, nanoseconds) = fields.next()?.split_once('.')?;
            let modified = (seconds.parse().ok()?, nanoseconds.parse().ok()?);
            let digest = match fields.next()? {
                "-" => None,
                digest => Some(Digest::new(digest).ok()?),
            };
            files.insert(fields.next()?.into(), Installed { size, modified, digest });
        }
        Some(Self { files })
    }

    /// What of the build in this folder is not as it was. It costs one look at each file, and reads only programs that were
    /// written to.
    pub(super) fn damage(&self, build: &Path) -> Vec<Damage> {
        let look = |(path, installed): (&PathBuf, &Installed)| {
            let how = installed.damage(&build.join(path))?;
            Some(Damage { path: path.clone(), how })
        };
        self.files.iter().filter_map(look).collect()
    }
}

impl Installed {
    fn damage(&self, path: &Path) -> Option<String> {
        let is_program = self.digest.is_some();
        let file = match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return is_program.then(|| "is gone".to_owned());
            }
            Err(error) => return Some(format!("cannot be looked at ({error})")),
            Ok(file) if !file.is_file() => return is_program.then(|| "is no file".to_owned()),
            Ok(file) => file,
        };
        let is_untouched = (file.mtime(), file.mtime_nsec()) == self.modified;
        if file.len() != self.size && (is_program || is_untouched) {
            return Some(format!("has {} bytes, not {}", file.len(), self.size));
        }
        let digest = self.digest.as_ref()?;
        if file.mode() & 0o111 == 0 {
            return Some("cannot be executed".to_owned());
        }
        if is_untouched {
            return None;
        }
        match digest_of(path) {
            Err(error) => Some(format!("cannot be read ({error})")),
            Ok(found) if found != *digest => Some(format!("has the digest {}…", found.short())),
            Ok(_) => None,
        }
    }
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = io::Read::read(&mut file, &mut buffer)?;
        let piece = buffer.get(..length).unwrap_or_default();
        if piece.is_empty() {
            return Ok(Digest::from_bytes(hasher.finalize().into()));
        }
        hasher.update(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    const PROGRAM: &str = "bin/a program";
    const DATA: &str = "data";

    /// A build of a program and another file, and its record.
    fn build() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let build = folder.path().join("A");
        fs::create_dir_all(build.join("bin")).unwrap();
        let mut record = Record::default();
        for (path, mode) in [(PROGRAM, 0o755), (DATA, 0o644)] {
            let whole = build.join(path);
            fs::write(&whole, "content").unwrap();
            fs::set_permissions(&whole, Permissions::from_mode(mode)).unwrap();
            let digest = (path == PROGRAM).then(|| digest_of(&whole).unwrap());
            record.note(Path::new(path), &whole.metadata().unwrap(), digest);
        }
        record.write(&beside(&build)).unwrap();
        assert_eq!(Record::read(&build), Some(record));
        (folder, build)
    }

    fn damage(build: &Path) -> Vec<(String, String)> {
        let found = Record::read(build).unwrap().damage(build).into_iter();
        found.map(|Damage { path, how }| (path.display().to_string(), how)).collect()
    }

    /// Changes a file as a disk does that loses something: nobody wrote it.
    fn lose(path: &Path, content: &str) {
        let modified = path.metadata().unwrap().modified().unwrap();
        fs::write(path, content).unwrap();
        File::open(path).unwrap().set_modified(modified).unwrap();
    }

    #[test]
    fn a_build_that_nobody_touched_is_as_it_was() {
        let (_folder, build) = build();
        assert_eq!(damage(&build), []);
        // Nor is one that was copied elsewhere and back.
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        for path in [PROGRAM, DATA] {
            File::open(build.join(path)).unwrap().set_modified(later).unwrap();
        }
        fs::write(build.join("new"), "of the workload's own").unwrap();
        assert_eq!(damage(&build), []);
    }

    #[test]
    fn a_program_must_be_as_it_was() {
        type Harm = fn(&Path);
        let harms: [(&str, Harm); 6] = [
            ("has 3 bytes, not 7", |path| fs::write(path, "con").unwrap()),
            ("has 0 bytes, not 7", |path| lose(path, "")),
            ("has the digest", |path| fs::write(path, "CONTENT").unwrap()),
            ("is gone", |path| fs::remove_file(path).unwrap()),
            ("cannot be executed", |path| {
                fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
            }),
            ("is no file", |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            }),
        ];
        for (words, harm) in harms {
            let (_folder, build) = build();
            harm(&build.join(PROGRAM));
            let [(path, how)] = &damage(&build)[..] else { unreachable!("{words}") };
            assert!(path == PROGRAM && how.contains(words), "{path} {how}");
        }
    }

    #[test]
    fn other_files_are_their_workloads_unless_nobody_wrote_them() {
        let (_folder, build) = build();
        fs::write(build.join(DATA), "changed by the workload").unwrap();
        assert_eq!(damage(&build), []);
        fs::remove_file(build.join(DATA)).unwrap();
        assert_eq!(damage(&build), []);
        let (_folder, build) = self::build();
        lose(&build.join(DATA), "");
        assert_eq!(damage(&build), [(DATA.to_owned(), "has 0 bytes, not 7".to_owned())]);
    }

    #[test]
    fn a_record_that_is_not_whole_says_nothing() {
        let (_folder, build) = build();
        let whole = fs::read(beside(&build)).unwrap();
        for at in 0..whole.len() {
            fs::write(beside(&build), &whole[..at]).unwrap();
            assert_eq!(Record::read(&build), None, "cut at {at}");
        }
        for text in ["x", "1 2 - a", "1 2.3", "1 2.3 digest a", "x 2.3 - a"] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
    }
}
