//! Lines that repeat: a fault that comes again and again is told a few times, and then only counted.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::log::Severity;

/// How often one thing is told within [`WINDOW`]. A build that crashes, is put back and comes again is told each time; one
/// that crashes in a loop is not.
const TOLD_MAX: u32 = 3;

const WINDOW: Duration = Duration::from_secs(60);

/// More things than a machine tells of within a window. What was told longest ago is forgotten first, so nothing grows.
const REMEMBERED_MAX: usize = 512;

/// Something to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) severity: Severity,
    /// What it is about: two lines about the same are one thing that happened twice.
    pub(crate) about: String,
    pub(crate) text: String,
}

/// What was told lately.
#[derive(Debug, Default)]
pub(crate) struct Repeats(BTreeMap<String, Told>);

#[derive(Debug)]
struct Told {
    window_ends: Duration,
    times: u32,
    untold: u32,
}

impl Repeats {
    /// The line as it is to be told, unless it was told often enough.
    pub(crate) fn pass(&mut self, mut line: Line, now: Duration) -> Option<Line> {
        self.make_room();
        let new = || Told { window_ends: now + WINDOW, times: 0, untold: 0 };
        let told = self.0.entry(line.about.clone()).or_insert_with(new);
        if told.window_ends <= now {
            let untold = told.untold;
            *told = new();
            if untold > 0 {
                line.text += &format!(" (and {untold} times before, untold)");
            }
        }
        if told.times >= TOLD_MAX {
            told.untold += 1;
            return None;
        }
        told.times += 1;
        Some(line)
    }

    fn make_room(&mut self) {
        if self.0.len() < REMEMBERED_MAX {
            return;
        }
        let oldest = self.0.iter().min_by_key(|(_, told)| told.window_ends);
        if let Some(about) = oldest.map(|(about, _)| about.clone()) {
            self.0.remove(&about);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(about: &str) -> Line {
        Line { severity: Severity::Info, about: about.to_owned(), text: "it ended".to_owned() }
    }

    #[test]
    fn what_repeats_is_told_three_times_a_minute_and_then_counted() {
        let mut repeats = Repeats::default();
        let mut told = Vec::new();
        for second in 0..70 {
            let passed = repeats.pass(line("a"), Duration::from_secs(second));
            told.extend(passed.map(|line| (second, line.text)));
        }
        let plain = |second| (second, "it ended".to_owned());
        let counted = (60, "it ended (and 57 times before, untold)".to_owned());
        assert_eq!(told, [plain(0), plain(1), plain(2), counted, plain(61), plain(62)]);
    }

    #[test]
    fn one_thing_keeps_no_other_from_being_told() {
        let mut repeats = Repeats::default();
        for _ in 0..10 {
            let _ = repeats.pass(line("a"), Duration::ZERO);
        }
        assert_eq!(repeats.pass(line("b"), Duration::ZERO), Some(line("b")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut repeats = Repeats::default();
        for n in 0..10_000 {
            let _ = repeats.pass(line(&n.to_string()), Duration::from_secs(n));
        }
        assert!(repeats.0.len() <= REMEMBERED_MAX);
    }
}
