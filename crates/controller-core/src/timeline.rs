//! The controller's own time: anchored to the wall clock once, and from then on counted, so that no step of the wall
//! clock moves a settle time, a bound or a time-out.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// What a machine's clocks say at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The wall clock.
    pub wall: DateTime<Utc>,
    /// Milliseconds since the machine was booted, suspended ones included.
    pub since_boot_ms: u64,
    /// Which boot that is.
    pub boot: String,
}

/// A point of the timeline and where the clocks stood then; kept, so that a restart can tell a gap from a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The point of the timeline.
    pub at: DateTime<Utc>,
    /// Milliseconds since boot, then.
    pub since_boot_ms: u64,
    /// In which boot.
    pub boot: String,
}

/// Time as the controller counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    anchor: Anchor,
}

impl Timeline {
    /// Begins, or goes on from what was kept, and says how long nobody counted.
    ///
    /// Within one boot the time since boot tells exactly. After another boot only the wall clock can, which may have been
    /// set back meanwhile: then the timeline goes on from where it was, and the gap counts as nothing.
    pub fn begin(kept: Option<&Anchor>, reading: &Reading) -> (Self, TimeDelta) {
        let at = match kept {
            None => reading.wall,
            Some(kept) if kept.boot == reading.boot => Self { anchor: kept.clone() }.now(reading),
            Some(kept) => reading.wall.max(kept.at),
        };
        let anchor =
            Anchor { at, since_boot_ms: reading.since_boot_ms, boot: reading.boot.clone() };
        let gap = kept.map_or(TimeDelta::zero(), |kept| at - kept.at);
        (Self { anchor }, gap)
    }

    /// The time at this reading. A reading from before the anchor, which no sane clock gives, is the anchor's time.
    pub fn now(&self, reading: &Reading) -> DateTime<Utc> {
        let elapsed_ms = reading.since_boot_ms.saturating_sub(self.anchor.since_boot_ms);
        let elapsed = i64::try_from(elapsed_ms).ok().and_then(TimeDelta::try_milliseconds);
        elapsed
            .and_then(|elapsed| self.anchor.at.checked_add_signed(elapsed))
            .unwrap_or(self.anchor.at)
    }

    /// Where the timeline is at this reading, to be kept.
    pub fn anchor(&self, reading: &Reading) -> Anchor {
        Anchor {
            at: self.now(reading),
            since_boot_ms: reading.since_boot_ms,
            boot: reading.boot.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn reading(wall_s: i64, since_boot_s: u64, boot: &str) -> Reading {
        Reading { wall: wall(wall_s), since_boot_ms: since_boot_s * 1_000, boot: boot.into() }
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_nothing() {
        let (timeline, _) = Timeline::begin(None, &reading(1_000_000, 50, "a"));
        for stepped in [0, 996_400, 1_000_010, 1_003_600] {
            assert_eq!(timeline.now(&reading(stepped, 60, "a")), wall(1_000_010));
        }
    }

    #[test]
    fn a_restart_within_one_boot_knows_the_gap_exactly() {
        let (timeline, gap) = Timeline::begin(None, &reading(1_000_000, 50, "a"));
        assert_eq!(gap, TimeDelta::zero());
        let kept = timeline.anchor(&reading(1_000_020, 70, "a"));
        // The clock was set back by an hour while nobody looked.
        let (timeline, gap) = Timeline::begin(Some(&kept), &reading(996_500, 170, "a"));
        assert_eq!(gap, TimeDelta::seconds(100));
        assert_eq!(timeline.now(&reading(0, 171, "a")), wall(1_000_121));
    }

    #[test]
    fn after_another_boot_the_wall_clock_tells_unless_it_was_set_back() {
        let kept = Anchor { at: wall(1_000_000), since_boot_ms: 9_000_000, boot: "a".into() };
        let (timeline, gap) = Timeline::begin(Some(&kept), &reading(1_000_300, 5, "b"));
        assert_eq!(gap, TimeDelta::seconds(300));
        assert_eq!(timeline.now(&reading(0, 6, "b")), wall(1_000_301));

        let (timeline, gap) = Timeline::begin(Some(&kept), &reading(0, 5, "b"));
        assert_eq!(gap, TimeDelta::zero());
        assert_eq!(timeline.now(&reading(0, 5, "b")), wall(1_000_000));
    }

    #[test]
    fn absurd_readings_do_not_overflow() {
        let (timeline, _) = Timeline::begin(
            None,
            &Reading { wall: DateTime::<Utc>::MAX_UTC, since_boot_ms: 0, boot: "a".into() },
        );
        let far = Reading { wall: wall(0), since_boot_ms: u64::MAX, boot: "a".into() };
        assert_eq!(timeline.now(&far), DateTime::<Utc>::MAX_UTC);
    }
}
