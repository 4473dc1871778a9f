//! A fleet that is killed at any moment goes on, and its story comes to its end all the same.

use std::time::Duration;

use crate::fleet::{Dev, Outcome, PATIENCE, Place, finished};

/// Draws from a seed, so that a moment that once was bad can be come back to.
struct Draws(u64);

impl Draws {
    /// A number below the bound.
    fn below(&mut self, bound: u64) -> u64 {
        // The constants are Knuth's; the upper bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Kills a fleet a few times, each at a moment of its story that is drawn: so many lines in, and up to a quarter of a second
/// after that. What it ran runs on; whatever it had begun by then, the last start takes it over and brings it to its end.
fn killed(seed: u64) -> Outcome {
    let place = Place::new()?;
    let mut draws = Draws(seed);
    let mut moments = Vec::new();
    for _ in 0..=draws.below(3) {
        let mut dev = Dev::start(place.of_fleet(&["dev", "--exit"]))?;
        let lines = draws.below(45);
        let after = Duration::from_millis(draws.below(250));
        let mut said = 0;
        // A story that is told before it comes that far cannot be killed any more, and is fine.
        while said < lines && dev.next_line(PATIENCE).is_ok_and(|line| line.is_some()) {
            said += 1;
        }
        let _ = dev.next_line(after);
        dev.kill()?;
        moments.push(format!("after {said} lines: {:?}", dev.said.last()));
    }
    let last = finished(place.of_fleet(&["dev", "--exit"])).and_then(|last| last.done());
    last.map_err(|error| format!("seed {seed}, killed {moments:#?}: {error}"))?;
    place.nothing_is_left()
}

#[test]
fn killed_at_the_moments_of_seed_1() -> Outcome {
    killed(1)
}

#[test]
fn killed_at_the_moments_of_seed_2() -> Outcome {
    killed(2)
}

#[test]
fn killed_at_the_moments_of_seed_3() -> Outcome {
    killed(3)
}

#[test]
fn killed_before_it_said_anything() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::start(place.of_fleet(&["dev", "--exit"]))?;
    dev.kill()?;
    place.nothing_runs()?;
    finished(place.of_fleet(&["dev", "--exit"]))?.done()
}

#[test]
fn killed_and_not_started_again_it_leaves_nothing_for_long() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::start(place.of_fleet(&["dev"]))?;
    dev.wait_for_line("pass 1 of 3")?;
    dev.kill()?;
    if place.processes()?.is_empty() {
        return Err("its programs do not notice that it is killed".into());
    }
    place.nothing_runs()
}
