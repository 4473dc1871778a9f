//! Instants and ages for people.

use chrono::{DateTime, TimeDelta, Utc};

/// An instant to the second.
pub(crate) fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// How long ago it was, in its largest whole unit.
pub(crate) fn age(at: DateTime<Utc>, now: DateTime<Utc>) -> String {
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
