//! When a word counts: its times, held against a clock that may be wrong.

use chrono::{DateTime, TimeDelta, Utc};

/// How far a machine's clock may be from the signer's, in either direction, before a word is refused for its times.
///
/// A quarter of an hour. It must cover a machine that is ten minutes off, which happens where nobody keeps the time,
/// and a signer who is off a little the other way. It must stay short, because for so long a pointer can be dated
/// ahead of those that are signed meanwhile, and an expired grant can still be used.
pub const CLOCK_TOLERANCE: TimeDelta = TimeDelta::minutes(15);

/// How long a grant is good where nobody says: a night, and the day after it.
pub const GRANT_DEFAULT: TimeDelta = TimeDelta::hours(24);

/// The longest that a grant can be good, also where its signer says otherwise. For so long a machine remembers that
/// it was used.
pub const GRANT_MAX: TimeDelta = TimeDelta::days(7);

/// When a word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// At all times: something else puts such words in order. A machine whose clock stands at 1970 must still take it.
    Untimed,
    /// From then on.
    From(DateTime<Utc>),
    /// Between these two.
    Between {
        /// When it was signed.
        issued_at: DateTime<Utc>,
        /// After this it counts no longer.
        expires_at: DateTime<Utc>,
    },
}

/// Why a word does not count now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Invalid {
    NotYet { issued_at: DateTime<Utc> },
    Expired { expires_at: DateTime<Utc> },
    Term { term: TimeDelta },
}

impl Validity {
    /// Looks whether it counts at this time of this clock.
    pub(super) fn at(self, now: DateTime<Utc>) -> Result<(), Invalid> {
        let (issued_at, expires_at) = match self {
            Self::Untimed => return Ok(()),
            Self::From(issued_at) => (issued_at, None),
            Self::Between { issued_at, expires_at } => (issued_at, Some(expires_at)),
        };
        if let Some(expires_at) = expires_at {
            let term = expires_at.signed_duration_since(issued_at);
            if !is_term(term) {
                return Err(Invalid::Term { term });
            }
        }
        if is_ahead(issued_at, now) {
            return Err(Invalid::NotYet { issued_at });
        }
        match expires_at {
            Some(expires_at) if is_over(expires_at, now) => Err(Invalid::Expired { expires_at }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether a word can be good for so long.
pub(super) fn is_term(term: TimeDelta) -> bool {
    term > TimeDelta::zero() && term <= GRANT_MAX
}

/// Whether a time lies further ahead than clocks may differ.
pub(super) fn is_ahead(at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    at.signed_duration_since(now) > CLOCK_TOLERANCE
}

/// Whether a time is past by more than clocks may differ.
pub(super) fn is_over(at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now.signed_duration_since(at) > CLOCK_TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn the_edges_are_the_tolerance_away_and_belong_to_it() {
        let grant = Validity::Between { issued_at: at(0), expires_at: at(3600) };
        for (now, expected) in [
            (-901, Err(Invalid::NotYet { issued_at: at(0) })),
            (-900, Ok(())),
            (0, Ok(())),
            (3600, Ok(())),
            (3600 + 900, Ok(())),
            (3600 + 901, Err(Invalid::Expired { expires_at: at(3600) })),
        ] {
            assert_eq!(grant.at(at(now)), expected, "{now}");
        }
        assert_eq!(Validity::From(at(0)).at(at(-901)), Err(Invalid::NotYet { issued_at: at(0) }));
        assert_eq!(Validity::From(at(0)).at(at(i64::from(u32::MAX))), Ok(()));
    }

    #[test]
    fn a_grant_is_good_for_some_time_and_for_a_week_at_most() {
        let week = 7 * 24 * 3600;
        for (seconds, is_good) in
            [(-1, false), (0, false), (1, true), (week, true), (week + 1, false)]
        {
            let grant = Validity::Between { issued_at: at(0), expires_at: at(seconds) };
            assert_eq!(grant.at(at(0)).is_ok(), is_good, "{seconds}");
        }
    }

    #[test]
    fn no_time_is_too_far_away_to_be_looked_at() {
        let (first, last) = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
        for now in [first, at(0), last] {
            assert_eq!(Validity::Untimed.at(now), Ok(()));
            assert_eq!(Validity::From(first).at(now), Ok(()));
            let all = Validity::Between { issued_at: first, expires_at: last };
            assert_eq!(all.at(now), Err(Invalid::Term { term: last - first }));
        }
        assert!(Validity::From(last).at(first).is_err());
    }
}
