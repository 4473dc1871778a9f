//! How things stand, as a picture of a few lines: pure functions of the views.

use wire::{
    ResourceState,
    api::{MachineState, MachineView, PlanView, WaveState},
};

use crate::{
    paint::{Line, Tone},
    shown,
};

/// The most lines of machines; what does not fit is counted.
const MACHINE_LINES_MAX: usize = 6;

/// A plan: where it is, what it waits for, each wave, and what its gate has counted.
pub(crate) fn plan(plan: &PlanView) -> Vec<Line> {
    let moves = shown::list(plan.moves.iter().map(shown::moved));
    let mut waves = Line::default().and(Tone::Faint, "plan   ").and(Tone::Strong, moves);
    for wave in &plan.waves {
        let tone = match wave.state {
            WaveState::Waiting => Tone::Faint,
            WaveState::Judging => Tone::Busy,
            WaveState::Passed => Tone::Good,
            WaveState::NotPassed => Tone::Bad,
        };
        let sign = match wave.state {
            WaveState::Waiting => '·',
            WaveState::Judging => '◐',
            WaveState::Passed => '●',
            WaveState::NotPassed => '✗',
        };
        let machines = shown::count(wave.machines.len(), "machine");
        waves = waves.and(tone, format!("  {sign} {machines}"));
    }
    let state = Line::default()
        .and(Tone::Faint, "state  ")
        .and(shown::plan_tone(&plan.state), &plan.state)
        .and(Tone::Plain, format!("  {}", plan.note));
    let mut lines = vec![waves, state];
    if let Some(gate) = &plan.gate {
        let passed = (gate.passes as usize).min(20);
        let wanted = (gate.of.saturating_sub(gate.passes) as usize).min(20);
        let line = Line::default()
            .and(Tone::Faint, "gate   ")
            .and(Tone::Good, "■".repeat(passed))
            .and(Tone::Faint, "□".repeat(wanted))
            .and(Tone::Plain, format!("  {} of {} passes", gate.passes, gate.of));
        lines.push(line);
    }
    lines
}

/// Machines as tiles, as many to a line as fit.
pub(crate) fn machines(machines: &[MachineView], width: usize) -> Vec<Line> {
    let tiles: Vec<Line> = machines.iter().map(tile).collect();
    let tile_width = tiles.iter().map(Line::width).max().unwrap_or_default() + 2;
    let per_line = (width / tile_width).max(1);
    let mut lines: Vec<Line> = tiles
        .chunks(per_line)
        .take(MACHINE_LINES_MAX)
        .map(|row| row.iter().fold(Line::default(), |line, tile| line.joined(tile, tile_width)))
        .collect();
    let hidden = machines.len().saturating_sub(per_line * MACHINE_LINES_MAX);
    if hidden > 0 {
        let line = Line::default().and(Tone::Faint, format!("and {hidden} more"));
        lines.push(line);
    }
    lines
}

/// One machine: its name, a sign, and what it runs.
fn tile(machine: &MachineView) -> Line {
    let (tone, sign) = match machine.state {
        MachineState::Heard => match worst(machine) {
            None => (Tone::Faint, '○'),
            Some(state) => (shown::health(state), '●'),
        },
        MachineState::Silent => (Tone::Bad, '?'),
        MachineState::Unheard => (Tone::Faint, '?'),
    };
    let line = Line::default().and(tone, sign).and(Tone::Plain, format!(" {}", machine.machine));
    let builds = machine.resources.iter().map(|resource| match &resource.commit {
        Some(commit) => format!("{} {commit}", resource.module),
        None => format!("{} {}", resource.module, resource.build.short()),
    });
    let mut builds: Vec<_> = builds.collect();
    builds.dedup();
    if builds.is_empty() {
        line
    } else {
        line.and(Tone::Faint, format!(" {}", shown::list(builds)))
    }
}

/// The state of what stands worst on a machine.
fn worst(machine: &MachineView) -> Option<ResourceState> {
    let badness = |state: &ResourceState| match state {
        ResourceState::Stopped => 0,
        ResourceState::Healthy => 1,
        ResourceState::Starting => 2,
        ResourceState::Unhealthy => 3,
        ResourceState::Failed => 4,
    };
    machine.resources.iter().map(|resource| resource.state).max_by_key(badness)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{paint::Paint, samples};

    fn seen(lines: &[Line]) -> String {
        lines.iter().map(|line| line.render(Paint::Plain)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_plan_shows_its_waves_and_its_gate() {
        let picture = plan(&samples::judging(1, &["box-1: sample is starting"]));
        assert_eq!(
            seen(&picture),
            "plan   sample v1 → v2  ◐ 1 machine  · 2 machines\n\
             state  judging  wave 1 of 2\n\
             gate   ■□□  1 of 3 passes"
        );
    }

    #[test]
    fn machines_are_tiles_that_fill_the_width() {
        let fleet: Vec<_> = (1..=3)
            .map(|n| samples::machine(&format!("box-{n}"), "v1", ResourceState::Healthy))
            .collect();
        assert_eq!(
            seen(&machines(&fleet, 45)),
            "● box-1 sample v1  ● box-2 sample v1\n● box-3 sample v1"
        );
        assert_eq!(machines(&fleet, 1).len(), 3);
        assert_eq!(machines(&[], 80).len(), 0);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let fleet: Vec<_> = (1..=50)
            .map(|n| samples::machine(&format!("box-{n}"), "v1", ResourceState::Healthy))
            .collect();
        let picture = machines(&fleet, 20);
        assert_eq!(picture.len(), MACHINE_LINES_MAX + 1);
        assert!(seen(&picture).ends_with("and 44 more"));
    }

    #[test]
    fn the_worst_of_a_machine_is_what_its_sign_shows() {
        let mut machine = samples::machine("box-1", "v1", ResourceState::Healthy);
        machine.resources.push(machine.resources[0].clone());
        machine.resources[1].state = ResourceState::Failed;
        assert_eq!(worst(&machine), Some(ResourceState::Failed));
        machine.state = MachineState::Silent;
        assert_eq!(seen(&machines(&[machine], 80)), "? box-1 sample v1");
    }
}
