//! What happened between two looks at the fleet, as data, and each piece of it as a line.

use names::{MachineName, ModuleName, ResourceName};
use wire::{
    ResourceState,
    api::{MachineState, MachineView, PlanView, ResourceView, WaveState},
};

use crate::{
    paint::{Line, Tone},
    shown,
};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// A plan came to a state.
    Plan { moves: String, state: String, note: String },
    /// A wave was sent its builds, or its gate ended.
    Wave { machines: Vec<MachineName>, state: WaveState },
    /// A gate found its builds good, so often now.
    Pass { machines: Vec<MachineName>, passes: u32, of: u32 },
    /// A gate waits for this.
    Wanting { machines: Vec<MachineName>, what: String },
    /// What came of putting a module back.
    Rollback { module: ModuleName, what: String },
    /// A machine is heard, or is no longer.
    Machine { machine: MachineName, state: MachineState },
    /// A resource runs another build, or stands otherwise, or was restarted.
    Resource {
        machine: MachineName,
        module: ModuleName,
        resource: ResourceName,
        build: String,
        state: ResourceState,
        restarts: u32,
        why: Option<String>,
    },
}

/// What happened to a plan. One that was not looked at before came to where it is.
pub(crate) fn of_plan(before: Option<&PlanView>, after: &PlanView) -> Vec<News> {
    let state = before.is_none_or(|before| before.state != after.state);
    let state = state.then(|| News::Plan {
        moves: shown::list(after.moves.iter().map(shown::moved)),
        state: after.state.clone(),
        // While it is judged, its gate says more.
        note: if after.state == "judging" { String::new() } else { after.note.clone() },
    });
    let (gate, waves) = (of_gate(before, after), of_waves(before, after));
    let rest = gate.into_iter().chain(waves).chain(of_rollbacks(before, after));
    // What a plan came to follows from what its gate found; what its gate finds follows from that it is judged.
    if after.ended { rest.chain(state).collect() } else { state.into_iter().chain(rest).collect() }
}

fn of_gate(before: Option<&PlanView>, after: &PlanView) -> Option<News> {
    let gate = after.gate.as_ref()?;
    let same = before.and_then(|before| before.gate.as_ref());
    let same = same.filter(|before| before.since == gate.since);
    let machines = gate.machines.clone();
    if gate.passes > same.map_or(0, |before| before.passes) {
        return Some(News::Pass { machines, passes: gate.passes, of: gate.of });
    }
    let is_new = same.is_none_or(|before| before.wanting != gate.wanting);
    let is_wanting = gate.state == "judging" && !gate.wanting.is_empty();
    (is_new && is_wanting).then(|| News::Wanting { machines, what: gate.wanting.join("; ") })
}

fn of_waves(before: Option<&PlanView>, after: &PlanView) -> Vec<News> {
    let before = |index: usize| before.and_then(|before| before.waves.get(index));
    let waves = after.waves.iter().enumerate();
    let moved = waves.filter(|(index, wave)| {
        before(*index).map_or(WaveState::Waiting, |before| before.state) != wave.state
    });
    moved
        .map(|(_, wave)| News::Wave { machines: wave.machines.clone(), state: wave.state })
        .collect()
}

fn of_rollbacks(before: Option<&PlanView>, after: &PlanView) -> Vec<News> {
    let before =
        |index: usize| before.and_then(|before| before.moves.get(index)?.rollback.as_ref());
    let moves = after.moves.iter().enumerate();
    let told = moves.filter_map(|(index, one)| {
        let what = one.rollback.as_ref().filter(|what| Some(*what) != before(index))?;
        // It is one word for programs, and two for people.
        Some(News::Rollback { module: one.module.clone(), what: what.replace('-', " ") })
    });
    told.collect()
}

/// What happened to machines. Of one that was not looked at before, all is news.
pub(crate) fn of_machines(before: &[MachineView], after: &[MachineView]) -> Vec<News> {
    let mut news = Vec::new();
    for machine in after {
        let same = before.iter().find(|before| before.machine == machine.machine);
        if same.map_or(MachineState::Unheard, |before| before.state) != machine.state {
            let name = machine.machine.clone();
            news.push(News::Machine { machine: name, state: machine.state });
        }
        for resource in &machine.resources {
            let before = same.and_then(|before| {
                before.resources.iter().find(|before| {
                    (&before.instance, &before.resource) == (&resource.instance, &resource.resource)
                })
            });
            if before.is_none_or(|before| {
                (&before.build, before.state, before.restarts)
                    != (&resource.build, resource.state, resource.restarts)
            }) {
                news.push(of_resource(&machine.machine, resource));
            }
        }
    }
    news
}

fn of_resource(machine: &MachineName, resource: &ResourceView) -> News {
    let build = match &resource.commit {
        Some(commit) => commit.to_string(),
        None => resource.build.short().to_owned(),
    };
    News::Resource {
        machine: machine.clone(),
        module: resource.module.clone(),
        resource: resource.resource.clone(),
        build,
        state: resource.state,
        restarts: resource.restarts,
        why: resource.why.as_deref().map(shown::one_line),
    }
}

impl News {
    /// Whether it is passing: where a picture shows how things stand, it need not be said too.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Wanting { .. } | Self::Resource { .. } => true,
            Self::Plan { .. }
            | Self::Wave { .. }
            | Self::Pass { .. }
            | Self::Rollback { .. }
            | Self::Machine { .. } => false,
        }
    }

    /// It as a line.
    pub(crate) fn line(&self) -> Line {
        let line = Line::default();
        match self {
            Self::Plan { moves, state, note } => line
                .and(Tone::Strong, format!("plan {moves}: "))
                .and(shown::plan_tone(state), state)
                .and(Tone::Plain, after_colon(note)),
            Self::Wave { machines, state } => {
                let (tone, what) = match state {
                    WaveState::Waiting => (Tone::Faint, "waits"),
                    WaveState::Judging => (Tone::Busy, "sent, and judged from now on"),
                    WaveState::Passed => (Tone::Good, "passed its gate"),
                    WaveState::NotPassed => (Tone::Bad, "did not pass its gate"),
                };
                line.and(Tone::Plain, format!("wave {}: ", some(machines))).and(tone, what)
            }
            Self::Pass { machines, passes, of } => line
                .and(Tone::Plain, format!("gate on {}: ", some(machines)))
                .and(Tone::Good, format!("pass {passes} of {of}")),
            Self::Wanting { machines, what } => line
                .and(Tone::Plain, format!("gate on {}: ", some(machines)))
                .and(Tone::Busy, format!("not yet: {what}")),
            Self::Rollback { module, what } => {
                line.and(Tone::Strong, format!("{module}: ")).and(Tone::Plain, what)
            }
            Self::Machine { machine, state } => {
                let (tone, what) = match state {
                    MachineState::Heard => (Tone::Good, "is heard"),
                    MachineState::Silent => (Tone::Bad, "has gone silent"),
                    MachineState::Unheard => (Tone::Faint, "was not heard yet"),
                };
                line.and(Tone::Plain, format!("{machine} ")).and(tone, what)
            }
            Self::Resource { machine, module, resource, build, state, restarts, why } => {
                let line = line
                    .and(Tone::Plain, format!("{machine}: {module}/{resource} {build} "))
                    .and(shown::health(*state), state);
                let line = match restarts {
                    0 => line,
                    number => line.and(
                        Tone::Plain,
                        format!(", {}", shown::count(*number as usize, "restart")),
                    ),
                };
                line.and(Tone::Plain, after_colon(why.as_deref().unwrap_or_default()))
            }
        }
    }
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The names of a few machines, or how many they are.
fn some(machines: &[MachineName]) -> String {
    /// As many as fit into a line with what is said of them.
    const NAMED_MAX: usize = 4;
    if machines.len() <= NAMED_MAX {
        return shown::list(machines);
    }
    let (named, rest) = machines.split_at(NAMED_MAX - 1);
    format!("{} and {} more", shown::list(named), rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{paint::Paint, samples};

    fn told(news: Vec<News>) -> Vec<String> {
        news.iter().map(|news| news.line().render(Paint::Plain)).collect()
    }

    #[test]
    fn a_plan_is_told_from_where_it_was() {
        let judging = samples::judging(1, &[]);
        assert_eq!(
            told(of_plan(None, &judging)),
            [
                "plan sample v1 → v2: judging",
                "gate on box-1: pass 1 of 3",
                "wave box-1: sent, and judged from now on",
            ]
        );
        assert_eq!(told(of_plan(Some(&judging), &judging)), [""; 0]);
        let wanting = samples::judging(1, &["box-1: sample is unhealthy"]);
        assert_eq!(
            told(of_plan(Some(&judging), &wanting)),
            ["gate on box-1: not yet: box-1: sample is unhealthy"]
        );
    }

    #[test]
    fn a_failed_plan_is_told_to_its_end() {
        assert_eq!(
            told(of_plan(Some(&samples::judging(0, &[])), &samples::failed())),
            [
                "wave box-1: did not pass its gate",
                "sample: put back to v1",
                "plan sample v1 → v2: failed: it crash-loops",
            ]
        );
    }

    #[test]
    fn machines_are_told_when_they_change() {
        let healthy = samples::machine("box-1", "v1", ResourceState::Healthy);
        let before = [healthy.clone()];
        let told_first = told(of_machines(&[], &before));
        assert_eq!(told_first, ["box-1 is heard", "box-1: sample/web v1 healthy"]);
        assert_eq!(told(of_machines(&before, &before)), [""; 0]);
        let mut after = samples::machine("box-1", "v2", ResourceState::Unhealthy);
        after.state = MachineState::Silent;
        after.resources[0].restarts = 2;
        after.resources[0].why = Some("exit status 3\nlast words".to_owned());
        assert_eq!(
            told(of_machines(&before, &[after])),
            [
                "box-1 has gone silent",
                "box-1: sample/web v2 unhealthy, 2 restarts: exit status 3 last words",
            ]
        );
    }

    #[test]
    fn many_machines_are_counted() {
        let names: Vec<MachineName> =
            (1..=50).map(|n| format!("box-{n}").parse().unwrap()).collect();
        assert_eq!(some(&names), "box-1, box-2, box-3 and 47 more");
        assert_eq!(some(&names[..4]), "box-1, box-2, box-3, box-4");
    }
}
