//! A secret key on the disk: for its owner alone, whole or not there, and never written over.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

use crate::key::{BadSeed, SecretKey};

/// The longest that a key's file can be: a seed, and some blanks around it.
const BYTES_MAX: usize = 256;

/// Who may do what with a key's file: its owner read and write it, and nobody else anything.
const MODE: u32 = 0o600;

/// Why a key's file was not made or not read. It tells where, and nothing of what is in it.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is a file already.
    #[error(
        "{} is there already, and a key is never written over; name another file, or move that one away if nobody needs it", path.display()
    )]
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// The path names no file.
    #[error("{} names no file", path.display())]
    NoName {
        /// The path.
        path: PathBuf,
    },
    /// It could not be written, and is not there.
    #[error("the key {} cannot be written", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It could not be read.
    #[error("the key {} cannot be read", path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a folder, a socket, or another thing that is no file.
    #[error("{} is no file, and a key is in one", path.display())]
    NoFile {
        /// Where.
        path: PathBuf,
    },
    /// Others can read or change it.
    #[error(
        "others than its owner can read or change the key {} (mode {mode:03o}): if somebody may have read it, make a new key; else chmod 600 {}",
        path.display(), path.display()
    )]
    OpenToOthers {
        /// Where.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// What is in it is no seed.
    #[error("the file {} has no key in it", path.display())]
    Bad {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: BadSeed,
    },
}

/// Writes a key into a file that is not there yet.
///
/// The file appears whole, with its name, or not at all; also when the power is cut.
///
/// # Errors
///
/// [`KeyFileError::Exists`] when something is there, which is left as it is; else why it could not be written.
pub fn create(path: &Path, key: &SecretKey) -> Result<(), KeyFileError> {
    let name = path.file_name().ok_or_else(|| KeyFileError::NoName { path: path.to_owned() })?;
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let write = |source| KeyFileError::Write { path: path.to_owned(), source };
    let beside = beside(folder, name).map_err(write)?;
    let placed = fill(&beside, key).and_then(|()| place(&beside, path, folder));
    // It has a key in it, and nobody looks for one there.
    let removed = fs::remove_file(&beside);
    match placed {
        Ok(()) => removed.map_err(write),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(KeyFileError::Exists { path: path.to_owned() })
        }
        Err(error) => Err(write(error)),
    }
}

/// The name under which the file is filled: nobody else draws it.
fn beside(folder: &Path, name: &OsStr) -> io::Result<PathBuf> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let mut beside = name.to_owned();
    beside.push(format!(".{:016x}.new", u64::from_ne_bytes(bytes)));
    Ok(folder.join(beside))
}

fn fill(beside: &Path, key: &SecretKey) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(beside)?;
    file.write_all(key.seed().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Gives the file its name. A link fails where there is something already, and a rename would put it away.
fn place(beside: &Path, path: &Path, folder: &Path) -> io::Result<()> {
    fs::hard_link(beside, path)?;
    File::open(folder).and_then(|folder| folder.sync_all()).inspect_err(|_| {
        // What may be gone after a power cut is not said to be there. The link is this call's own.
        let _ = fs::remove_file(path);
    })
}

/// Reads a key's file.
///
/// # Errors
///
/// [`KeyFileError`] when it cannot be read, when others than its owner could, or when there is no key in it.
pub fn load(path: &Path) -> Result<SecretKey, KeyFileError> {
    let read = |source| KeyFileError::Read { path: path.to_owned(), source };
    // Opening something else could wait for ever.
    if !fs::metadata(path).map_err(read)?.is_file() {
        return Err(KeyFileError::NoFile { path: path.to_owned() });
    }
    let mut file = File::open(path).map_err(read)?;
    let mode = file.metadata().map_err(read)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::OpenToOthers { path: path.to_owned(), mode });
    }
    let mut bytes = Zeroizing::new([0; BYTES_MAX + 1]);
    let length = fill_from(&mut file, &mut *bytes).map_err(read)?;
    let text = str::from_utf8(&bytes[..length]).map(str::trim);
    let key = match text {
        Ok(text) if length <= BYTES_MAX => SecretKey::of_seed(text),
        Ok(_) | Err(_) => Err(BadSeed::NotSecret),
    };
    key.map_err(|source| KeyFileError::Bad { path: path.to_owned(), source })
}

/// Reads what there is, as far as there is room; one byte more than a key's file has.
fn fill_from(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
