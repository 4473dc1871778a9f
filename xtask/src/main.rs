//! `cargo xtask`: the project's chores, one command each.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run(&xtask::Chores::parse())
}
