//! How a release spreads over a module's machines: `1`, then `10%`, then `rest`.

use core::{fmt, num::NonZeroU32, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::text::excerpt;

/// How many machines one wave takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum WaveSize {
    /// So many machines: `1`.
    Count(NonZeroU32),
    /// A share of all the module's machines: `10%`.
    Share(Percent),
    /// All that are left: `rest`.
    Rest,
}

/// A share in percent, 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u32);

/// The text is none of the three forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no size of a wave; write a number of machines, a share from 1% to 100%, or `rest`"
)]
pub struct WaveSizeError {
    /// The text.
    pub text: String,
}

impl Percent {
    /// `None` unless it is 1 to 100.
    pub const fn new(percent: u32) -> Option<Self> {
        if 1 <= percent && percent <= 100 { Some(Self(percent)) } else { None }
    }

    /// The number before the `%`.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// So much of `total`, rounded up: a share of a fleet that has machines is never no machine.
    pub const fn of(self, total: usize) -> usize {
        // Split at the hundreds so that no product overflows.
        let percent = self.0 as usize;
        total / 100 * percent + (total % 100 * percent).div_ceil(100)
    }
}

impl fmt::Display for WaveSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => write!(f, "{}%", share.0),
            Self::Rest => f.write_str("rest"),
        }
    }
}

impl FromStr for WaveSize {
    type Err = WaveSizeError;

    fn from_str(text: &str) -> Result<Self, WaveSizeError> {
        // The core library would take a sign too.
        let number = |digits: &str| {
            digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)?.parse().ok()
        };
        let size = match text.strip_suffix('%') {
            Some(share) => number(share).and_then(Percent::new).map(Self::Share),
            None if text == "rest" => Some(Self::Rest),
            None => number(text).and_then(NonZeroU32::new).map(Self::Count),
        };
        size.ok_or_else(|| WaveSizeError { text: excerpt(text) })
    }
}

impl TryFrom<String> for WaveSize {
    type Error = WaveSizeError;

    fn try_from(text: String) -> Result<Self, WaveSizeError> {
        text.parse()
    }
}

impl From<WaveSize> for String {
    fn from(size: WaveSize) -> String {
        size.to_string()
    }
}

/// The waves of a module's releases, in order: at least one, and `rest` at the end and nowhere else, so that a plan
/// reaches every machine and no wave after it is empty by its own rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<WaveSize>", into = "Vec<WaveSize>")]
pub struct Waves(Vec<WaveSize>);

/// Why sizes are no waves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WavesError {
    /// The last one is not `rest`, or there is none.
    #[error("the last wave must be `rest`, or some machines would never be reached")]
    NoRest,
    /// `rest` comes before the end.
    #[error("nothing can follow the wave `rest`")]
    AfterRest,
}

impl Waves {
    /// Checks the order.
    pub fn new(sizes: Vec<WaveSize>) -> Result<Self, WavesError> {
        match sizes.iter().position(|size| *size == WaveSize::Rest) {
            None => Err(WavesError::NoRest),
            Some(at) if at + 1 < sizes.len() => Err(WavesError::AfterRest),
            Some(_) => Ok(Self(sizes)),
        }
    }

    /// The sizes, in order.
    pub fn sizes(&self) -> &[WaveSize] {
        &self.0
    }
}

impl Default for Waves {
    /// One machine, then the rest: the smallest number of gates that keeps a bad build on one machine.
    fn default() -> Self {
        Self(vec![WaveSize::Count(NonZeroU32::MIN), WaveSize::Rest])
    }
}

impl TryFrom<Vec<WaveSize>> for Waves {
    type Error = WavesError;

    fn try_from(sizes: Vec<WaveSize>) -> Result<Self, WavesError> {
        Self::new(sizes)
    }
}

impl From<Waves> for Vec<WaveSize> {
    fn from(waves: Waves) -> Self {
        waves.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_as_they_are_written() {
        for text in ["1", "250", "1%", "100%", "rest"] {
            assert_eq!(text.parse::<WaveSize>().unwrap().to_string(), text);
        }
        for text in ["", "0", "-1", "+1", "0%", "101%", "1.5%", "%", "Rest", "10 %", "99999999999"]
        {
            assert!(text.parse::<WaveSize>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_of_some_machines_is_at_least_one() {
        let cases = [(10, 1, 1), (10, 10, 1), (10, 11, 2), (50, 3, 2), (100, 7, 7), (1, 0, 0)];
        for (percent, total, machines) in cases {
            assert_eq!(Percent(percent).of(total), machines, "{percent}% of {total}");
        }
        assert_eq!(Percent(100).of(usize::MAX), usize::MAX);
    }

    #[test]
    fn waves_end_with_the_rest_and_only_there() {
        let waves =
            |texts: &[&str]| Waves::new(texts.iter().map(|text| text.parse().unwrap()).collect());
        assert_eq!(waves(&["1", "rest"]), Ok(Waves::default()));
        assert!(waves(&["1", "10%", "50%", "rest"]).is_ok());
        assert_eq!(waves(&[]), Err(WavesError::NoRest));
        assert_eq!(waves(&["1", "50%"]), Err(WavesError::NoRest));
        assert_eq!(waves(&["rest", "1", "rest"]), Err(WavesError::AfterRest));
    }
}
