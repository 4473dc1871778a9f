//! `cargo xtask bench`: runs the benchmarks.

use crate::workspace::{Package, Target, Workspace};
use crate::{out, process};
use anyhow::{Result, bail};
use clap::Args;

/// Which benchmarks.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Run only the benchmarks of this crate; may be given more than once
    #[arg(long, short, value_name = "CRATE")]
    package: Vec<String>,
}

/// Runs the benchmarks of the asked crates, or of all that have any; their tables go to stdout.
pub(crate) fn run(flags: &Flags, workspace: &Workspace) -> Result<()> {
    let all = benchmarks(&workspace.packages);
    let is_asked =
        |name: &str| flags.package.is_empty() || flags.package.iter().any(|one| one == name);
    let asked: Vec<_> = all.iter().filter(|(package, _)| is_asked(package)).collect();
    if asked.is_empty() {
        let mut with_benches: Vec<&str> = all.iter().map(|(package, _)| *package).collect();
        with_benches.dedup();
        match with_benches.as_slice() {
            [] => bail!("nothing was measured: no crate has benchmarks"),
            some => bail!("nothing was measured; the crates with benchmarks: {}", some.join(", ")),
        }
    }
    for (package, bench) in asked {
        out::progress(format_args!("bench: {bench} of {package} …"));
        let args = ["bench", "--package", package, "--bench", bench];
        process::show(&mut process::cargo(&workspace.root, args))?;
    }
    Ok(())
}

/// Each benchmark with its crate's name before it.
fn benchmarks(packages: &[Package]) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for package in packages {
        let is_bench = |target: &&Target| target.kind.iter().any(|kind| kind == "bench");
        let benches = package.targets.iter().filter(is_bench);
        found.extend(benches.map(|target| (package.name.as_str(), target.name.as_str())));
    }
    found
}
