//! Finding a router, and starting one: a process of its own, which outlives whoever starts it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::client::{ConnectError, RouterClient};

/// What a router that was started says on its standard output, as a line, when it works. Anything else is why it does not.
pub const READY: &str = "ready";

/// How long a router may take to begin: longer than another may take to hand over.
const BEGIN_MAX: Duration = Duration::from_secs(60);

/// The longest reason that is read, in bytes.
const REASON_BYTES_MAX: u64 = 4096;

/// How to start a router.
#[derive(Debug)]
pub struct Start {
    /// The program and its arguments. It makes a session of its own and becomes the router at the socket, by taking the place of
    /// one that is there; then it says [`READY`].
    pub command: Vec<OsString>,
    /// Where its socket is.
    pub socket: PathBuf,
    /// Where its lines for people go.
    pub lines: Stdio,
}

/// Why a router was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is nothing to be started.
    #[error("no program was named")]
    NoProgram,
    /// The process did not start.
    #[error("the router's process cannot be started")]
    Spawn(#[source] io::Error),
    /// The router says why it did not begin. One that was there before goes on.
    #[error("the router did not begin: {why}")]
    Refused {
        /// Its words; empty if it ended without any.
        why: String,
    },
    /// It says nothing, and was killed. One that was there before goes on.
    #[error("the router did not begin within {} s", BEGIN_MAX.as_secs())]
    Late,
    /// It began and cannot be spoken with.
    #[error("the router began, and cannot be spoken with")]
    Connect(#[from] ConnectError),
}

/// The router at this socket; none when nobody listens there.
///
/// # Errors
/// When there is one that cannot be spoken with.
pub async fn find(socket: &Path) -> Result<Option<RouterClient>, ConnectError> {
    match RouterClient::connect(socket).await {
        Ok(client) => Ok(Some(client)),
        Err(ConnectError::Nobody) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Starts a router. One that is at the socket already hands over to it, and no connection is lost; its engine is told so. The new
/// one has its table, or an empty one if there was none.
///
/// # Errors
/// When it does not begin. A router that was there goes on then.
pub async fn start(start: Start) -> Result<RouterClient, StartError> {
    let (program, arguments) = start.command.split_first().ok_or(StartError::NoProgram)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(start.lines);
    let mut child = command.spawn().map_err(StartError::Spawn)?;
    let mut said = BufReader::new(child.stdout.take().ok_or(StartError::NoProgram)?);
    let first = timeout(BEGIN_MAX, first_line(&mut said)).await;
    let ready = match first {
        Ok(Ok(line)) if line == READY => Ok(()),
        Ok(Ok(why)) => Err(StartError::Refused { why }),
        Ok(Err(error)) => Err(StartError::Spawn(error)),
        Err(_) => Err(StartError::Late),
    };
    if ready.is_err() {
        // One that has not said that it works has taken nothing over, or says so only to its end.
        let _ = child.start_kill();
    }
    // Waited for whenever it ends, so that it leaves no zombie.
    tokio::spawn(async move { child.wait().await });
    ready?;
    Ok(RouterClient::connect(&start.socket).await?)
}

async fn first_line(said: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    let mut said = said.take(REASON_BYTES_MAX);
    while let Ok(byte) = said.read_u8().await {
        if byte == b'\n' {
            break;
        }
        line.push(byte);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
