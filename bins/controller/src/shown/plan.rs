//! Release plans, in a row each or one whole.

use wire::api::{MoveView, PlanView, Released, WaveState, WaveView};

use super::{
    gates::{passes, why},
    instant, list, one_line,
};
use crate::{
    paint::{Paint, Tone, harmless},
    table::{Cell, Table},
};

pub(crate) fn plans(plans: &[PlanView], paint: Paint) -> String {
    let mut table = Table::new(["PLAN", "STATE", "MOVES", "ASKED", "BY", "NOTE"]);
    for plan in plans {
        table.row([
            Cell::new(Tone::Strong, &plan.plan),
            Cell::new(plan_tone(&plan.state), &plan.state),
            Cell::plain(list(plan.moves.iter().map(moved))),
            Cell::plain(instant(plan.at)),
            Cell::plain(&plan.by),
            Cell::plain(one_line(&plan.note)),
        ]);
    }
    table.render(paint, "no plans yet; controller release MODULE makes one")
}

/// The tone of a plan's or a gate's state.
pub(crate) fn plan_tone(state: &str) -> Tone {
    match state {
        "done" | "passed" => Tone::Good,
        "failed" | "cannot tell" | "putting back" => Tone::Bad,
        "sending" | "judging" => Tone::Busy,
        _ => Tone::Plain,
    }
}

/// `hello v1 → v2`
pub(crate) fn moved(one: &MoveView) -> String {
    let to = match &one.commit {
        Some(commit) => commit.as_str(),
        None => one.to.short(),
    };
    match &one.from {
        Some(from) => format!("{} {from} → {to}", one.module),
        None => format!("{} → {to}", one.module),
    }
}

/// One plan, whole.
pub(crate) fn plan(view: &PlanView, paint: Paint) -> String {
    let state = paint.tone(plan_tone(&view.state), &view.state);
    let mut lines = vec![
        format!("plan {}, asked for by {}, {}", view.plan, harmless(&view.by), instant(view.at)),
        format!("{state}: {}", harmless(&view.note)),
    ];
    lines.extend(view.moves.iter().map(|one| move_line(one, paint)));
    lines.extend(view.waves.iter().map(|one| wave_line(one, paint)));
    if let Some(first) = &view.first {
        lines.push(harmless(first));
    }
    if let Some(gate) = &view.gate {
        let state = paint.tone(plan_tone(&gate.state), &gate.state);
        let mut line =
            format!("gate on {}: {state}, {} passes", list(&gate.machines), passes(gate));
        let why = why(gate);
        if !why.is_empty() {
            line.push_str(&format!("; {}", harmless(&why)));
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn move_line(one: &MoveView, paint: Paint) -> String {
    let end = paint.tone(plan_tone(&one.end), &one.end);
    let rollback = match &one.rollback {
        // It is one word for programs, and two for people.
        Some(rollback) => format!("; {}", harmless(&rollback.replace('-', " "))),
        None => String::new(),
    };
    format!("  tier {}  {} ({})  {end}{rollback}", one.tier, moved(one), one.to.short())
}

fn wave_line(wave: &WaveView, paint: Paint) -> String {
    let (tone, state) = match wave.state {
        WaveState::Waiting => (Tone::Faint, "waiting"),
        WaveState::Judging => (Tone::Busy, "judging"),
        WaveState::Passed => (Tone::Good, "passed"),
        WaveState::NotPassed => (Tone::Bad, "not passed"),
    };
    let away =
        if wave.away.is_empty() { String::new() } else { format!(" (away: {})", list(&wave.away)) };
    let (state, machines) = (paint.tone(tone, state), list(&wave.machines));
    format!("  tier {}  wave {}  {machines}{away}  {state}", wave.tier, wave.wave)
}

/// A plan that was made, or would be.
pub(crate) fn released(released: &Released, paint: Paint) -> String {
    let text = plan(&released.plan, paint);
    if released.dry {
        format!("nothing was sent; this is what a release would do\n{text}")
    } else {
        text
    }
}
