//! The smallest program that can be a leash: what tests start, and what `OsConfig::leash` may name.

use std::process::ExitCode;

fn main() -> ExitCode {
    machine_os::leash::main()
}
