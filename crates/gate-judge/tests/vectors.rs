//! The recorded behaviour, replayed under the reference rules: all of it, none skipped.

use std::path::Path;
use vector_replay::{Case, VectorFile, files, replay};

/// Replays a file's cases that are wanted, and answers how many there were.
fn agree(name: &str, wanted: impl Fn(&Case) -> bool) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    let read = files(&[path]).unwrap();
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
    wanted.len()
}

/// The observations that this crate answers; the others are about conditions.
fn of_this_crate(case: &Case) -> bool {
    let what = case.input["what"].as_str();
    matches!(what, Some("gate_line" | "core_component"))
}

#[test]
fn lines_and_core_components() {
    assert_eq!(agree("gate-observations-directed.jsonl", of_this_crate), 14 + 8);
    assert_eq!(agree("gate-observations-random-public.jsonl.gz", of_this_crate), 25);
}
