//! How far a workload is on its way from running to gone: a value that is told what happens, and when.

use std::time::Duration;

/// How soon the tree is killed once more when something of it is still there. A process that forks while it is being
/// killed leaves a child that the first look did not see.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How late at most. What the kernel holds in a system call dies whenever that returns, which may be hours later.
const KILL_AGAIN_AFTER_MAX: Duration = Duration::from_secs(1);

/// How far it is. All times are of the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It runs as long as it likes.
    Run,
    /// It was asked to stop, and its tree may end in its own time until then.
    Stop { kill_at: Duration },
    /// Nothing of it may stay. It is killed again, after pauses that grow as long as nobody dies.
    Kill { next: Duration, pause: Duration },
    /// Nobody is left.
    Over,
}

impl Course {
    /// It was asked to stop. A second word to stop gives no more time than the first.
    pub(super) fn stop(&mut self, kill_at: Duration) {
        *self = match *self {
            Self::Run => Self::Stop { kill_at },
            Self::Stop { kill_at: before } => Self::Stop { kill_at: before.min(kill_at) },
            kept @ (Self::Kill { .. } | Self::Over) => kept,
        };
    }

    /// From now on it is killed.
    pub(super) fn kill(&mut self, now: Duration) {
        match self {
            Self::Run | Self::Stop { .. } => {
                *self = Self::Kill { next: now, pause: KILL_AGAIN_AFTER };
            }
            Self::Kill { .. } | Self::Over => {}
        }
    }

    /// Some process of it died.
    pub(super) fn died(&mut self, now: Duration) {
        if let Self::Kill { next, pause } = self {
            *next = (*next).min(now + KILL_AGAIN_AFTER);
            *pause = KILL_AGAIN_AFTER;
        }
    }

    /// The workload itself died. What it leaves behind when it ends by itself would stand in its successor's way.
    pub(super) fn main_died(&mut self, now: Duration) {
        match self {
            Self::Run => self.kill(now),
            Self::Stop { .. } | Self::Kill { .. } | Self::Over => self.died(now),
        }
    }

    /// Whether it must be killed now, once.
    pub(super) fn is_kill_due(&mut self, now: Duration) -> bool {
        match self {
            Self::Stop { kill_at } if *kill_at <= now => self.kill(now),
            Self::Run | Self::Stop { .. } | Self::Kill { .. } | Self::Over => {}
        }
        match self {
            Self::Kill { next, pause } if *next <= now => {
                *next = now + *pause;
                *pause = (*pause * 2).min(KILL_AGAIN_AFTER_MAX);
                true
            }
            Self::Run | Self::Stop { .. } | Self::Kill { .. } | Self::Over => false,
        }
    }

    /// When time itself matters next.
    pub(super) fn wake(&self) -> Option<Duration> {
        match self {
            Self::Run | Self::Over => None,
            Self::Stop { kill_at } => Some(*kill_at),
            Self::Kill { next, .. } => Some(*next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_second_word_to_stop_gives_no_more_time() {
        let mut course = Course::Run;
        course.stop(ms(100));
        course.stop(ms(200));
        assert_eq!(course.wake(), Some(ms(100)));
        course.stop(ms(50));
        assert!(!course.is_kill_due(ms(49)) && course.is_kill_due(ms(50)));
        course.stop(ms(500));
        assert!(matches!(course, Course::Kill { .. }));
    }

    #[test]
    fn a_tree_may_end_in_its_own_time_only_when_it_was_asked_to_stop() {
        let mut course = Course::Run;
        course.main_died(ms(10));
        assert!(course.is_kill_due(ms(10)));
        let mut course = Course::Stop { kill_at: ms(100) };
        course.main_died(ms(10));
        assert!(!course.is_kill_due(ms(99)) && course.is_kill_due(ms(100)));
    }

    #[test]
    fn what_does_not_die_is_killed_ever_more_rarely() {
        let mut course = Course::Run;
        course.kill(ms(0));
        let kills: Vec<u64> = (0..5_000).filter(|now| course.is_kill_due(ms(*now))).collect();
        assert_eq!(kills, [0, 20, 60, 140, 300, 620, 1_260, 2_260, 3_260, 4_260]);
        course.died(ms(5_000));
        assert_eq!(course.wake(), Some(ms(5_020)), "who died may have left a child");
        let again: Vec<u64> = (5_000..5_100).filter(|now| course.is_kill_due(ms(*now))).collect();
        assert_eq!(again, [5_020, 5_040, 5_080]);
    }

    #[test]
    fn what_is_over_stays_over() {
        let mut course = Course::Over;
        course.stop(ms(1));
        course.kill(ms(1));
        course.main_died(ms(1));
        assert!(course == Course::Over && !course.is_kill_due(ms(9)) && course.wake().is_none());
    }
}
