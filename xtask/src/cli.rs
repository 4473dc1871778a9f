//! The command line of `cargo xtask`.

use crate::workspace::Workspace;
use crate::{bench, check, mutants, out, test, tidy, vectors};
use anyhow::{Result, bail};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// The project's chores: what CI runs, and what everybody runs at home before a commit.
///
/// Progress goes to stderr, results to stdout. The exit code is 0 when all is well, 1 when
/// something is not (the last lines say what, and what to do), 2 when the command itself is wrong.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(after_help = "Before a commit: cargo xtask check && cargo xtask test")]
pub struct Chores {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Look at the code without running it: format, lints, docs, purity, licences, house rules
    Check(check::Flags),
    /// Find what breaks the house rules that no compiler checks
    ///
    /// Layers and the edges between crates, the allow-list of dependencies and features, purity,
    /// `unsafe`, first lines, sizes, names. The same runs as a test: `cargo test -p xtask`.
    Tidy,
    /// Run every test of the workspace, then replay the recorded vectors
    Test,
    /// Replay recorded behaviour: `agreed N, disagreed M` for each suite
    ///
    /// The first disagreement of each suite is shown field by field. It fails on any disagreement,
    /// on a line that is no case, on a suite that is not known, and when there was nothing to replay.
    Vectors(vectors::Flags),
    /// Break the code in many small ways, and find what no test notices
    ///
    /// For the crates in which a rule that no test holds would cost the most. What may survive is
    /// listed in `.cargo/mutants.toml`, with the reason.
    Mutants(mutants::Flags),
    /// Run the benchmarks and print their tables
    Bench(bench::Flags),
}

/// Does one chore. What went wrong is said on stderr.
#[must_use]
pub fn run(chores: &Chores) -> ExitCode {
    match Workspace::find().and_then(|workspace| chores.chore.run(workspace)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            out::progress(format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

impl Chore {
    fn run(&self, workspace: Workspace) -> Result<()> {
        match self {
            Self::Check(flags) => check::run(flags, &workspace),
            Self::Tidy => run_tidy(&workspace),
            Self::Test => test::run(&workspace),
            Self::Vectors(flags) => vectors::run(flags, &workspace),
            Self::Mutants(flags) => mutants::run(flags, &workspace),
            Self::Bench(flags) => bench::run(flags, &workspace),
        }
    }
}

/// Prints what breaks a house rule.
pub(crate) fn run_tidy(workspace: &Workspace) -> Result<()> {
    let findings = tidy::findings(&tidy::Tree::read(workspace)?);
    for finding in &findings {
        out::result(finding);
    }
    if !findings.is_empty() {
        bail!("{} places break a house rule; each line above says what to do", findings.len());
    }
    Ok(())
}
