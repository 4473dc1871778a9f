//! A secret key on the disk: for its owner alone, whole or not there, and never written over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use zeroize::Zeroizing;

use crate::key::{BadSeed, SecretKey};

/// The longest file that is read: a seed, and some blanks around it.
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
    /// Somebody else has it, who can change it at any time.
    #[error("the key {} belongs to user {owner}, and this is user {user}; it must be this user's own, or root's", path.display())]
    OfAnother {
        /// Where.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who reads it.
        user: u32,
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
    let mut beside = name.to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = folder.join(beside);
    let written = write(&beside, key).and_then(|()| place(&beside, path, folder));
    // Only what was made here, and it is of no use any more.
    let removed = match &written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && error.get_ref().is_none() => Ok(()),
        Err(_) | Ok(()) => fs::remove_file(&beside),
    };
    let failure = |source: io::Error| match source.kind() {
        ErrorKind::AlreadyExists if fs::symlink_metadata(path).is_ok() => {
            KeyFileError::Exists { path: path.to_owned() }
        }
        _ => KeyFileError::Write { path: path.to_owned(), source },
    };
    written.and(removed).map_err(failure)
}
