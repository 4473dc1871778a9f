//! Builds.

use wire::api::{BuildView, Registered};

use super::{instant, list, one_line};
use crate::{
    paint::{Paint, Tone},
    table::{Cell, Table},
};

pub(crate) fn builds(builds: &[BuildView], paint: Paint) -> String {
    let mut table = Table::new(["BUILD", "COMMIT", "STANDING", "REGISTERED", "MACHINES", "WHY"]);
    for build in builds {
        table.row([
            Cell::new(Tone::Strong, format!("{}@{}", build.module, build.build.short())),
            Cell::plain(&build.commit),
            Cell::new(standing(&build.standing), &build.standing),
            Cell::plain(instant(build.registered_at)),
            Cell::plain(list(&build.machines)),
            Cell::plain(build.why.as_deref().map_or_else(String::new, one_line)),
        ]);
    }
    table.render(paint, "no builds yet; controller builds add PATH registers one")
}

/// The tone of a standing.
fn standing(word: &str) -> Tone {
    match word {
        "proven" => Tone::Good,
        "condemned" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// What the source calls it, and the end of its id.
pub(crate) fn build_name(build: &BuildView) -> String {
    format!("{} {}", build.commit, build.build.short())
}

/// What came of a registration, and what to do next.
pub(crate) fn registered(registered: &Registered, _: Paint) -> String {
    let Registered { module, build, commit, known } = registered;
    let word = if *known { "is registered already" } else { "registered" };
    let short = build.short();
    format!(
        "{module}@{short} {word} ({commit})\nrelease it: controller release {module}@{short} --wait"
    )
}
