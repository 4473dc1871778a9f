//! What a health check asks, and what answer passes.

mod http;
mod notify;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use host::{CheckFailed, Exit, Notify};
use rustix::process::Signal;
use tokio::net::TcpStream;

use crate::engine;
use crate::host::with_port;
use crate::shim::{Errand, Tie};

pub(crate) use http::http;
pub(crate) use notify::notify;

/// The port accepts a connection.
pub(crate) async fn tcp(address: SocketAddr) -> Result<(), CheckFailed> {
    connect(address).await.map(drop)
}

async fn connect(address: SocketAddr) -> Result<TcpStream, CheckFailed> {
    let connected = TcpStream::connect(address).await;
    connected.map_err(|error| CheckFailed(format!("{address} does not connect: {error}")))
}

/// The errand of a command that checks the workload of another errand: in its place, as its user, in its environment.
pub(crate) fn errand(workload: &Errand, command: &[String], address: SocketAddr) -> Errand {
    Errand {
        command: with_port(command, address.port()),
        output: None,
        notify: Notify::Unheard,
        tie: Tie::Tethered,
        ..workload.clone()
    }
}

/// The command ends with status 0. It has a shim too, so nothing of it stays when its time is up.
pub(crate) async fn exec(
    shim: &[OsString],
    errand: &Errand,
    timeout: Duration,
) -> Result<(), CheckFailed> {
    let program = errand.command.first().map(String::as_str).unwrap_or_default();
    let run = async {
        let started = engine::tether(shim, errand).await;
        let shimmed = started.map_err(|error| CheckFailed(format!("`{program}`: {error}")))?;
        if tokio::time::timeout(timeout, shimmed.ended()).await.is_err() {
            shimmed.stop(Signal::KILL, Duration::ZERO).await;
            let late = timeout.as_millis();
            let why = format!("`{program}` took more than {late} ms and was killed");
            return Err(CheckFailed(why));
        }
        Ok((shimmed.ended().await, shimmed.last_lines().await.pop()))
    };
    let (exit, last) = run.await?;
    if exit == Exit::Status(0) {
        return Ok(());
    }
    let said = last.map_or_else(|| "without output".to_owned(), |line| format!("saying: {line}"));
    Err(CheckFailed(format!("`{program}` ended with {exit}, {said}")))
}
