//! Reads `[gate]`, and refuses a policy that no build could ever pass.

use gate_judge::Rules;
use toml_fields::{Field, Found, Reported};

use super::{COUNT, some_time, time};
use crate::manifest::model::GatePolicy;

pub(super) fn policy(field: Field, found: &mut Found) -> Result<GatePolicy, Reported> {
    let mut table = field.table(found)?;
    let passes = table.optional(found, "passes", |field, found| field.whole(found, COUNT));
    let every = table.optional(found, "every", some_time);
    let settle = table.optional(found, "settle", time);
    let bound = table.optional(found, "bound", some_time);
    let spot = table.spot.clone();
    table.finish(found);
    let policy = GatePolicy { passes: passes?, every: every?, settle: settle?, bound: bound? };
    match policy.over_defaults().never_passes(Rules::default().settle_from) {
        None => Ok(policy),
        Some(why) => Err(spot.wrong(found, format!("no build could ever pass: {why}"))),
    }
}
