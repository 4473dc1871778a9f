//! Machines, with a row for each thing they run.

use chrono::{DateTime, Utc};
use wire::api::{MachineState, MachineView, ResourceView};

use super::{age, health, one_line};
use crate::{
    paint::{Paint, Tone},
    table::{Cell, Table},
};

pub(crate) fn machines(machines: &[MachineView], now: DateTime<Utc>, paint: Paint) -> String {
    let heading =
        ["MACHINE", "STATE", "HEARD", "HOLDS", "RUNS", "BUILD", "HEALTH", "ADDRESS", "WHY"];
    let mut table = Table::new(heading);
    for machine in machines {
        let (tone, state) = standing(machine.state);
        let [name, state, heard] = [
            Cell::new(Tone::Strong, &machine.machine),
            Cell::new(tone, state),
            Cell::known(machine.heard.map(|at| age(at, now))),
        ];
        let first = [name, state, heard, holds(machine)];
        let mut resources = machine.resources.iter();
        table.row(join(first, resources.next().map_or_else(nothing, resource)));
        for next in resources {
            table.row(join([(); 4].map(|()| Cell::plain("")), resource(next)));
        }
    }
    table.render(paint, "no machines yet")
}

fn standing(state: MachineState) -> (Tone, &'static str) {
    match state {
        MachineState::Heard => (Tone::Good, "heard"),
        MachineState::Silent => (Tone::Bad, "silent"),
        MachineState::Unheard => (Tone::Faint, "unheard"),
    }
}

/// The number of its declaration, and of the one it should hold where that is another.
fn holds(machine: &MachineView) -> Cell {
    match (machine.holds, machine.declared) {
        (held, Some(declared)) if held != Some(declared) => {
            let held = held.map_or_else(|| "-".to_owned(), |number| number.to_string());
            Cell::new(Tone::Busy, format!("{held} of {declared}"))
        }
        (held, _) => Cell::known(held),
    }
}

fn resource(view: &ResourceView) -> [Cell; 5] {
    let stands = match view.restarts {
        0 => view.state.to_string(),
        restarts => format!("{} ({})", view.state, super::count(restarts as usize, "restart")),
    };
    let build = match &view.commit {
        Some(commit) => format!("{commit} {}", view.build.short()),
        None => view.build.short().to_owned(),
    };
    [
        Cell::plain(format!("{}/{}", view.instance, view.resource)),
        Cell::plain(build),
        Cell::new(health(view.state), stands),
        Cell::known(view.address),
        Cell::plain(view.why.as_deref().map_or_else(String::new, one_line)),
    ]
}

fn nothing() -> [Cell; 5] {
    let dash = Cell::known(None::<&str>);
    [dash.clone(), dash.clone(), dash.clone(), dash, Cell::plain("")]
}

fn join([a, b, c, d]: [Cell; 4], [e, f, g, h, i]: [Cell; 5]) -> [Cell; 9] {
    [a, b, c, d, e, f, g, h, i]
}
