//! A recorded gate is judged again: the checked-in sample, under both rules.

use gate_judge::{Ended, Found, Known, Opening, RecordedStep, Recording, Rules, Unread};
use std::error::Error;

fn sample() -> Result<Recording, serde_json::Error> {
    serde_json::from_str(include_str!("../examples/gate.json"))
}

#[test]
fn the_sample_passes_later_under_the_better_rules() -> Result<(), Box<dyn Error>> {
    let took_s = |rules: &Rules| -> Result<_, Box<dyn Error>> {
        let gate = sample()?.replay(rules)?.gate;
        Ok(gate.took().map(|took| took.num_seconds()))
    };
    assert_eq!(took_s(&Rules::reference())?, Some(175));
    assert_eq!(took_s(&Rules::default())?, Some(255), "the facts were unreadable for a moment");
    Ok(())
}

#[test]
fn another_policy_is_tried_on_the_same_facts() -> Result<(), Box<dyn Error>> {
    let mut policy = Rules::default().policy;
    policy.passes = 5;
    let gate = sample()?.replay(&Rules::default().with_policy(policy))?.gate;
    assert_eq!(gate.ended(), None);
    assert_eq!(gate.row().map(|row| row.passes.get()), Some(4));
    Ok(())
}

#[test]
fn a_recording_is_written_and_read() -> Result<(), Box<dyn Error>> {
    let mut recording = sample()?;
    let now = recording.opening.since;
    let unobserved = RecordedStep { now, known: Known::UnobservedMs(1_500) };
    recording.steps.insert(0, unobserved);
    let written = serde_json::to_string(&recording)?;
    assert_eq!(serde_json::from_str::<Recording>(&written)?, recording);

    let replayed = recording.replay(&Rules::default())?;
    assert_eq!(replayed.judgings.len() + 1, recording.steps.len());
    let unread =
        replayed.judgings.iter().filter(|(_, it)| it.found == Found::Unread(Unread::Facts));
    assert_eq!(unread.count(), 1);
    assert_eq!(
        replayed.gate.bound_ends(&Rules::default()).timestamp_millis(),
        now.timestamp_millis() + 601_500
    );
    Ok(())
}

#[test]
fn rules_that_open_no_empty_gate_replay_none() -> Result<(), Box<dyn Error>> {
    let mut recording = sample()?;
    recording.opening = Opening { machines: Vec::new(), ..recording.opening };
    assert!(recording.replay(&Rules::default()).is_err());
    let gate = recording.replay(&Rules::reference())?.gate;
    assert_eq!(gate.ended().and_then(Ended::blame), None, "nothing was wanting");
    Ok(())
}
