//! `cargo xtask test`: runs every test, and sums them up over all programs.

use crate::workspace::Workspace;
use crate::{out, process, vectors};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::ops::AddAssign;
use std::process::{Child, Command, Stdio};

/// How many tests ended how.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sums {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// What runs tests.
#[derive(Debug, Clone, Copy)]
enum Runner {
    /// `cargo test`: one program after the other, each with its tests in threads.
    Cargo,
    /// cargo-nextest: each test in a process of its own; it does not do the examples in docs.
    Nextest,
}

/// Runs the tests of the workspace, replays the vectors that are checked in, and ends with a line of
/// sums, also when some fail.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let root = &workspace.root;
    let nextest = process::works(&mut process::cargo(root, ["nextest", "--version"]));
    let runs = if nextest {
        vec![
            (Runner::Nextest, vec!["nextest", "run", "--workspace", "--no-fail-fast"]),
            (Runner::Cargo, vec!["test", "--workspace", "--no-fail-fast", "--doc"]),
        ]
    } else {
        vec![(Runner::Cargo, vec!["test", "--workspace", "--no-fail-fast"])]
    };

    let mut sums = Sums::default();
    let mut failures = Vec::new();
    for (runner, args) in runs {
        let mut command = process::cargo(root, args);
        out::progress(format_args!("test: {} …", process::line(&command)));
        let succeeded = runner.run(&mut command, &mut sums)?;
        if !succeeded {
            failures.push(format!("`{}` ended badly: see above", process::line(&command)));
        }
    }
    if let Err(error) = vectors::run_checked_in(workspace) {
        failures.push(format!("vectors: {error:#}"));
    }
    let Sums { passed, failed, skipped } = sums;
    out::result(format_args!("tests: {passed} passed, {failed} failed, {skipped} skipped"));
    if !failures.is_empty() {
        bail!("not all is well:\n  {}", failures.join("\n  "));
    }
    if passed == 0 {
        bail!("no test ran, so nothing is known");
    }
    Ok(())
}

impl Runner {
    /// Runs `command`, shows what it says, adds up its tests, and answers whether it succeeded.
    fn run(self, command: &mut Command, sums: &mut Sums) -> Result<bool> {
        let starting = format!("cannot start {}", process::line(command));
        let reading = format!("cannot read what {} says", process::line(command));
        match self {
            Self::Cargo => command.stdout(Stdio::piped()),
            Self::Nextest => command.stderr(Stdio::piped()),
        };
        let mut child = command.spawn().context(starting)?;
        if let Some(said) = self.said(&mut child) {
            for line in BufReader::new(said).split(b'\n') {
                let line = line.with_context(|| reading.clone())?;
                // A test may print what is not UTF-8.
                let line = String::from_utf8_lossy(&line);
                out::progress(&line);
                if let Some(counted) = self.counted(&line) {
                    *sums += counted;
                }
            }
        }
        Ok(child.wait().context(reading)?.success())
    }

    /// The stream on which the runner says how many tests ended how.
    fn said(self, child: &mut Child) -> Option<Box<dyn Read>> {
        match self {
            Self::Cargo => child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read>),
            Self::Nextest => child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read>),
        }
    }

    /// The counts in `line`, when it is the runner's summary.
    fn counted(self, line: &str) -> Option<Sums> {
        let counts = match self {
            Self::Cargo => line.strip_prefix("test result: ")?.split_once(". ")?.1,
            Self::Nextest => line.trim_start().strip_prefix("Summary [")?.split_once("run: ")?.1,
        };
        let mut sums = Sums::default();
        let words: Vec<&str> = counts.split([' ', ',', ';', '(', ')']).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => sums.passed += count,
                "failed" | "timed" | "exec" => sums.failed += count,
                "ignored" | "skipped" => sums.skipped += count,
                _ => {}
            }
        }
        Some(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_counted() {
        let sums = |passed, failed, skipped| Some(Sums { passed, failed, skipped });
        let cases = [
            (
                Runner::Cargo,
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; \
                 finished in 0.01s",
                sums(3, 0, 1),
            ),
            (
                Runner::Cargo,
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                sums(3, 2, 0),
            ),
            (Runner::Cargo, "test names::tests::one ... ok", None),
            (Runner::Cargo, "running 3 tests", None),
            (
                Runner::Nextest,
                "     Summary [   0.012s] 12 tests run: 12 passed, 0 skipped",
                sums(12, 0, 0),
            ),
            (
                Runner::Nextest,
                "     Summary [   9.1s] 8 tests run: 4 passed (1 slow), 2 failed, 1 timed out, \
                 1 exec failed, 3 skipped",
                sums(4, 4, 3),
            ),
            (Runner::Nextest, "        PASS [   0.003s] names tests::one", None),
        ];
        for (runner, line, expected) in cases {
            assert_eq!(runner.counted(line), expected, "{line}");
        }
    }
}
