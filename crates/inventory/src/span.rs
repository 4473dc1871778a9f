//! A length of time as manifests write it: `200ms`, `2s`, `5m`, `1h`.

use core::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::text::excerpt;

/// A length of time, in whole milliseconds, at most 30 days: longer than any wait that a release makes sense with,
/// and short enough that no sum of them overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span {
    ms: u64,
}

/// Why a text is no length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// Not a whole number followed by a unit.
    #[error(
        "`{text}` is no length of time; write a whole number and a unit, as in 200ms, 2s, 5m or 1h"
    )]
    Form {
        /// The text, cut after 80 characters.
        text: String,
    },
    /// Longer than 30 days.
    #[error("`{text}` is longer than the 30 days allowed")]
    TooLong {
        /// The text, cut after 80 characters.
        text: String,
    },
}

/// The units, the largest first, so that printing finds the largest that divides.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Span {
    /// The shortest: no time at all.
    pub const ZERO: Self = Self { ms: 0 };

    /// The longest: 30 days.
    pub const MAX: Self = Self { ms: 30 * 24 * 3_600_000 };

    /// Whole seconds; more than 30 days become 30 days.
    pub const fn seconds(seconds: u64) -> Self {
        Self::milliseconds(seconds.saturating_mul(1_000))
    }

    /// Whole milliseconds; more than 30 days become 30 days.
    pub const fn milliseconds(ms: u64) -> Self {
        if ms > Self::MAX.ms { Self::MAX } else { Self { ms } }
    }

    /// In milliseconds.
    pub const fn as_milliseconds(self) -> u64 {
        self.ms
    }

    /// As the core library's type.
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.ms)
    }

    /// As chrono's type, for sums with points in time.
    pub fn as_delta(self) -> chrono::TimeDelta {
        // At most 30 days, so the value fits whatever the conversion does at its ends.
        chrono::TimeDelta::milliseconds(i64::try_from(self.ms).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().find(|(_, ms)| self.ms.is_multiple_of(*ms) && self.ms > 0);
        let (unit, ms) = whole.copied().unwrap_or(("s", 1_000));
        write!(f, "{}{unit}", self.ms / ms)
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let form = || SpanError::Form { text: excerpt(text) };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor =
            UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms).ok_or_else(form)?;
        if number.is_empty() {
            return Err(form());
        }
        let too_long = || SpanError::TooLong { text: excerpt(text) };
        let ms =
            number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(too_long)?;
        if ms > Self::MAX.ms { Err(too_long()) } else { Ok(Self { ms }) }
    }
}

impl TryFrom<String> for Span {
    type Error = SpanError;

    fn try_from(text: String) -> Result<Self, SpanError> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_largest_unit_that_divides_and_reads_it_back() {
        for (text, ms) in [
            ("200ms", 200),
            ("2s", 2_000),
            ("90s", 90_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.as_milliseconds(), span.to_string().as_str()), (ms, text));
        }
        assert_eq!("120s".parse::<Span>().unwrap().to_string(), "2m");
    }

    #[test]
    fn refuses_what_is_no_length_of_time() {
        for text in ["", "s", "2", "2 s", "-2s", "1.5s", "2d", "2S"] {
            assert!(matches!(text.parse::<Span>(), Err(SpanError::Form { .. })), "{text}");
        }
        for text in ["721h", "99999999999999999999999s"] {
            assert!(matches!(text.parse::<Span>(), Err(SpanError::TooLong { .. })), "{text}");
        }
    }
}
