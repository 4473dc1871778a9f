//! The shim: the process that holds one workload, and what it and an engine say to each other.
//!
//! A program that embeds [`OsHost`](crate::OsHost) calls [`main`] from a hidden subcommand, before it does anything else,
//! and names that subcommand in [`OsConfig::shim`](crate::OsConfig::shim).
//!
//! Standard input is a socket to the engine that started it. Over it comes the `Errand`; once the shim could be found
//! again by another engine it says that it is ready, and starts the workload when it is told to go. So an engine that dies
//! at any moment leaves either a shim that the next one finds, or nothing.
//!
//! A *standing* shim works in a folder of its own (see `entry`) and outlives its engine: any engine of the same user may
//! connect to the socket there. A *tethered* one, for a check, ends everything when the one engine is gone.
//!
//! There are three threads: the main one waits for what happens and decides, one waits for children, one writes the log.
//! No async runtime and no JSON: a machine has many shims, and each costs its memory for as long as its workload runs.

mod course;
mod engines;
mod errand;
mod flow;
mod group;
mod hold;
mod memory;
mod notify;
mod reap;
mod unowned;
mod watch;
mod words;

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

pub(crate) use errand::{Errand, Tie};
pub(crate) use group::kill as kill_group;
pub(crate) use group::remove as remove_group;
pub(crate) use words::{Fact, Order, Readiness};

/// The variable that marks all that descends from a workload, wherever it goes.
pub(crate) const MARK: &str = "BELLWETHER_SHIM";

/// Holds one workload until it and everything that descends from it is gone.
///
/// Must be called before its program has opened anything, and started threads or an async runtime: it closes every descriptor
/// above standard error, and waits for *every* child of its process, so others that wait would miss theirs.
#[must_use]
pub fn main() -> ExitCode {
    let closed = unowned::close_inherited();
    unowned::heed_signals();
    let Ok(mut engine) = take_engine() else { return ExitCode::FAILURE };
    let closed = closed.map_err(|error| format!("what it inherited cannot be closed: {error}"));
    let errand = closed.and_then(|()| errand(&engine));
    match errand.and_then(|errand| hold::hold(&errand, &mut engine)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // An engine that does not listen any more is gone, and the next one finds nothing that ran.
            let _ = writeln!(engine, "{}", Fact::Refused(why));
            ExitCode::FAILURE
        }
    }
}

/// Takes the engine's socket from standard input, so that nothing else holds it.
fn take_engine() -> io::Result<UnixStream> {
    let engine = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(UnixStream::from(engine))
}

fn errand(engine: &UnixStream) -> Result<Errand, String> {
    let mut bytes = Vec::new();
    let mut reader = BufReader::with_capacity(1024, engine);
    // The errand's end is an empty field. Nothing follows it before it was answered, so nothing is read too far.
    loop {
        let before = bytes.len();
        let read = reader.read_until(0, &mut bytes).map_err(|error| error.to_string())?;
        if bytes.last() != Some(&0) {
            return Err("the errand breaks off".to_owned());
        }
        if read == 1 {
            bytes.truncate(before);
            return Errand::decode(&bytes).ok_or_else(|| "the errand cannot be read".to_owned());
        }
    }
}
