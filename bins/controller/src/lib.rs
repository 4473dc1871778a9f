//! Bellwether's controller as a program: its command line, the socket over which it is asked, and `dev`.
//!
//! `main` calls [`run`] and does nothing else. The files from the outside in:
//!
//! - `command_line` is what can be typed; `commands` carries it out.
//! - How it speaks is in the crate `terminal`: answers, failures, tables, colours. `surroundings` is the only file that reads
//!   the environment; `shown` makes text of views, as pure functions.
//! - `socket` has both ends of the line between a command and a running controller; `folder` says what lies where.
//! - `builds` packs and registers, `artifacts` removes what is packed and needed no more; `follow` waits for a plan; `judge` judges facts and `keyring` makes keys, both without a controller.
//! - `freeing` has what machines hold, and signs what frees it.
//! - `dev` is a whole fleet in one process, with `sample` for it to release.

mod artifacts;
mod builds;
mod clock;
mod command_line;
mod commands;
mod dev;
mod folder;
mod follow;
mod frame;
mod freeing;
mod ids;
mod judge;
mod keyring;
mod news;
mod sample;
#[cfg(test)]
mod samples;
mod screen;
mod shown;
mod socket;
mod surroundings;

use std::process::ExitCode;

use clap::Parser;

pub use terminal::failure::ExitStatus;
use terminal::{failure, output, paint, runtime::block_on, table};

use command_line::{Command, Flags};
use failure::Failure;
use folder::Folder;
use output::Output;
use surroundings::Surroundings;

/// The hidden subcommand that holds a workload: see [`machine_os::shim`].
const SHIM: &str = "shim";

/// The hidden subcommand that is `node-agent` whole: the agents of `dev` run in the image of their controller, so there is
/// nothing else to build or to find.
const NODE_AGENT: &str = "node-agent";

/// Does what the command line says, and returns its exit status.
#[must_use]
pub fn run() -> ExitCode {
    // Before anything else, since a shim must be the only thread of its process.
    let first = std::env::args_os().nth(1);
    if first.as_ref().is_some_and(|argument| argument == SHIM) {
        return machine_os::shim::main();
    }
    if first.is_some_and(|argument| argument == NODE_AGENT) {
        let image = node_agent::Image::Within(NODE_AGENT);
        return node_agent::run(std::env::args_os().skip(1), image);
    }
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return ExitStatus::of_usage(&error).into(),
    };
    let surroundings = Surroundings::look();
    let output = Output::new(flags.everywhere.output, surroundings.of_speech());
    output.ended(execute(flags, &surroundings, &output)).into()
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
        Command::Keys(keys) => {
            keyring::run(keys.verb, everywhere.dir.as_deref(), surroundings, output)
        }
    }
}
