//! Gates.

use wire::api::GateView;

use super::{instant, list, plan_tone};
use crate::{
    paint::Paint,
    table::{Cell, Table},
};

pub(crate) fn gates(gates: &[GateView], paint: Paint) -> String {
    let heading = ["SINCE", "STATE", "PASSES", "MODULES", "MACHINES", "PLAN", "WHY OR WANTING"];
    let mut table = Table::new(heading);
    for gate in gates {
        table.row([
            Cell::plain(instant(gate.since)),
            Cell::new(plan_tone(&gate.state), &gate.state),
            Cell::plain(passes(gate)),
            Cell::plain(list(&gate.modules)),
            Cell::plain(list(&gate.machines)),
            Cell::plain(&gate.plan),
            Cell::plain(why(gate)),
        ]);
    }
    table.render(paint, "no gates yet; each release opens one for each wave")
}

/// `1 of 3`
pub(super) fn passes(gate: &GateView) -> String {
    format!("{} of {}", gate.passes, gate.of)
}

/// How it ended, or what is wanting.
pub(super) fn why(gate: &GateView) -> String {
    match &gate.why {
        Some(why) => why.clone(),
        None if gate.wanting.is_empty() => String::new(),
        None => gate.wanting.join("; "),
    }
}
