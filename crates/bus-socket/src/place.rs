//! Where the socket is: made in place of a dead one, reached, and removed, however long its path.
//!
//! An address has at most 107 bytes, less than many a path. The kernel's own names of an open folder and of an open
//! socket always fit.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, chmodat, flock, open, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::time::sleep;

/// What a socket is called until it listens.
const UNFINISHED: &str = ".bus-socket.new";

/// How often a lock that is held is tried again. It is held for the few calls of a start or an end.
const LOCK_TRIES: u32 = 400;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Clients that may wait to be accepted: a whole fleet of processes that comes back at once.
const BACKLOG: i32 = 1024;

/// Why there is no socket to listen on.
#[derive(Debug, Error)]
pub enum BindError {
    /// The path does not end in a name.
    #[error("the path has no name at its end")]
    NoName,
    /// Somebody listens there.
    #[error("somebody else listens there")]
    Taken,
    /// What is there is not a socket, and is left alone.
    #[error("something that is no socket is there")]
    InTheWay,
    /// Others are making sockets in this folder, and do not come to an end.
    #[error("the folder of the socket is locked by somebody else")]
    Locked,
    /// The folder or the socket failed.
    #[error("the socket cannot be made")]
    Io(#[from] io::Error),
}

impl From<Errno> for BindError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// A socket's place in the file system. Dropped, the socket is gone, unless another has taken its place.
#[derive(Debug)]
pub(crate) struct Place {
    folder: OwnedFd,
    name: OsString,
    made: FileId,
}

/// Which file it is, whatever it is called.
#[derive(Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl From<Stat> for FileId {
    fn from(stat: Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// Listens at this path, for its owner alone. What a dead server left there is replaced.
///
/// The socket listens under another name first and has its mode before it listens, so there is no moment at which
/// others could connect, or at which nobody could.
pub(crate) async fn listen_at(path: &Path) -> Result<(UnixListener, Place), BindError> {
    let name = path.file_name().ok_or(BindError::NoName)?.to_owned();
    let folder = open(folder_of(path), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    lock(&folder).await?;
    replaceable(&folder, &name).await?;
    remove(&folder, UNFINISHED)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(kernel_name(&folder).join(UNFINISHED))?)?;
    chmodat(&folder, UNFINISHED, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    listen(&socket, BACKLOG)?;
    let made = statat(&folder, UNFINISHED, AtFlags::SYMLINK_NOFOLLOW)?.into();
    renameat(&folder, UNFINISHED, &folder, &name)?;
    flock(&folder, FlockOperation::Unlock)?;
    Ok((socket.into(), Place { folder, name, made }))
}

/// Connects to whoever listens at this path.
pub(crate) async fn reach(path: &Path) -> io::Result<UnixStream> {
    let socket = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    UnixStream::connect(kernel_name(&socket)).await
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whoever holds the lock is about to replace this socket. What is left, the next start replaces.
        let Ok(()) = flock(&self.folder, FlockOperation::NonBlockingLockExclusive) else { return };
        let there = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| FileId::from(there) == self.made) {
            let _ = remove(&self.folder, &self.name);
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// The kernel's own name of what is open; good while it is.
fn kernel_name(open: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()))
}

/// Takes turns with others that make sockets in this folder: of two that find the same dead socket, the second finds the
/// living one of the first.
async fn lock(folder: &OwnedFd) -> Result<(), BindError> {
    for _ in 0..LOCK_TRIES {
        match flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => sleep(LOCK_PAUSE).await,
            other => return Ok(other?),
        }
    }
    Err(BindError::Locked)
}

/// Whether a new socket may stand under this name: nothing is there, or a socket on which nobody listens.
async fn replaceable(folder: &OwnedFd, name: &OsString) -> Result<(), BindError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there = match openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&there)?.st_mode);
    if kind != FileType::Socket {
        return Err(BindError::InTheWay);
    }
    match UnixStream::connect(kernel_name(&there)).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        // So many wait there to be accepted that no more can: a server that is busy, or stopped.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(BindError::Taken),
        Ok(_) => Err(BindError::Taken),
        Err(error) => Err(error.into()),
    }
}

fn remove(folder: &OwnedFd, name: impl rustix::path::Arg) -> rustix::io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}
