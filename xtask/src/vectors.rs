//! `cargo xtask vectors`: replays recorded behaviour, and says where ours is another.

use crate::out;
use crate::workspace::Workspace;
use anyhow::{Error, Result, bail};
use clap::Args;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use vector_replay::{Case, Disagreement, Replayed, VectorFile};

/// Which vectors.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Files (`.jsonl`, `.jsonl.gz`) or folders of them; without any, those that are checked in
    paths: Vec<PathBuf>,
}

/// How the cases ended, by suite.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    suites: BTreeMap<String, Tally>,
    /// What kept cases from being replayed, one line each.
    not_replayed: Vec<String>,
}

#[derive(Debug, Default)]
struct Tally {
    agreed: u64,
    disagreed: u64,
    /// Cases about what only the reference has.
    not_ours: u64,
    /// The first disagreement, for people.
    first: Option<String>,
}

/// Replays the given vectors and prints how each suite went.
pub(crate) fn run(flags: &Flags, workspace: &Workspace) -> Result<()> {
    let paths = if flags.paths.is_empty() { checked_in(workspace) } else { flags.paths.clone() };
    let tallies = replay(&paths);
    out::result(&tallies);
    tallies.verdict()
}

/// Replays the vectors that are checked in, and prints how each suite went.
pub(crate) fn run_checked_in(workspace: &Workspace) -> Result<()> {
    run(&Flags { paths: Vec::new() }, workspace)
}

/// The folders `tests/vectors` of our crates.
fn checked_in(workspace: &Workspace) -> Vec<PathBuf> {
    let folders = workspace.packages.iter().map(|package| package.folder().join("tests/vectors"));
    folders.filter(|folder| folder.is_dir()).collect()
}

fn replay(paths: &[PathBuf]) -> Tallies {
    let mut tallies = Tallies::default();
    for path in paths {
        match vector_replay::files(&[path]) {
            Ok(files) => files.iter().for_each(|file| tallies.add(file)),
            Err(error) => tallies.not_replayed.push(format!("{:#}", Error::new(error))),
        }
    }
    tallies
}

impl Tallies {
    fn add(&mut self, file: &VectorFile) {
        out::progress(format_args!("vectors: {} …", file.path.display()));
        let mut unknown: BTreeMap<&str, u64> = BTreeMap::new();
        for case in &file.cases {
            let outcome = vector_replay::replay(case);
            if let Err(Disagreement::UnknownSuite { .. }) = outcome {
                *unknown.entry(&case.suite).or_default() += 1;
                continue;
            }
            let tally = self.suites.entry(case.suite.clone()).or_default();
            match outcome {
                Ok(Replayed::Agreed) => tally.agreed += 1,
                Ok(Replayed::NotOurs) => tally.not_ours += 1,
                Err(disagreement) => {
                    tally.disagreed += 1;
                    tally.first.get_or_insert_with(|| shown(&file.path, case, &disagreement));
                }
            }
        }
        self.not_replayed.extend(unknown.into_iter().map(|(suite, cases)| {
            format!("{}: the suite `{suite}` is not known yet ({cases} cases)", file.path.display())
        }));
    }

    fn agreed(&self) -> u64 {
        self.suites.values().map(|tally| tally.agreed).sum()
    }

    fn disagreed(&self) -> u64 {
        self.suites.values().map(|tally| tally.disagreed).sum()
    }

    /// All agreed, there was something to agree with, and nothing was left out.
    fn verdict(&self) -> Result<()> {
        let disagreed = self.disagreed();
        if disagreed > 0 {
            bail!("{disagreed} recorded cases disagree; the first of each suite is shown above");
        }
        if !self.not_replayed.is_empty() {
            bail!("not everything was replayed: each `not replayed` above says what and why");
        }
        if self.agreed() == 0 {
            bail!("nothing was replayed: there are no vectors in crates/*/tests/vectors");
        }
        Ok(())
    }
}

impl Display for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.not_replayed {
            writeln!(f, "not replayed: {line}")?;
        }
        for (suite, Tally { agreed, disagreed, not_ours, first }) in &self.suites {
            write!(f, "{suite}: agreed {agreed}, disagreed {disagreed}")?;
            match not_ours {
                0 => writeln!(f)?,
                some => writeln!(f, ", not ours {some}")?,
            }
            if let Some(first) = first {
                writeln!(f, "{first}")?;
            }
        }
        write!(f, "vectors: {} agreed, {} disagreed", self.agreed(), self.disagreed())
    }
}

/// A disagreement with the place of its case, one line for each field that differs.
fn shown(path: &Path, case: &Case, disagreement: &Disagreement) -> String {
    let quirk = case.quirk.as_ref().map_or_else(String::new, |tag| format!(" (quirk {tag})"));
    let mut text = format!("  first in {}: {}{quirk}", path.display(), case.name);
    for line in disagreement.to_string().lines() {
        text.push_str("\n    ");
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(suite: &str, module: &str, component: &str) -> Case {
        Case {
            suite: suite.to_owned(),
            name: format!("{module}_is_{component}"),
            quirk: Some("odd".to_owned()),
            input: json!({"what": "core_component", "module": module}),
            expect: json!({"component": component}),
        }
    }

    fn tallies(cases: Vec<Case>) -> Tallies {
        let mut tallies = Tallies::default();
        tallies.add(&VectorFile { path: "some/a.jsonl".into(), cases });
        tallies
    }

    #[test]
    fn agreement_is_counted_by_suite() {
        let agrees = case("observations", "controller", "controller");
        let tallies = tallies(vec![agrees.clone(), agrees]);
        assert_eq!(
            tallies.to_string(),
            "observations: agreed 2, disagreed 0\nvectors: 2 agreed, 0 disagreed"
        );
        assert!(tallies.verdict().is_ok());
    }

    #[test]
    fn the_first_disagreement_is_shown_field_by_field() {
        let cases = vec![
            case("observations", "relay", ""),
            case("observations", "relay", "controller"),
            case("observations", "ledger", "controller"),
        ];
        let tallies = tallies(cases);
        assert_eq!(
            tallies.to_string(),
            "observations: agreed 1, disagreed 2\n  \
             first in some/a.jsonl: relay_is_controller (quirk odd)\n    \
             component: expected \"controller\", got \"\"\n\
             vectors: 1 agreed, 2 disagreed"
        );
        let error = tallies.verdict().unwrap_err().to_string();
        assert!(error.starts_with("2 recorded cases disagree"), "{error}");
    }

    #[test]
    fn a_case_about_what_only_the_reference_has_is_counted_apart() {
        let input = json!({"name": "t", "seed": 0, "ids": [], "initial_file": null, "steps": [{
            "op": "open", "args": {"memory_only": true}, "now": "2026-03-01T00:00:20Z",
            "save": "ok", "result": {}, "saved": false, "after": {}, "queries": [],
        }]});
        let mut case = case("book", "", "");
        case.input = input;
        let tallies = tallies(vec![case]);
        assert_eq!(
            tallies.to_string(),
            "book: agreed 0, disagreed 0, not ours 1\nvectors: 0 agreed, 0 disagreed"
        );
        assert!(tallies.verdict().is_err(), "nothing was compared");
    }

    #[test]
    fn an_unknown_suite_is_said_and_is_no_success() {
        let cases = vec![case("observations", "relay", ""), case("weather", "relay", "")];
        let tallies = tallies(cases);
        assert!(tallies.to_string().starts_with(
            "not replayed: some/a.jsonl: the suite `weather` is not known yet (1 cases)\n"
        ));
        assert!(tallies.verdict().unwrap_err().to_string().starts_with("not everything"));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_is_no_success() {
        let tallies = replay(&["no/such/file.jsonl".into()]);
        let text = tallies.to_string();
        assert!(text.starts_with("not replayed: cannot read no/such/file.jsonl: "), "{text}");
        assert!(tallies.verdict().is_err());
    }

    #[test]
    fn nothing_at_all_is_no_success() {
        let error = replay(&[]).verdict().unwrap_err().to_string();
        assert!(error.starts_with("nothing was replayed"), "{error}");
    }
}
