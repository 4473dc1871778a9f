//! How a simulated build behaves.

use std::time::Duration;

use crate::process::Exit;

/// How one build behaves on one machine. The default is the build that everyone hopes for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildScript {
    /// What comes of installing it.
    pub install: Install,
    /// What comes of starting one of its processes.
    pub start: Start,
    /// How long its processes run by themselves.
    pub life: Life,
    /// What its checks find.
    pub checks: Checks,
    /// What its processes make of being asked to stop.
    pub stopping: Stopping,
}

/// What comes of installing a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// It is installed after this time.
    Takes(Duration),
    /// It is not.
    Fails(Obstacle),
}

/// What is in the way of installing a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Its source does not have it.
    Missing,
    /// Its source has something else.
    Mismatch,
    /// It is a hostile archive.
    Unsafe,
    /// The disk is full.
    Full,
    /// The disk is read-only.
    ReadOnly,
}

/// What comes of starting a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It runs after this time.
    Takes(Duration),
    /// Its program cannot be started, and looking at it tells.
    Refused(String),
}

/// How long a process runs by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Life {
    /// Until it is stopped.
    #[default]
    Endless,
    /// This long.
    EndsAfter(Duration, Exit),
}

/// What checks of a process find while it is alive; times are since it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checks {
    /// They pass from then on.
    PassFrom(Duration),
    /// They pass from `from` on and fail again from `until` on.
    PassBetween {
        /// When it gets well.
        from: Duration,
        /// When it falls ill.
        until: Duration,
    },
    /// They never pass.
    Fail,
    /// They are not answered before the time-out.
    Hang,
    /// They are never answered, not even at the time-out: the answer was lost on its way.
    Lost,
}

/// What a process makes of being asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// It ends after this time.
    Takes(Duration),
    /// It does not; it is killed after its grace.
    Ignored,
}

impl Default for Install {
    fn default() -> Self {
        Self::Takes(Duration::ZERO)
    }
}

impl Default for Start {
    fn default() -> Self {
        Self::Takes(Duration::ZERO)
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::PassFrom(Duration::ZERO)
    }
}

impl Default for Stopping {
    fn default() -> Self {
        Self::Takes(Duration::ZERO)
    }
}
