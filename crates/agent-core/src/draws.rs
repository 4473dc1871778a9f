//! Everything an agent makes up: ids, and the spread of pauses. It all follows from one number that its shell draws.

use core::fmt;
use core::time::Duration;

use names::ExecutionId;
use wire::EngineNonce;

/// One agent process among all those of its machine: drawn at random by the shell when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Incarnation(pub u64);

/// One start of one process, as core and shell speak of it. Unique within an [`Incarnation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u64);

impl RunId {
    /// The process that is the `nth` of those found when the incarnation began. Starts are counted from the other end.
    #[must_use]
    pub fn adopted(nth: u32) -> Self {
        Self(u64::MAX - u64::from(nth))
    }
}

/// One look at what a start needs. Unique within an [`Incarnation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerificationId(u64);

/// One check of one process. Unique within an [`Incarnation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(u64);

/// One question that waits for an answer; the shell numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}", self.0)
    }
}

/// Draws ids in order, and jitter.
#[derive(Debug)]
pub(crate) struct Draws {
    incarnation: Incarnation,
    last: u64,
    jitter: u64,
}

impl Draws {
    pub(crate) fn new(incarnation: Incarnation) -> Self {
        Self { incarnation, last: 0, jitter: incarnation.0 }
    }

    pub(crate) fn nonce(&self) -> EngineNonce {
        EngineNonce(self.incarnation.to_string())
    }

    #[expect(clippy::expect_used, reason = "two numbers and a dash are always an id, see below")]
    pub(crate) fn execution(&mut self) -> ExecutionId {
        let nth = self.next();
        let text = format!("a{}-{nth}", self.incarnation);
        // At most 1 + 16 + 1 + 20 visible ASCII characters, of the 128 that an execution id may have.
        ExecutionId::new(text).expect("an execution id")
    }

    pub(crate) fn run(&mut self) -> RunId {
        RunId(self.next())
    }

    pub(crate) fn verification(&mut self) -> VerificationId {
        VerificationId(self.next())
    }

    pub(crate) fn check(&mut self) -> CheckId {
        CheckId(self.next())
    }

    /// `pause` and up to a quarter more, so that what fell together does not rise together.
    pub(crate) fn spread(&mut self, pause: Duration) -> Duration {
        let quarter = u64::try_from(pause.as_millis() / 4).unwrap_or(u64::MAX);
        let more = self.splitmix() % quarter.saturating_add(1).max(1);
        pause.saturating_add(Duration::from_millis(more))
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Vigna's SplitMix64: well spread, a few lines, and no secret hangs on it.
    fn splitmix(&mut self) -> u64 {
        self.jitter = self.jitter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.jitter ^ (self.jitter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// `first`, doubled for each time after the first, at most `longest`. `nth` counts from 1.
pub(crate) fn doubling(first: Duration, longest: Duration, nth: u32) -> Duration {
    let factor = 2_u32.checked_pow(nth.saturating_sub(1)).unwrap_or(u32::MAX);
    first.saturating_mul(factor).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_count_within_their_incarnation() {
        let mut draws = Draws::new(Incarnation(0xbeef));
        assert_eq!(draws.execution().as_str(), "abeef-1");
        assert_eq!(draws.execution().as_str(), "abeef-2");
        assert_eq!(Draws::new(Incarnation(u64::MAX)).execution().as_str(), "affffffffffffffff-1");
    }

    #[test]
    fn a_spread_pause_is_never_shorter_and_at_most_a_quarter_longer() {
        let mut draws = Draws::new(Incarnation(7));
        let pause = Duration::from_millis(400);
        let spread: Vec<_> = (0..200).map(|_| draws.spread(pause)).collect();
        assert!(spread.iter().all(|one| (pause..=pause * 5 / 4).contains(one)));
        assert!(spread.iter().any(|one| *one != spread[0]));
        assert_eq!(draws.spread(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_doubling_pause_stops_at_the_longest() {
        let pause = |nth| doubling(Duration::from_secs(1), Duration::from_secs(60), nth).as_secs();
        let pauses: Vec<_> = [1, 2, 3, 6, 7, 32, 33, u32::MAX].map(pause).into();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60, 60, 60]);
    }
}
