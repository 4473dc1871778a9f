//! A release plan: builds on their way through tiers of modules and waves of machines.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use gate_judge::{Baseline, Gate, SentTo};
use inventory::Trial;
use names::{BuildId, MachineName, ModuleName, PlanId};
use serde::{Deserialize, Serialize};

use crate::{first_machine::Choice, put_back::PutBack, waves::Wave};

/// A release plan. It is one document: each transition is one write of it, whatever else lands with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its id, which also names the rollback that its failure makes: a plan fails at most once.
    pub id: PlanId,
    /// Who asked for it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Whether it may ask for condemned builds again.
    pub asked: Asked,
    /// Why it could not wait, where it was told not to.
    pub at_once: Option<String>,
    /// What moves together, in order.
    pub tiers: Vec<Tier>,
    /// What each machine was sent for it last.
    pub sent: BTreeMap<MachineName, SentTo>,
    /// What was wanting on each machine before it was sent anything.
    pub baseline: BTreeMap<MachineName, Baseline>,
    /// How far it is.
    pub state: PlanState,
}

/// Modules that move together, before the next tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// The moves, at least one, one for each module.
    pub moves: Vec<Move>,
    /// The waves, shared out when the tier begins; none before.
    pub waves: Vec<Wave>,
    /// Why the first machine is first; none before the tier begins.
    pub first: Option<Choice>,
}

/// What a person asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "asked")]
pub enum Asked {
    /// A release: a condemned build is refused.
    Release,
    /// Another trial of what an earlier plan moved, condemned or not.
    Retry {
        /// The earlier plan.
        plan: PlanId,
    },
}

/// One module's move from one build to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Which module.
    pub module: ModuleName,
    /// The build that would be put back, known when the plan begins.
    pub from: Option<BuildId>,
    /// The build that it moves to.
    pub to: BuildId,
    /// Which trial of that build this is.
    pub trial: Trial,
}

/// One wave of one tier of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Which tier, from 0.
    pub tier: usize,
    /// Which of its waves, from 0: the first machines.
    pub wave: usize,
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum PlanState {
    /// It has not begun.
    Queued,
    /// The wave before passed, or there is none; this one has not been sent to all of its machines.
    Sending {
        /// The wave to send.
        place: Place,
    },
    /// This wave was sent and waits at its gate.
    Judging {
        /// The wave.
        place: Place,
        /// Its gate.
        gate: Box<Gate>,
    },
    /// A gate did not pass, and what it moved is being put back.
    PuttingBack(Box<PutBack>),
    /// Every wave passed. Machines that are away get the builds when they are back.
    Done {
        /// The machines that were away.
        pending: BTreeSet<MachineName>,
        /// The last gate.
        gate: Option<Box<Gate>>,
    },
    /// A gate did not pass; everything that follows from that has been done.
    Failed(Box<PutBack>),
    /// A person ended it.
    Stopped {
        /// Who.
        by: String,
        /// How far it was.
        place: Option<Place>,
    },
    /// A plan with newer builds took its place.
    Superseded {
        /// Which.
        by: PlanId,
        /// How far this one was.
        place: Option<Place>,
    },
}

impl Plan {
    /// All moves, tier by tier.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        self.tiers.iter().flat_map(|tier| &tier.moves)
    }

    /// The move of this module, when the plan has one.
    pub fn move_of(&self, module: &ModuleName) -> Option<&Move> {
        self.moves().find(|it| it.module == *module)
    }

    /// Whether it sends or judges, or could at any moment: another plan of its modules or machines has to wait.
    pub fn is_moving(&self) -> bool {
        match self.state {
            PlanState::Sending { .. } | PlanState::Judging { .. } => true,
            PlanState::Queued
            | PlanState::PuttingBack(_)
            | PlanState::Done { .. }
            | PlanState::Failed(_)
            | PlanState::Stopped { .. }
            | PlanState::Superseded { .. } => false,
        }
    }

    /// Whether it has not ended: it may still send something, or have something put back.
    pub fn is_open(&self) -> bool {
        match self.state {
            PlanState::Queued
            | PlanState::Sending { .. }
            | PlanState::Judging { .. }
            | PlanState::PuttingBack(_) => true,
            PlanState::Done { .. }
            | PlanState::Failed(_)
            | PlanState::Stopped { .. }
            | PlanState::Superseded { .. } => false,
        }
    }

    /// The wave that it sends or judges, or did when it ended.
    pub fn place(&self) -> Option<Place> {
        match &self.state {
            PlanState::Sending { place } | PlanState::Judging { place, .. } => Some(*place),
            PlanState::PuttingBack(put_back) | PlanState::Failed(put_back) => Some(put_back.place),
            PlanState::Stopped { place, .. } | PlanState::Superseded { place, .. } => *place,
            PlanState::Queued | PlanState::Done { .. } => None,
        }
    }
}
