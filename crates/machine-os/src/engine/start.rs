//! Starting a shim with its errand.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::engine::remains;
use crate::engine::shimmed::{Facts, Shimmed, Start, next, say};
use crate::entry::{self, Identity, Keepsake, Who};
use crate::proc;
use crate::shim::{Errand, Fact, Order};

/// How long a shim may take to start its workload: milliseconds, unless a disk hangs or the machine is overloaded.
const START_MAX: Duration = Duration::from_secs(30);

/// Why a workload does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShimError {
    #[error("there is no shim to start")]
    NoShim,
    #[error("an argument or the environment contains a zero byte")]
    ZeroByte,
    #[error("the folder of the shim cannot be made")]
    Folder(#[source] io::Error),
    #[error("the shim does not start")]
    Spawn(#[source] io::Error),
    #[error("the shim cannot be spoken to")]
    Speak(#[source] io::Error),
    #[error("the shim ended before it had started anything")]
    Silent,
    #[error("the shim had started nothing within {} s, and was killed", START_MAX.as_secs())]
    Late,
    /// The workload was refused; in words, by whom and why.
    #[error("{0}")]
    Refused(String),
}

/// Starts a workload that outlives this engine.
pub(crate) async fn stand(
    shim: &[OsString],
    root: &Path,
    keepsake: Keepsake,
    errand: &Errand,
) -> Result<Shimmed, ShimError> {
    let bytes = errand.encode().ok_or(ShimError::ZeroByte)?;
    let (root, kept) = (root.to_owned(), bytes.clone());
    let made = spawn_blocking(move || {
        let draw = crate::host::draw()?;
        entry::make(&root, &keepsake, &kept, draw)
    });
    let folder = made.await.map_err(io::Error::other).flatten().map_err(ShimError::Folder)?;
    let started = start(shim, Some(&folder), errand, bytes).await;
    if started.is_err() {
        // Nothing was started from it; should that be wrong, the next engine finds what is left by its mark.
        let _ = spawn_blocking(move || entry::remove(&folder)).await;
    }
    started
}

/// Starts a workload that ends with the last handle on it.
pub(crate) async fn tether(shim: &[OsString], errand: &Errand) -> Result<Shimmed, ShimError> {
    let bytes = errand.encode().ok_or(ShimError::ZeroByte)?;
    start(shim, None, errand, bytes).await
}

/// When the future is dropped before its end, nothing stays that the next engine does not find.
async fn start(
    shim: &[OsString],
    folder: Option<&PathBuf>,
    errand: &Errand,
    mut bytes: Vec<u8>,
) -> Result<Shimmed, ShimError> {
    let (program, arguments) = shim.split_first().ok_or(ShimError::NoShim)?;
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(ShimError::Spawn)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = command.spawn().map_err(ShimError::Spawn)?;
    // The command holds the shim's end of the socket, and while anybody does, its closing is not seen.
    drop(command);
    let pid = child.id();
    // Waited for whenever it ends, so that it leaves no zombie.
    tokio::spawn(async move { child.wait().await });
    let stat = pid.and_then(proc::stat).ok_or(ShimError::Silent)?;
    let shim = Who { pid: stat.pid, started: stat.started };

    ours.set_nonblocking(true).map_err(ShimError::Speak)?;
    let mut facts = BufReader::new(UnixStream::from_std(ours).map_err(ShimError::Speak)?);
    bytes.push(0);
    let handed_over = timeout(START_MAX, hand_over(&mut facts, &bytes)).await;
    let known = || {
        let read = folder.and_then(|folder| Identity::read(folder));
        read.unwrap_or(Identity { shim, boot: String::new(), group: None, workload: None })
    };
    let Ok(handed_over) = handed_over else {
        // Whatever it waits for, it must not start anything when that comes, and may just have.
        remains::end(&Identity { shim, ..known() }).await;
        return Err(ShimError::Late);
    };
    let workload = handed_over?;
    let identity = Identity { shim, workload: Some(workload), ..known() };
    let output = errand.output.clone();
    Ok(Shimmed::new(Start { identity, workload, folder: folder.cloned(), output }, facts))
}

/// Hands the errand to a shim, and returns once that has started the workload.
async fn hand_over(facts: &mut Facts, errand: &[u8]) -> Result<Who, ShimError> {
    facts.get_mut().write_all(errand).await.map_err(ShimError::Speak)?;
    match next(facts).await {
        Some(Fact::Ready) => {}
        other => return Err(refused(other)),
    }
    say(facts, Order::Go).await.map_err(ShimError::Speak)?;
    match next(facts).await {
        Some(Fact::Started { pid, started, .. }) => Ok(Who { pid, started }),
        other => Err(refused(other)),
    }
}

fn refused(fact: Option<Fact>) -> ShimError {
    match fact {
        Some(Fact::Refused(why)) => ShimError::Refused(why),
        Some(
            Fact::Ready
            | Fact::Started { .. }
            | Fact::Exited { .. }
            | Fact::Status { .. }
            | Fact::Lines(_),
        )
        | None => ShimError::Silent,
    }
}
