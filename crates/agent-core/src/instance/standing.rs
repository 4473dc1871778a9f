//! How an instance stands, for whoever states it and for whoever leads connections to it.

use wire::{ModuleOutcome, ResourceState};

use super::Instance;
use super::stage::{Stage, Unable};
use crate::placement::Placement;

impl Instance {
    /// How a resource stands that is wanted and has never been asked to start.
    pub(crate) fn before_start(&self) -> (ResourceState, Option<&str>) {
        match &self.stage {
            Stage::Waiting(Unable { obstacle, .. }) => {
                (ResourceState::Unhealthy, Some(&obstacle.why))
            }
            Stage::Installing { .. } => {
                (ResourceState::Starting, Some("its build is being installed"))
            }
            Stage::Queued { .. } => {
                (ResourceState::Starting, Some("its build is tried on another instance first"))
            }
            Stage::Settled => match &self.outcome {
                Some(ModuleOutcome::Refused { rule }) => (ResourceState::Failed, Some(rule)),
                Some(ModuleOutcome::Failed { why, .. }) => (ResourceState::Failed, Some(why)),
                Some(ModuleOutcome::Unable { why, .. }) => (ResourceState::Failed, Some(why)),
                Some(ModuleOutcome::Applied) | None => (ResourceState::Starting, None),
            },
            Stage::Found
            | Stage::Verifying { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. } => (ResourceState::Starting, None),
            Stage::Ended => (ResourceState::Stopped, None),
        }
    }

    /// What it is on its way to; where nothing serves, what it should run.
    pub(crate) fn bound_for(&self) -> Option<&Placement> {
        match self.stage {
            Stage::Settled | Stage::Waiting(_) | Stage::Ended if self.serving.is_some() => None,
            Stage::Settled
            | Stage::Waiting(_)
            | Stage::Ended
            | Stage::Found
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. } => self.wanted.as_ref(),
        }
    }

    /// Whether something is on its way to serve where nothing does.
    pub(crate) fn is_coming(&self) -> bool {
        if let Some(serving) = &self.serving {
            return !serving.is_given_up();
        }
        match &self.stage {
            Stage::Settled | Stage::Waiting(_) | Stage::Ended => false,
            Stage::Found
            | Stage::Installing { .. }
            | Stage::Verifying { .. }
            | Stage::Queued { .. }
            | Stage::Announcing { .. }
            | Stage::Clearing { .. }
            | Stage::Trying(_)
            | Stage::Concluding { .. } => self.wanted.is_some(),
        }
    }
}
