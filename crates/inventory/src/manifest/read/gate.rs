//! Reads `[gate]`, and refuses a policy that no build could ever pass.

use super::{COUNT, some_time, time};
use crate::manifest::{
    fault::{Found, Reported},
    field::Field,
    model::GatePolicy,
};

pub(super) fn policy(field: Field, found: &mut Found) -> Result<GatePolicy, Reported> {
    let mut table = field.table(found)?;
    let passes = table.optional(found, "passes", |field, found| field.whole(found, COUNT));
    let every = table.optional(found, "every", some_time);
    let settle = table.optional(found, "settle", time);
    let bound = table.optional(found, "bound", some_time);
    table.finish(found);
    Ok(GatePolicy { passes: passes?, every: every?, settle: settle?, bound: bound? })
}
