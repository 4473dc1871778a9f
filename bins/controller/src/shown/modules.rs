//! Modules.

use wire::api::ModuleView;

use super::{build_name, list};
use crate::{
    paint::{Paint, Tone},
    table::{Cell, Table},
};

pub(crate) fn modules(modules: &[ModuleView], paint: Paint) -> String {
    let mut table =
        Table::new(["MODULE", "REGISTERED", "PROVEN", "ASSIGNED TO", "MACHINES", "PLAN"]);
    for module in modules {
        table.row([
            Cell::new(Tone::Strong, &module.module),
            Cell::known(module.registered.as_ref().map(build_name)),
            Cell::known(module.proven.as_ref().map(build_name)),
            Cell::plain(list(&module.assigned)),
            Cell::plain(module.machines.len()),
            Cell::known(module.plan.as_ref()),
        ]);
    }
    table.render(
        paint,
        "no modules yet; controller builds add PATH registers the first build of one",
    )
}
