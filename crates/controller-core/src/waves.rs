//! How a tier's machines are shared out into waves.

use inventory::{WaveSize, Waves};
use names::MachineName;
use serde::{Deserialize, Serialize};

/// Machines that are sent a tier together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wave {
    /// Those that its gate judges.
    pub machines: Vec<MachineName>,
    /// Those that were silent when the tier began. They hold up no gate and are declared nothing: once the plan is done they
    /// catch up. Only a last wave has any.
    pub away: Vec<MachineName>,
}

/// Shares out machines, the best first machine first, into waves. `away` are left to the last wave.
///
/// A wave that would have no machine is left out. The first wave always has one that is judged if there is any machine
/// at all, even when all are away: a release that nobody could judge must end at its gate, not slip past it.
pub(crate) fn share_out(sizes: &Waves, ranked: &[MachineName], away: &[MachineName]) -> Vec<Wave> {
    let total = ranked.len() + away.len();
    let mut waves = Vec::new();
    let mut left = ranked;
    for size in sizes.sizes() {
        let wanted = match size {
            WaveSize::Count(count) => usize::try_from(count.get()).unwrap_or(usize::MAX),
            WaveSize::Share(share) => share.of(total),
            WaveSize::Rest => left.len(),
        };
        let (now, later) = left.split_at(wanted.min(left.len()));
        left = later;
        if !now.is_empty() {
            waves.push(Wave { machines: now.to_vec(), away: Vec::new() });
        }
    }
    match (waves.last_mut(), away) {
        (_, []) => {}
        (Some(last), away) => last.away = away.to_vec(),
        (None, [first, rest @ ..]) => {
            waves.push(Wave { machines: vec![first.clone()], away: rest.to_vec() });
        }
    }
    waves
}

/// Sees to it that the first wave has a machine that runs a module: where none of its machines does, the best one that does
/// joins it. So every module that moves meets one machine, and its gate, before it meets many; one whose machines are all
/// away ends there too.
pub(crate) fn bring_forward(waves: &mut Vec<Wave>, runs: impl Fn(&MachineName) -> bool) {
    let Some((first, later)) = waves.split_first_mut() else { return };
    if first.machines.iter().any(&runs) {
        return;
    }
    let found = later.iter_mut().find_map(|wave| take_first(&mut wave.machines, &runs));
    let found = found.or_else(|| take_first(&mut first.away, &runs));
    let found =
        found.or_else(|| later.iter_mut().find_map(|wave| take_first(&mut wave.away, &runs)));
    first.machines.extend(found);
    let away: Vec<_> = waves.iter_mut().flat_map(|wave| core::mem::take(&mut wave.away)).collect();
    waves.retain(|wave| !wave.machines.is_empty());
    if let Some(last) = waves.last_mut() {
        last.away = away;
    }
}

fn take_first(
    machines: &mut Vec<MachineName>,
    runs: impl Fn(&MachineName) -> bool,
) -> Option<MachineName> {
    let place = machines.iter().position(runs)?;
    Some(machines.remove(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(numbers: impl IntoIterator<Item = usize>) -> Vec<MachineName> {
        numbers.into_iter().map(|n| format!("box-{n}").parse().unwrap()).collect()
    }

    /// The sizes of the waves, and how many are away in the last.
    fn shared(sizes: &[&str], here: usize, away: usize) -> (Vec<usize>, usize) {
        let sizes = Waves::new(sizes.iter().map(|size| size.parse().unwrap()).collect()).unwrap();
        let waves = share_out(&sizes, &machines(0..here), &machines(here..here + away));
        let last = waves.last().map_or(0, |wave| wave.away.len());
        assert!(waves.iter().rev().skip(1).all(|wave| wave.away.is_empty()));
        (waves.iter().map(|wave| wave.machines.len()).collect(), last)
    }

    #[test]
    fn the_first_then_shares_then_the_rest() {
        assert_eq!(shared(&["1", "rest"], 3, 0), (vec![1, 2], 0));
        assert_eq!(shared(&["1", "10%", "50%", "rest"], 100, 0), (vec![1, 10, 50, 39], 0));
        assert_eq!(shared(&["rest"], 5, 0), (vec![5], 0));
    }

    #[test]
    fn a_wave_without_machines_is_left_out() {
        assert_eq!(shared(&["1", "rest"], 1, 0), (vec![1], 0));
        assert_eq!(shared(&["2", "50%", "rest"], 2, 0), (vec![2], 0));
        assert_eq!(shared(&["1", "rest"], 0, 0), (vec![], 0));
    }

    #[test]
    fn machines_that_are_away_wait_in_the_last_wave() {
        assert_eq!(shared(&["1", "rest"], 3, 2), (vec![1, 2], 2));
        assert_eq!(shared(&["1", "50%", "rest"], 1, 3), (vec![1], 3));
    }

    #[test]
    fn with_all_away_one_is_judged_all_the_same() {
        assert_eq!(shared(&["1", "rest"], 0, 3), (vec![1], 2));
    }

    #[test]
    fn each_module_has_a_machine_in_the_first_wave() {
        // Machines 0 to 2 are here, 3 and 4 away; the module runs on these, and that is what the waves come to.
        type Shared = Vec<(Vec<usize>, Vec<usize>)>;
        let cases: [(&[usize], Shared); 5] = [
            (&[0, 1], vec![(vec![0], vec![]), (vec![1, 2], vec![3, 4])]),
            (&[2], vec![(vec![0, 2], vec![]), (vec![1], vec![3, 4])]),
            (&[1, 2], vec![(vec![0, 1], vec![]), (vec![2], vec![3, 4])]),
            (&[4], vec![(vec![0, 4], vec![]), (vec![1, 2], vec![3])]),
            (&[], vec![(vec![0], vec![]), (vec![1, 2], vec![3, 4])]),
        ];
        for (runs, wanted) in cases {
            let sizes = Waves::default();
            let mut waves = share_out(&sizes, &machines(0..3), &machines(3..5));
            let runs_on = machines(runs.iter().copied());
            bring_forward(&mut waves, |machine| runs_on.contains(machine));
            let wanted = wanted
                .into_iter()
                .map(|(here, away)| Wave { machines: machines(here), away: machines(away) });
            assert_eq!(waves, wanted.collect::<Vec<_>>(), "{runs:?}");
        }
    }

    #[test]
    fn a_wave_that_gave_its_only_machine_is_gone() {
        let mut waves = share_out(&Waves::default(), &machines(0..2), &machines(2..3));
        bring_forward(&mut waves, |machine| machine.as_str() == "box-1");
        assert_eq!(waves, [Wave { machines: machines(0..2), away: machines(2..3) }]);
    }
}
