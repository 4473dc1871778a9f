//! The router's own socket: made, reached, and only for its own user and root.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;

/// How often a lock that is held is tried again: another router begins there, or is being taken over.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Why there is no socket to listen on.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// The path does not end in a name.
    #[error("the path has no name at its end")]
    NoName,
    /// What is there is not a socket, and is left alone.
    #[error("something that is no socket is there")]
    InTheWay,
    /// Other routers begin there, and do not come to an end.
    #[error("other routers begin there, and do not come to an end")]
    Locked,
    /// The folder or the socket fails.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Somebody else at the other end.
#[derive(Debug)]
pub(crate) struct Stranger {
    pub(crate) uid: u32,
}

/// The folder of a socket. An address has at most 107 bytes, less than many a path; the kernel's own name of an open folder is
/// short.
#[derive(Debug)]
pub(crate) struct Place {
    folder: File,
    name: String,
}

/// The proof that no other router begins or takes over at this place now.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: File,
}

impl Place {
    pub(crate) fn of(socket: &Path) -> Result<Self, PlaceError> {
        let name = socket.file_name().and_then(|name| name.to_str()).ok_or(PlaceError::NoName)?;
        let folder = match socket.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        Ok(Self { folder: File::open(folder)?, name: name.to_owned() })
    }

    /// Waits until it is this process's turn to look for a router here and to become one.
    pub(crate) async fn turn(&self) -> Result<Turn, PlaceError> {
        let lock = self.lock_file()?;
        for _ in 0..LOCK_TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(Turn { _lock: lock }),
                Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        Err(PlaceError::Locked)
    }

    /// Connects to whoever listens here; none when nobody does.
    pub(crate) async fn occupant(&self) -> Result<Option<UnixStream>, PlaceError> {
        match UnixStream::connect(self.within(&self.name)).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error)
                if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Listens here, in place of a socket on which nobody does. Whoever calls has looked, and has the turn.
    pub(crate) fn listen(&self, _turn: &Turn) -> Result<UnixListener, PlaceError> {
        let (path, new) = (self.within(&self.name), self.within(&format!("{}.new", self.name)));
        for path in [&path, &new] {
            let there = path.symlink_metadata();
            if there.is_ok_and(|there| !there.file_type().is_socket()) {
                return Err(PlaceError::InTheWay);
            }
        }
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&new)?;
        // It has its mode before it has its name, so there is no moment at which others could connect.
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        fs::rename(&new, &path)?;
        Ok(listener)
    }

    /// Listens here again, where the socket is gone, unless another router begins here just now.
    pub(crate) fn listen_again(&self) -> Result<UnixListener, PlaceError> {
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => self.listen(&Turn { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(PlaceError::Locked),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Whether the folder is gone, so that nobody can find what is in it.
    pub(crate) fn is_gone(&self) -> bool {
        self.folder.metadata().is_ok_and(|folder| folder.nlink() == 0)
    }

    fn lock_file(&self) -> io::Result<File> {
        let path = self.within(&format!("{}.lock", self.name));
        // Whoever can open it can lock it, and keep routers from beginning.
        File::options().create(true).truncate(false).write(true).mode(0o600).open(path)
    }

    /// Which file has the name now.
    pub(crate) fn inode(&self) -> Option<u64> {
        self.within(&self.name).symlink_metadata().ok().map(|there| there.ino())
    }

    /// Removes the socket, if it is still this one.
    pub(crate) fn remove(&self, inode: Option<u64>) {
        if inode.is_some() && self.inode() == inode {
            // What is left the next router replaces.
            let _ = fs::remove_file(self.within(&self.name));
        }
    }

    fn within(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }
}

/// Connects to whoever listens at this path.
pub(crate) async fn reach(socket: &Path) -> io::Result<UnixStream> {
    let place = Place::of(socket).map_err(|error| match error {
        PlaceError::Io(error) => error,
        PlaceError::NoName | PlaceError::InTheWay | PlaceError::Locked => {
            io::Error::new(ErrorKind::NotFound, error)
        }
    })?;
    UnixStream::connect(place.within(&place.name)).await
}

/// Refuses whoever is neither this process's user nor root. One that the kernel does not tell is nobody's user.
pub(crate) fn check(stream: &UnixStream) -> Result<(), Stranger> {
    let uid = stream.peer_cred().map_or(u32::MAX, |peer| peer.uid());
    if is_trusted(uid, geteuid().as_raw()) { Ok(()) } else { Err(Stranger { uid }) }
}

fn is_trusted(uid: u32, own: u32) -> bool {
    uid == own || uid == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_made_in_place_of_a_dead_one_however_long_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a".repeat(120)).join("b".repeat(120));
        fs::create_dir_all(&deep).unwrap();
        let path = deep.join("route.sock");
        for _ in 0..2 {
            let place = Place::of(&path).unwrap();
            let turn = place.turn().await.unwrap();
            assert!(place.occupant().await.unwrap().is_none());
            let listener = place.listen(&turn).unwrap();
            for path in [&path, &deep.join("route.sock.lock")] {
                assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            }
            reach(&path).await.unwrap();
            assert!(place.occupant().await.unwrap().is_some());
            // While one begins nobody else makes a socket.
            assert!(matches!(place.listen_again(), Err(PlaceError::Locked)));
            drop(listener);
        }
        assert!(
            reach(&path).await.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        );
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("route.sock");
        fs::write(&path, "mine").unwrap();
        let place = Place::of(&path).unwrap();
        let turn = place.turn().await.unwrap();
        assert!(matches!(place.listen(&turn), Err(PlaceError::InTheWay)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        place.remove(None);
        assert!(path.exists());
        assert!(matches!(Place::of(Path::new("/")), Err(PlaceError::NoName)));
    }

    #[tokio::test]
    async fn only_the_own_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::of(&folder.path().join("route.sock")).unwrap();
        let turn = place.turn().await.unwrap();
        let _first = place.listen(&turn).unwrap();
        let first = place.inode();
        let _second = place.listen(&turn).unwrap();
        let second = place.inode();
        place.remove(first);
        assert_eq!((place.inode(), place.is_gone()), (second, false));
        place.remove(second);
        assert_eq!(place.inode(), None);
        drop(folder);
        assert!(place.is_gone());
    }

    #[test]
    fn the_own_user_and_root_are_trusted() {
        for (uid, own, expected) in [(7, 7, true), (0, 7, true), (8, 7, false), (7, 0, false)] {
            assert_eq!(is_trusted(uid, own), expected, "{uid} and {own}");
        }
    }
}
