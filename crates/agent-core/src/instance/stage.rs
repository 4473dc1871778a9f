//! How far an instance is on its way from one build to the next.

use core::time::Duration;

use failure_book::{Mode, Recorded};
use names::ExecutionId;

use crate::draws::{VerificationId, doubling};
use crate::event::Obstacle;
use crate::placement::Placement;
use crate::trial::{Attempt, Shown, Trial};
use crate::turn::Turn;

/// What kept a build from being tried often passes by itself (space returns, a port is freed): it is looked at again
/// after this pause, doubled up to the longest.
pub(super) const PAUSE_MIN: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Where an instance is going.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) placement: Placement,
    pub(super) way: Way,
}

/// How it is brought there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// It has not served that build: it is tried, in this mode.
    Try(Mode),
    /// It has.
    Return,
}

/// How far it is on its way.
#[derive(Debug)]
pub(super) enum Stage {
    /// What runs was found running, and has not been compared with what is wanted.
    Found,
    /// What serves is what is wanted, or the best that may run; it may be nothing.
    Settled,
    /// The build is being installed.
    Installing { to: Target },
    /// What its start needs is looked at.
    Verifying { to: Target, verification: VerificationId, execution: ExecutionId },
    /// It waits for its turn among the instances of its module, and until what was stopped before is gone.
    Queued { to: Target, execution: ExecutionId },
    /// The attempt is being announced to the failure book.
    Announcing { attempt: Attempt, execution: ExecutionId },
    /// What ran is being stopped; then this begins, if anything does.
    Clearing { then: Option<Next> },
    /// What is to serve next runs, and is watched.
    Trying(Box<Trial>),
    /// The trial has shown what it is, and that is being written.
    Concluding { trial: Box<Trial>, end: End },
    /// Something is in the way of what is wanted; whatever serves goes on.
    Waiting(Unable),
    /// The agent ends: what ran is being stopped, and nothing follows.
    Ended,
}

/// What begins when everything that ran is gone.
#[derive(Debug)]
pub(super) enum Next {
    Try { attempt: Attempt, execution: ExecutionId },
    Return { to: Placement, execution: ExecutionId },
}

/// How a trial ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It passed, and that is kept next; not before then, when it could not be kept before.
    Passed { again_at: Duration },
    /// It failed. What the book makes of that is not known yet.
    Failed { why: String, made: Option<Recorded> },
    /// Nothing could be started.
    Unable(Obstacle),
    /// It is wanted no longer.
    Superseded,
}

/// What is in the way of a build, and when it is tried again.
#[derive(Debug, Clone)]
pub(super) struct Unable {
    pub(super) obstacle: Obstacle,
    pub(super) again_at: Duration,
}

/// What kept one build from being begun last, and how often in a row something did.
#[derive(Debug, Default)]
pub(super) struct Hindrance {
    last: Option<Unable>,
    in_row: u32,
}

impl Hindrance {
    pub(super) fn note(&mut self, obstacle: Obstacle, turn: &mut Turn<'_>) {
        self.in_row = self.in_row.saturating_add(1);
        let pause = turn.draws.spread(doubling(PAUSE_MIN, PAUSE_MAX, self.in_row));
        self.last = Some(Unable { obstacle, again_at: turn.now.after(pause) });
    }

    /// What it still waits for.
    pub(super) fn at(&self, now: Duration) -> Option<&Unable> {
        self.last.as_ref().filter(|unable| now < unable.again_at)
    }

    /// It is tried again without waiting any longer; should something still be in the way, the pauses go on growing.
    pub(super) fn lift(&mut self) {
        self.last = None;
    }
}

impl Stage {
    /// What runs to show what it is, or has shown it.
    pub(super) fn trial(&self) -> Option<&Trial> {
        if let Self::Trying(trial) | Self::Concluding { trial, .. } = self {
            Some(trial)
        } else {
            None
        }
    }

    /// The same, to be told something.
    pub(super) fn trial_mut(&mut self) -> Option<&mut Trial> {
        if let Self::Trying(trial) | Self::Concluding { trial, .. } = self {
            Some(trial)
        } else {
            None
        }
    }

    /// The attempt that is announced, or is being announced, and not ended.
    pub(super) fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::Announcing { attempt, .. }
            | Self::Clearing { then: Some(Next::Try { attempt, .. }) } => Some(attempt),
            Self::Trying(trial) | Self::Concluding { trial, .. } => trial.attempt.as_ref(),
            Self::Clearing { .. }
            | Self::Found
            | Self::Settled
            | Self::Installing { .. }
            | Self::Verifying { .. }
            | Self::Queued { .. }
            | Self::Waiting(_)
            | Self::Ended => None,
        }
    }

    /// When it goes on though nothing happens.
    pub(super) fn wake(&self) -> Option<Duration> {
        match self {
            Self::Waiting(Unable { again_at, .. }) => Some(*again_at),
            Self::Trying(trial) => trial.wake(),
            Self::Concluding { trial, end: End::Passed { again_at } } => {
                Some(trial.execution.wake().map_or(*again_at, |at| at.min(*again_at)))
            }
            Self::Concluding { .. }
            | Self::Found
            | Self::Settled
            | Self::Installing { .. }
            | Self::Verifying { .. }
            | Self::Queued { .. }
            | Self::Announcing { .. }
            | Self::Clearing { .. }
            | Self::Ended => None,
        }
    }
}

impl End {
    pub(super) fn of(shown: Shown) -> Self {
        match shown {
            Shown::Passed => Self::Passed { again_at: Duration::MAX },
            Shown::Failed { why } => Self::Failed { why, made: None },
            Shown::Unable(obstacle) => Self::Unable(obstacle),
        }
    }
}
