//! Bellwether's agent on each machine, as a program: its engine, and the commands that look at it.
//!
//! `main` calls [`run`] and does nothing else. The files from the outside in:
//!
//! - `command_line` is what can be typed; how it speaks and ends is in the crate `terminal`.
//! - `config` reads the machine's own file; `folder` says what lies where, and takes the folder for one engine.
//! - `engine` runs an agent: its store (`keeping`), how it ends (`ending`), where its lines go (`journal`), and what
//!   systemd is told (`systemd`).
//! - `router` runs the process that keeps this machine's listeners.
//! - `status` is what a running engine says, and what is found where none runs; `logs` reads what programs wrote;
//!   `doctor` looks the machine over.
//! - `book` looks at the machine's failure book, and changes it by hand.

mod book;
mod clock;
mod command_line;
mod config;
mod doctor;
mod engine;
mod folder;
mod logs;
mod router;
mod status;
mod systemd;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;
use terminal::{
    failure::{ExitStatus, Failure},
    output::Output,
    runtime::block_on,
    surroundings::Surroundings,
};

use command_line::{Command, Flags};

/// The hidden subcommand that holds a workload: see [`machine_os::shim`].
const SHIM: &str = "shim";

/// The subcommand that is a router.
const ROUTE: &str = "route";

/// The program that has this one in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// It is this one, and nothing else.
    Own,
    /// It becomes this one by this first argument.
    Within(&'static str),
}

/// Does what the arguments say, the first of which is the program's name, and returns its exit status.
///
/// Another program can carry this one in its image, if it hands its own hidden subcommand `shim` to
/// [`machine_os::shim::main`] before anything else: that is how an engine starts shims, from whatever image it runs in.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>, image: Image) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    // Before anything else, since a shim must be the only thread of its process.
    if arguments.get(1).is_some_and(|argument| argument == SHIM) {
        return machine_os::shim::main();
    }
    let flags = match Flags::try_parse_from(arguments) {
        Ok(flags) => flags,
        Err(error) => return ExitStatus::of_usage(&error).into(),
    };
    let output = Output::new(flags.everywhere.output, Surroundings::look());
    let outcome = execute(flags, image, &output);
    outcome.unwrap_or_else(|failure| output.ended(Err(failure))).into()
}

fn execute(flags: Flags, image: Image, output: &Output) -> Result<ExitStatus, Failure> {
    let Flags { everywhere, command } = flags;
    let done = |()| ExitStatus::Done;
    match command {
        // What an engine has to say it says in lines, to its end.
        Command::Run(run) => {
            block_on(async { Ok(engine::run(&run, &everywhere, image, output).await) })
        }
        Command::Route(route) => Ok(router::route(&route, &everywhere, output)),
        Command::Status => block_on(status::status(&everywhere, output)).map(done),
        Command::Logs(logs) => block_on(logs::logs(&logs, &everywhere, output)).map(done),
        Command::Book(book) => block_on(book::book(&book, &everywhere, output)).map(done),
        Command::Doctor => block_on(doctor::doctor(&everywhere, output)).map(done),
    }
}
