//! The socket in the engine's folder: whoever connects, and may, is told the status, and that is all.

use std::{
    fs::{self, File, Permissions},
    io::{self, ErrorKind},
    os::{fd::AsRawFd, unix::fs::PermissionsExt},
    path::PathBuf,
    time::Duration,
};

use machine_os::set_aside;
use rustix::process::geteuid;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    time::{sleep, timeout},
};

use super::Status;
use crate::folder::{Folder, SOCKET};

/// How long an answer may take: it is made of what is in memory.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer, in bytes: far above what a machine can state.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What the socket is called until it listens.
const NEW: &str = "agent.sock.new";

/// Listens in the folder of an engine, which holds that folder alone.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    folder: Folder,
}

impl Server {
    /// Takes the place of whatever socket an engine before this one left.
    pub(crate) fn bind(folder: &Folder) -> io::Result<Self> {
        let open = File::open(folder.path())?;
        let new = within(&open, NEW);
        for path in [folder.path().join(NEW), folder.socket()] {
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                set_aside(folder.path(), &path)?;
            }
        }
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&new)?;
        // It has its mode before it has its name, so there is no moment at which others could connect.
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        fs::rename(&new, within(&open, SOCKET))?;
        Ok(Self { listener, folder: folder.clone() })
    }

    /// Answers, one after the other, for as long as the socket is the folder's.
    pub(crate) async fn serve(&self, status: impl Fn() -> Status) {
        loop {
            match timeout(PATIENCE, self.listener.accept()).await {
                Ok(Ok((stream, _))) => {
                    // Whoever does not listen to the end hears nothing more.
                    let _ = timeout(PATIENCE, answer(stream, &status())).await;
                }
                // Out of descriptors, say: looking again at once would not help.
                Ok(Err(_)) => sleep(Duration::from_millis(100)).await,
                Err(_) if self.folder.socket().symlink_metadata().is_err() => return,
                Err(_) => {}
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What is left is replaced by the next engine.
        let _ = fs::remove_file(self.folder.socket());
    }
}

async fn answer(mut stream: UnixStream, status: &Status) -> io::Result<()> {
    let uid = stream.peer_cred()?.uid();
    if uid == 0 || uid == geteuid().as_raw() {
        stream.write_all(&serde_json::to_vec(status)?).await?;
    }
    stream.shutdown().await
}

/// Why an engine gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("nobody answers there")]
    Nobody,
    #[error("it does not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error("only root and the engine's own user are told")]
    NotAllowed,
    #[error("its answer is of another version than this program: use the one that the engine runs")]
    Answer(#[source] serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Asks the engine of a folder.
pub(crate) async fn ask(folder: &Folder) -> Result<Status, AskError> {
    let asked = async {
        let open = File::open(folder.path())?;
        let stream = match UnixStream::connect(within(&open, SOCKET)).await {
            Ok(stream) => stream,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
            {
                return Err(AskError::Nobody);
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err(AskError::NotAllowed);
            }
            Err(error) => return Err(error.into()),
        };
        let mut bytes = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes).await?;
        if bytes.is_empty() {
            return Err(AskError::NotAllowed);
        }
        serde_json::from_slice(&bytes).map_err(AskError::Answer)
    };
    timeout(PATIENCE, asked).await.unwrap_or(Err(AskError::Late))
}

/// The path of what has this name in an open folder: short, however long the folder's own path is. A socket's has at most
/// 107 bytes.
fn within(folder: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))
}
