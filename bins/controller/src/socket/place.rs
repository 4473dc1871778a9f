//! Where the socket is: in the controller's folder, however long that folder's path is.

use std::{
    fs::{self, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            fs::{FileTypeExt, MetadataExt, PermissionsExt},
            net::UnixListener,
        },
    },
    path::PathBuf,
};

use rustix::fs::{Mode, OFlags, open};

use crate::folder::{Folder, SOCKET};

/// A folder that is held open, to reach what is in it by a short path. A socket's path has at most 107 bytes, which is
/// less than many a folder's; the kernel's own name for the open folder always fits.
#[derive(Debug)]
pub(crate) struct ShortPath(OwnedFd);

impl ShortPath {
    pub(crate) fn to(folder: &Folder) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(folder.path(), flags, Mode::empty())?))
    }

    /// The path of what has this name in the folder; good while `self` is there.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }
}

/// Why there is no socket to listen on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BindError {
    /// Somebody else listens there.
    #[error("somebody else listens on it")]
    Taken,
    /// The folder or the socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Listens on the folder's socket, for its owner alone. What is left of a socket that nobody listens on is replaced.
///
/// The socket gets its mode under another name first, so there is no moment at which others could connect.
pub(crate) fn bind(folder: &Folder) -> Result<UnixListener, BindError> {
    let short = ShortPath::to(folder)?;
    let socket = short.join(SOCKET);
    match std::os::unix::net::UnixStream::connect(&socket) {
        Ok(_) => return Err(BindError::Taken),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
        Err(error) => return Err(error.into()),
    }
    let new = short.join("controller.sock.new");
    remove_if_there(&new)?;
    let listener = UnixListener::bind(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    fs::rename(&new, &socket)?;
    Ok(listener)
}

/// Which socket it is: another under the same name is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    /// Of the folder's socket; none where there is nothing, or something else.
    pub(crate) fn now(folder: &Folder) -> Option<Self> {
        let found = fs::symlink_metadata(folder.path().join(SOCKET)).ok()?;
        let socket = Self { device: found.dev(), number: found.ino() };
        found.file_type().is_socket().then_some(socket)
    }
}

/// Takes the socket away.
pub(crate) fn remove(folder: &Folder) -> io::Result<()> {
    remove_if_there(&folder.path().join(SOCKET))
}

fn remove_if_there(path: &std::path::Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_long_path_has_a_socket_too() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(&dir.path().join("x".repeat(200))).unwrap();
        let listener = bind(&folder).unwrap();
        let mode = fs::metadata(folder.path().join(SOCKET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let socket = ShortPath::to(&folder).unwrap();
        assert!(std::os::unix::net::UnixStream::connect(socket.join(SOCKET)).is_ok());
        drop(listener);
    }

    #[test]
    fn only_a_socket_that_nobody_listens_on_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let listener = bind(&folder).unwrap();
        assert!(matches!(bind(&folder), Err(BindError::Taken)));
        drop(listener);
        assert!(folder.path().join(SOCKET).exists(), "what a killed controller leaves");
        let again = bind(&folder).unwrap();
        remove(&folder).unwrap();
        remove(&folder).unwrap();
        drop(again);
        assert!(!folder.path().join(SOCKET).exists());
    }
}
