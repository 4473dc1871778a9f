//! Small things in words: lists, numbers of things, instants and ages, how a resource stands.

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use wire::ResourceState;

use crate::paint::Tone;

/// `a, b, c`, and a dash for none.
pub fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "-".to_owned() } else { items.join(", ") }
}

/// `1 machine`, `2 machines`
#[must_use]
pub fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// A text of several lines as one, no longer than a row can be read: what a program wrote as it ended can be long.
#[must_use]
pub fn one_line(text: &str) -> String {
    const LENGTH_MAX: usize = 240;
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let line = line.join(" ");
    match line.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What it means that a resource stands so.
#[must_use]
pub fn health(state: ResourceState) -> Tone {
    match state {
        ResourceState::Starting => Tone::Busy,
        ResourceState::Healthy => Tone::Good,
        ResourceState::Unhealthy | ResourceState::Failed => Tone::Bad,
        ResourceState::Stopped => Tone::Faint,
    }
}

/// An instant to the second.
#[must_use]
pub fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// How long ago it was, in its largest whole unit.
#[must_use]
pub fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let age = now - at;
    // Two clocks that differ a little put things into the future; that is now, for people.
    if age < TimeDelta::seconds(1) {
        return "now".to_owned();
    }
    let (number, unit) =
        [(age.num_days(), "d"), (age.num_hours(), "h"), (age.num_minutes(), "min")]
            .into_iter()
            .find(|(number, _)| *number > 0)
            .unwrap_or((age.num_seconds(), "s"));
    format!("{number} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one_that_can_be_read() {
        assert_eq!(one_line("it ended:\n  error: no\n\n"), "it ended: error: no");
        assert_eq!(one_line(&"é\n".repeat(1_000)).chars().count(), 241);
    }

    #[test]
    fn an_age_has_one_unit() {
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        for (seconds, told) in [
            (-5, "now"),
            (0, "now"),
            (1, "1 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (3_599, "59 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 d ago"),
        ] {
            assert_eq!(age(now - TimeDelta::seconds(seconds), now), told);
        }
        assert_eq!(instant(now), "2023-11-14 22:13:20 UTC");
    }
}
