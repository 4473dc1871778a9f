//! The probe of rollbacks: the newest end of each module's gate, and the witnesses' verdicts.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::gate::{FailedGate, Rollback, observe_gate};
use crate::observation::{Observation, first_of_each_key};
use crate::rules::Rules;
use crate::witness::{WitnessVerdict, observe_witness};

/// All observations of rollbacks, sorted by key; a gate's beats a witness's of the same key.
///
/// `latest` has, of each module, the newest gate that ended, where it did not pass.
/// A gate that was not put back and keeps no reason for it repeats why it failed.
#[must_use]
pub fn observe_ends(
    rules: &Rules,
    latest: &[FailedGate],
    witnessed: &BTreeMap<String, Vec<WitnessVerdict>>,
) -> Vec<Observation> {
    let gates = latest.iter().filter_map(|gate| observe_gate(rules, &explained(gate)));
    let witnesses = witnessed.iter().flat_map(|(machine, verdicts)| {
        verdicts.iter().map(move |verdict| observe_witness(rules, machine, verdict))
    });
    let mut observations = first_of_each_key(gates.chain(witnesses), Observation::key);
    observations.sort_by_key(Observation::key);
    observations
}

fn explained(gate: &FailedGate) -> FailedGate {
    let not_why = match &gate.rollback {
        Rollback::NotRolledBack => gate.not_why.clone().or_else(|| Some(gate.why.clone())),
        Rollback::RollingBack | Rollback::RolledBack | Rollback::Unchanged | Rollback::Other(_) => {
            None
        }
    };
    FailedGate { not_why, ..gate.clone() }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec;

    use super::*;
    use crate::gate::End;

    #[test]
    fn a_kept_reason_beats_the_gates() {
        let gate = |not_why: Option<&str>| FailedGate {
            module: "blog".to_string(),
            component: None,
            machines: vec!["box-3".to_string()],
            end: End::Failed,
            rollback: Rollback::NotRolledBack,
            why: "web is unhealthy".to_string(),
            not_why: not_why.map(|why| why.to_string()),
            failed: None,
            previous: None,
            resolve: Vec::new(),
        };
        for (not_why, said) in
            [(Some("box-3 holds it"), "box-3 holds it"), (None, "web is unhealthy")]
        {
            let observed = observe_ends(&Rules::default(), &[gate(not_why)], &BTreeMap::new());
            let text = &observed[0].summary.text;
            assert!(text.ends_with(&alloc::format!("was not put back: {said}")), "{text}");
        }
    }
}
