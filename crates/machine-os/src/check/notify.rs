//! The `notify` check: what a workload has said of itself, and how long ago it last gave a sign of life.

use std::time::Duration;

use host::CheckFailed;
use inventory::Span;

use crate::shim::{Fact, Readiness};

/// Passes when the workload has said that it is ready and, given a watchdog, has not been quiet for longer than that since.
pub(crate) fn notify(answer: Option<Fact>, watchdog: Option<Span>) -> Result<(), CheckFailed> {
    let Some(Fact::Status { readiness, words }) = answer else {
        return Err(CheckFailed("its shim does not answer".to_owned()));
    };
    let why = match readiness {
        Readiness::NotReady => "it has not said that it is ready".to_owned(),
        Readiness::Triggered => {
            "it said itself that it does not work (WATCHDOG=trigger)".to_owned()
        }
        Readiness::Ready { quiet_for } => match (quiet_for, watchdog) {
            (Some(quiet), Some(bound)) if quiet > bound.as_duration() => late(quiet, bound),
            (Some(_) | None, Some(_) | None) => return Ok(()),
        },
    };
    let says = if words.is_empty() { String::new() } else { format!("; it says: {words}") };
    Err(CheckFailed(format!("{why}{says}")))
}

fn late(quiet: Duration, bound: Span) -> String {
    let seconds = quiet.as_secs_f64();
    format!("no sign of life (WATCHDOG=1) for {seconds:.1} s, and its watchdog allows {bound}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(readiness: Readiness, words: &str, watchdog: Option<Span>) -> Result<(), String> {
        let answer = Fact::Status { readiness, words: words.to_owned() };
        notify(Some(answer), watchdog).map_err(|failed| failed.0)
    }

    #[test]
    fn who_is_ready_and_not_quiet_for_too_long_passes() {
        let ready = |ms| Readiness::Ready { quiet_for: Some(Duration::from_millis(ms)) };
        let bound = Some(Span::seconds(2));
        for (readiness, watchdog, expected) in [
            (Readiness::Ready { quiet_for: None }, None, Ok(())),
            (ready(2_000), bound, Ok(())),
            (ready(90_000), None, Ok(())),
            (
                ready(2_061),
                bound,
                Err("no sign of life (WATCHDOG=1) for 2.1 s, and its watchdog allows 2s"),
            ),
            (Readiness::NotReady, bound, Err("it has not said that it is ready")),
            (
                Readiness::Triggered,
                None,
                Err("it said itself that it does not work (WATCHDOG=trigger)"),
            ),
        ] {
            assert_eq!(judged(readiness, "", watchdog), expected.map_err(str::to_owned));
            let says = |why: &str| format!("{why}; it says: at work");
            assert_eq!(judged(readiness, "at work", watchdog), expected.map_err(says));
        }
    }

    #[test]
    fn a_shim_that_does_not_answer_passes_nothing() {
        for answer in [None, Some(Fact::Ready)] {
            assert!(notify(answer, None).is_err());
        }
    }
}
