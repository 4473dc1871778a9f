//! The recorded behaviour, replayed under the reference rules: every trace agrees.

use failure_book::Rules;
use std::path::Path;
use vector_replay::{Case, ReadError, Replayed, files, replay, replay_book};

const DIRECTED: &str = "book-directed.jsonl";
const RANDOM: &str = "book-random-public.jsonl.gz";

fn cases(name: &str) -> Result<Vec<Case>, ReadError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    Ok(files(&[path])?.into_iter().flat_map(|file| file.cases).collect())
}

/// Replays a file's traces; answers how many agreed, and the names of those that are not about
/// a book that is kept.
fn replayed(name: &str) -> Result<(usize, Vec<String>), ReadError> {
    let mut agreed = 0;
    let mut not_ours = Vec::new();
    let mut disagreements = Vec::new();
    for case in cases(name)? {
        match replay(&case) {
            Ok(Replayed::Agreed) => agreed += 1,
            Ok(Replayed::NotOurs) => not_ours.push(case.name),
            Err(disagreement) => disagreements.push(format!("{}\n{disagreement}", case.name)),
        }
    }
    let count = disagreements.len();
    assert!(disagreements.is_empty(), "{count} disagree:\n{}", disagreements.join("\n\n"));
    Ok((agreed, not_ours))
}

#[test]
fn directed_traces() -> Result<(), ReadError> {
    let (agreed, not_ours) = replayed(DIRECTED)?;
    assert_eq!(agreed, 305);
    assert_eq!(not_ours.len(), 5);
    for name in not_ours {
        assert!(name.starts_with("memory_only_"), "{name}");
    }
    Ok(())
}

#[test]
fn random_traces() -> Result<(), ReadError> {
    assert_eq!(replayed(RANDOM)?, (150, Vec::new()));
    Ok(())
}

/// Our own rules differ where a grant frees the marker of a running retry, in the result of a later
/// failure, and nowhere else.
#[test]
fn our_rules_differ_where_they_say() -> Result<(), ReadError> {
    let mut differing = Vec::new();
    for case in cases(DIRECTED)?.into_iter().chain(cases(RANDOM)?) {
        if let Err(disagreement) = replay_book(&case, Rules::default()) {
            let said = disagreement.to_string();
            assert!(said.contains(".result.result: expected \"pre_retry\""), "{said}");
            differing.push(case.name);
        }
    }
    let expected = [
        "retry_at_record_retried_already_marker_still_names_the_build",
        "retry_at_marker_of_a_running_retry_makes_its_failure_stale",
        "random_60",
    ];
    assert_eq!(differing, expected);
    Ok(())
}
