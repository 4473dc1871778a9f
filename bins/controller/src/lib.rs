//! Bellwether's controller as a program: its command line, the socket over which it is asked, and `dev`.
//!
//! `main` calls [`run`] and does nothing else. The files from the outside in:
//!
//! - `command_line` is what can be typed; `commands` carries it out; `failure` is how it ends when it does not.
//! - `output` is the only place that writes to the standard streams, `surroundings` the only one that reads the
//!   environment; `shown`, `table` and `paint` make text of views, as pure functions.
//! - `socket` has both ends of the line between a command and a running controller; `folder` says what lies where.
//! - `builds` packs and registers, `artifacts` removes what is packed and needed no more; `follow` waits for a plan; `judge` judges facts without a controller.
//! - `dev` is a whole fleet in one process, with `sample` for it to release.

mod artifacts;
mod builds;
mod clock;
mod command_line;
mod commands;
mod dev;
mod failure;
mod folder;
mod follow;
mod frame;
mod ids;
mod judge;
mod news;
mod output;
mod paint;
mod sample;
#[cfg(test)]
mod samples;
mod screen;
mod shown;
mod socket;
mod surroundings;
mod table;

use std::process::ExitCode;

use clap::Parser;

pub use failure::ExitStatus;

use command_line::{Command, Flags};
use failure::Failure;
use folder::Folder;
use output::Output;
use surroundings::Surroundings;

/// The hidden subcommand that holds a workload: see [`machine_os::shim`].
const SHIM: &str = "shim";

/// Does what the command line says, and returns its exit status.
#[must_use]
pub fn run() -> ExitCode {
    // Before anything else, since a shim must be the only thread of its process.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SHIM) {
        return machine_os::shim::main();
    }
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return usage(&error).into(),
    };
    let surroundings = Surroundings::look();
    let output = Output::new(flags.everywhere.output, &surroundings);
    let status = match execute(flags, &surroundings, &output) {
        Ok(()) => ExitStatus::Done,
        Err(failure) => {
            output.failure(&failure);
            failure.kind.exit_status()
        }
    };
    status.into()
}

/// Says what clap has to say: help on stdout, and that is success; anything else on stderr.
fn usage(error: &clap::Error) -> ExitStatus {
    // Nobody is left to be told that nobody can be told.
    let _ = error.print();
    if error.use_stderr() { ExitStatus::Usage } else { ExitStatus::Done }
}

fn execute(flags: Flags, surroundings: &Surroundings, output: &Output) -> Result<(), Failure> {
    let Flags { everywhere, command } = flags;
    match command {
        Command::Asking(asking) => {
            let folder = Folder::find(everywhere.dir.as_deref(), surroundings)?;
            block_on(commands::run(asking, &folder, output))
        }
        Command::Sample(flags) => block_on(async { Ok(sample::serve(&flags).await?) }),
        Command::Dev(flags) => {
            let dir = everywhere.dir.as_deref();
            block_on(dev::run(&flags, dir, surroundings, output))
        }
        Command::Judge(flags) => judge::judge(&flags, output),
    }
}

fn block_on(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("the program cannot start its threads", &error))?;
    let outcome = runtime.block_on(work);
    // What still runs in the background was waited for already, as long as it is worth it.
    runtime.shutdown_background();
    outcome
}
