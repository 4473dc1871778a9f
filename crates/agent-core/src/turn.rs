//! One turn of the agent: the moment, what it may draw from, and what it has decided so far.

use std::collections::{BTreeMap, BTreeSet};

use names::{BuildId, ModuleName, ResourceName};

use crate::action::Action;
use crate::draws::{Draws, Incarnation, RunId};
use crate::placement::Place;
use crate::time::Now;

/// What the agent has going on outside of any one instance.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) draws: Draws,
    /// Whose run each run is, as long as anything can still be heard of it.
    pub(crate) homes: BTreeMap<RunId, (Place, ResourceName)>,
    /// The installs that were asked for and are not over.
    pub(crate) installs: BTreeSet<(ModuleName, BuildId)>,
}

/// What every part of the agent needs to decide and to say what it decided.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) now: Now,
    pub(crate) draws: &'a mut Draws,
    pub(crate) homes: &'a mut BTreeMap<RunId, (Place, ResourceName)>,
    pub(crate) installs: &'a mut BTreeSet<(ModuleName, BuildId)>,
    pub(crate) actions: Vec<Action>,
}

impl Ledger {
    pub(crate) fn new(incarnation: Incarnation) -> Self {
        let draws = Draws::new(incarnation);
        Self { draws, homes: BTreeMap::new(), installs: BTreeSet::new() }
    }

    pub(crate) fn turn(&mut self, now: Now) -> Turn<'_> {
        let Self { draws, homes, installs } = self;
        Turn { now, draws, homes, installs, actions: Vec::new() }
    }
}
