//! The recorded behaviour after a failed gate: every vector agrees, none is skipped.

use std::path::Path;

use vector_replay::{files, replay};

#[test]
fn every_vector_of_failed_gates_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let read = files(&[folder]).unwrap();
    let mut counts = Vec::new();
    for file in &read {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for case in &file.cases {
            if let Err(disagreement) = replay(case) {
                panic!("{name}: {} (quirk {:?}):\n{disagreement}", case.name, case.quirk);
            }
        }
        counts.push((name, file.cases.len()));
    }
    let expected = [
        ("gate-failed-directed.jsonl".to_owned(), 63),
        ("gate-failed-random-public.jsonl.gz".to_owned(), 200),
    ];
    assert_eq!(counts, expected);
}
