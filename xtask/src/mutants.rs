//! `cargo xtask mutants`: breaks the code in many small ways, and looks for what no test notices.

use crate::process;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use clap::Args;

/// The crates that are gone through: in these a rule that no test holds would cost the most.
const CRATES: [&str; 2] = ["failure-book", "gate-judge"];

/// Newer versions may break the code in more ways; move this after a look at what survives then.
const VERSION: &str = "27.1.0";

/// What to go through.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Go through this crate; may be given more than once
    #[arg(long, short, value_name = "CRATE", default_values = CRATES)]
    package: Vec<String>,

    /// Flags of cargo-mutants, such as `--file '**/rows.rs'`, `--iterate`, `--shard 0/4`
    #[arg(last = true, value_name = "FLAG")]
    more: Vec<String>,
}

/// Runs cargo-mutants by `.cargo/mutants.toml`; a survivor that is not on the list there is a
/// failure.
pub(crate) fn run(flags: &Flags, workspace: &Workspace) -> Result<()> {
    let root = &workspace.root;
    for (tool, version) in [("mutants", VERSION), ("nextest", "0.9")] {
        if !process::works(&mut process::cargo(root, [tool, "--version"])) {
            bail!("there is no cargo-{tool} here: `cargo install --locked cargo-{tool}@{version}`");
        }
    }
    let mut command = process::cargo(root, ["mutants"]);
    for package in &flags.package {
        command.args(["--package", package]);
    }
    command.args(&flags.more);
    process::show(&mut command).context(
        "`target/mutants.out/missed.txt` has the survivors, and CONTRIBUTING.md what to do with \
         each",
    )
}
