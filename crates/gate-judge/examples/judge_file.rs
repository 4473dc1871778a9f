//! Judges a recorded gate from a file: `cargo run --example judge_file -- FILE [reference]`.
//!
//! The file holds what was sent, the manifests, and the facts at each judging; the checked-in
//! `examples/gate.json` is one. Prints what each judging found and how the gate stands.

#![expect(clippy::print_stdout, reason = "an example says what it finds")]

use gate_judge::{Recording, Rules};
use std::error::Error;

/// The sample that is judged when no file is named.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/gate.json");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| SAMPLE.to_owned());
    let rules = match arguments.next().as_deref() {
        None => Rules::default(),
        Some("reference") => Rules::reference(),
        Some(other) => return Err(format!("no such rules: {other}").into()),
    };
    let recording: Recording = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let replayed = recording.replay(&rules)?;
    for (now, judging) in &replayed.judgings {
        println!("{now}  {:?}", judging.found);
        for wanting in &judging.wanting {
            println!("    {wanting} ({})", wanting.reason.code());
        }
    }
    println!("{}", replayed.gate.summary(&rules, None));
    Ok(())
}
