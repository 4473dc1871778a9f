//! `cargo xtask check`: looks at the code without running it.

use crate::workspace::Workspace;
use crate::{cargo_deny, cli, out, process, tidy};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Run only this step; may be given more than once
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
}

/// One step; they run in this order, the quick ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The format of every file
    Fmt,
    /// The house rules that no compiler checks
    Tidy,
    /// Every lint, on all code
    Clippy,
    /// Each pure crate built alone, so that no other crate's features hide an impure call
    Alone,
    /// The documentation builds, and its links lead somewhere
    Doc,
    /// Licences, sources, and crates that are there twice
    Deny,
}

impl Step {
    fn run(self, workspace: &Workspace) -> Result<()> {
        let cargo = |args: &[&str]| process::cargo(&workspace.root, args);
        match self {
            Self::Fmt => process::show(&mut cargo(&["fmt", "--all", "--check"])),
            Self::Tidy => cli::run_tidy(workspace),
            Self::Clippy => process::show(&mut cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--keep-going",
                "--",
                "-D",
                "warnings",
            ])),
            Self::Alone => alone(workspace),
            Self::Doc => process::show(
                cargo(&["doc", "--workspace", "--no-deps", "--keep-going"])
                    .env("RUSTDOCFLAGS", "-D warnings"),
            ),
            Self::Deny => cargo_deny::run(workspace),
        }
    }

    /// What to do when it failed.
    fn remedy(self) -> &'static str {
        match self {
            Self::Fmt => "run `cargo fmt --all`",
            Self::Tidy => "each line says what to do; the rules are in xtask/src/tidy/",
            Self::Clippy => "meet the lint, or expect it with a reason that convinces a reviewer",
            Self::Alone => "add the features that the crate uses to its own Cargo.toml",
            Self::Doc => "mend the links and headings that rustdoc names",
            Self::Deny => "see deny.toml: an exception needs its reason there",
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Runs the steps, all of them also when one fails, and lists the failures at the end.
pub(crate) fn run(flags: &Flags, workspace: &Workspace) -> Result<()> {
    let steps = if flags.only.is_empty() { Step::value_variants() } else { &flags.only };
    let mut failures = Vec::new();
    for step in steps {
        let name = step.name();
        out::progress(format_args!("check: {name} …"));
        let (outcome, took) = process::timed(|| step.run(workspace));
        let took = took.as_secs_f32();
        match outcome {
            Ok(()) => out::progress(format_args!("check: {name} is well ({took:.1} s)")),
            Err(error) => {
                out::progress(format_args!("check: {name} FAILED ({took:.1} s): {error:#}"));
                failures.push(format!("  {name}: {error:#}\n    {}", step.remedy()));
            }
        }
    }
    if !failures.is_empty() {
        let again = "run one alone with `cargo xtask check --only STEP`";
        bail!(
            "{} of {} steps failed ({again}):\n{}",
            failures.len(),
            steps.len(),
            failures.join("\n")
        );
    }
    out::progress(format_args!("check: all {} steps are well", steps.len()));
    Ok(())
}

/// Builds one pure crate after the other, all of them also when one fails.
fn alone(workspace: &Workspace) -> Result<()> {
    let builds = |name: &&str| {
        let args = ["check", "--package", name];
        process::show(&mut process::cargo(&workspace.root, args)).is_ok()
    };
    let broken: Vec<&str> = tidy::pure_crates().filter(|name| !builds(name)).collect();
    if !broken.is_empty() {
        bail!("these do not build alone: {}", broken.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_name_of_its_own() {
        let names: Vec<String> = Step::value_variants().iter().map(|step| step.name()).collect();
        assert_eq!(names, ["fmt", "tidy", "clippy", "alone", "doc", "deny"]);
    }
}
