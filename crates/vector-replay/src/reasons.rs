//! Reasons as the vectors write them.

use gate_judge::{NotYet, Reason, Wanting};
use serde::de::Error as _;
use serde_json::{Map, Value};

/// The code and what it names, without the machine.
pub(crate) fn plain(reason: &Reason) -> Result<Map<String, Value>, serde_json::Error> {
    let reason = serde_json::to_value(reason)?;
    let Value::Object(reason) = reason else {
        let message = format!("a reason is an object, not {reason}");
        return Err(serde_json::Error::custom(message));
    };
    Ok(reason)
}

/// A pair's reason, with its machine where the code is about one.
pub(crate) fn of_pair(wanting: &Wanting) -> Result<Map<String, Value>, serde_json::Error> {
    let mut reason = plain(&wanting.reason)?;
    if names_its_machine(&wanting.reason) {
        reason.insert("machine".to_owned(), wanting.machine.clone().into());
    }
    Ok(reason)
}

/// Reasons about a source for all machines, or with a key that says it, name no machine.
fn names_its_machine(reason: &Reason) -> bool {
    let Reason::NotYet(not_yet) = reason else { return true };
    !matches!(
        not_yet,
        NotYet::ConditionsUnreadable
            | NotYet::ConditionRaised { .. }
            | NotYet::ServedUnreadable
            | NotYet::LeaseUnreadable
            | NotYet::LeaseVacant
            | NotYet::LeaseOlder
            | NotYet::ControllerNotReady
            | NotYet::HealthUnreadable
            | NotYet::CoreBehindSettling { .. }
    )
}
