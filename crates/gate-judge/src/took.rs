//! How long a gate took, in whole seconds and as text.

use alloc::format;
use alloc::string::String;
use chrono::TimeDelta;

/// A time in whole seconds, halves away from zero.
#[must_use]
pub fn whole_seconds(time: TimeDelta) -> i64 {
    // What is left below a second carries one exactly when it is half of one or more, on its side.
    let carried = time.subsec_nanos() / 500_000_000;
    time.num_seconds().saturating_add(i64::from(carried))
}

/// Seconds as text: `0s`, `2m0s`, `1h2m3s`, `-3s`.
#[must_use]
pub fn took_text(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let all = seconds.unsigned_abs();
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, _) => format!("{sign}{minutes}m{seconds}s"),
        _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let cases = [
            (0, 0),
            (499, 0),
            (500, 1),
            (1_499, 1),
            (1_500, 2),
            (2_500, 3),
            (-499, 0),
            (-500, -1),
            (-1_500, -2),
            (-2_499, -2),
            (-2_500, -3),
        ];
        for (ms, expected) in cases {
            assert_eq!(whole_seconds(TimeDelta::milliseconds(ms)), expected, "{ms} ms");
        }
        assert!(whole_seconds(TimeDelta::MAX) > 0);
        assert!(whole_seconds(TimeDelta::MIN) < 0);
    }

    #[test]
    fn seconds_are_said_in_the_largest_units_that_are_needed() {
        let cases = [
            (0, "0s"),
            (5, "5s"),
            (59, "59s"),
            (60, "1m0s"),
            (120, "2m0s"),
            (3_600, "1h0m0s"),
            (3_723, "1h2m3s"),
            (-3, "-3s"),
            (-61, "-1m1s"),
        ];
        for (seconds, text) in cases {
            assert_eq!(took_text(seconds), text);
        }
    }
}
