//! The program; all of it is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    node_agent::run(std::env::args_os(), node_agent::Image::Own)
}
