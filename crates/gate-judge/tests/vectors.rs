//! The recorded behaviour, replayed under the reference rules: all of it, none skipped.

use std::path::Path;
use vector_replay::{Case, ReadError, VectorFile, files, replay};

/// Replays a file's cases that are wanted, and answers how many there were.
fn agree(name: &str, wanted: impl Fn(&Case) -> bool) -> Result<usize, ReadError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    let read = files(&[path])?;
    let cases = read.iter().flat_map(|VectorFile { cases, .. }| cases);
    let wanted: Vec<_> = cases.filter(|case| wanted(case)).collect();
    let disagreements: Vec<_> = wanted
        .iter()
        .filter_map(|case| {
            let disagreement = replay(case).err()?;
            let quirk = case.quirk.as_deref().unwrap_or("none");
            Some(format!("{} (quirk: {quirk})\n{disagreement}", case.name))
        })
        .collect();
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n\n"));
    Ok(wanted.len())
}

fn all(_: &Case) -> bool {
    true
}

#[test]
fn health() -> Result<(), ReadError> {
    assert_eq!(agree("gate-health-directed.jsonl", all)?, 117);
    assert_eq!(agree("gate-health-random-public.jsonl.gz", all)?, 300);
    Ok(())
}

#[test]
fn about_machine() -> Result<(), ReadError> {
    assert_eq!(agree("gate-about-machine-directed.jsonl", all)?, 42);
    assert_eq!(agree("gate-about-machine-random-public.jsonl.gz", all)?, 300);
    Ok(())
}

#[test]
fn gate() -> Result<(), ReadError> {
    assert_eq!(agree("gate-gate-directed.jsonl", all)?, 91);
    assert_eq!(agree("gate-gate-random-public.jsonl.gz", all)?, 150);
    Ok(())
}

/// The observations that this crate answers; the others are about conditions.
fn of_this_crate(case: &Case) -> bool {
    let what = case.input["what"].as_str();
    matches!(what, Some("gate_line" | "core_component"))
}

#[test]
fn lines_and_core_components() -> Result<(), ReadError> {
    assert_eq!(agree("gate-observations-directed.jsonl", of_this_crate)?, 14 + 8);
    assert_eq!(agree("gate-observations-random-public.jsonl.gz", of_this_crate)?, 25);
    Ok(())
}
