//! One turn of the agent: the moment, what it may draw from, and what it has decided so far.

use core::time::Duration;
use std::collections::BTreeMap;

use inventory::Artifact;
use names::{BuildId, ModuleName, ResourceName};
use wire::signed::Floors;

use crate::action::Action;
use crate::builds::Builds;
use crate::draws::{Draws, Incarnation, RunId};
use crate::errands::Errands;
use crate::failures::FoundBook;
use crate::placement::Place;
use crate::routing::Routing;
use crate::served::Served;
use crate::time::Now;
use crate::troubles::Troubles;

/// What the agent has going on outside of any one instance.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) draws: Draws,
    /// Whose run each run is, as long as anything can still be heard of it.
    pub(crate) homes: BTreeMap<RunId, (Place, ResourceName)>,
    /// What is being done to the builds on the disk.
    pub(crate) builds: Builds,
    /// What is wrong with the machine itself.
    pub(crate) troubles: Troubles,
    /// Where the public addresses lead.
    pub(crate) routing: Routing,
    /// What failed on this machine.
    pub(crate) book: FoundBook,
    /// What has to be on the disk before something goes on.
    pub(crate) errands: Errands,
    /// What has served each instance, as far as it is on the disk.
    pub(crate) served: Served,
    /// The newest pointer of each channel that was taken here, as far as it is on the disk.
    pub(crate) floors: Floors,
}

/// What every part of the agent needs to decide and to say what it decided.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub(crate) now: Now,
    pub(crate) draws: &'a mut Draws,
    pub(crate) homes: &'a mut BTreeMap<RunId, (Place, ResourceName)>,
    pub(crate) builds: &'a mut Builds,
    pub(crate) troubles: &'a mut Troubles,
    pub(crate) routing: &'a mut Routing,
    pub(crate) book: &'a mut FoundBook,
    pub(crate) errands: &'a mut Errands,
    pub(crate) served: &'a mut Served,
    pub(crate) floors: &'a mut Floors,
    pub(crate) actions: Vec<Action>,
}

impl Ledger {
    pub(crate) fn new(
        incarnation: Incarnation,
        examine_every: Duration,
        book: FoundBook,
        served: Served,
        floors: Floors,
    ) -> Self {
        Self {
            draws: Draws::new(incarnation),
            homes: BTreeMap::new(),
            builds: Builds::default(),
            troubles: Troubles::new(examine_every),
            routing: Routing::default(),
            book,
            errands: Errands::default(),
            served,
            floors,
        }
    }

    pub(crate) fn turn(&mut self, now: Now) -> Turn<'_> {
        let Self { draws, homes, builds, troubles, routing, book, errands, served, floors } = self;
        let actions = Vec::new();
        Turn {
            now,
            draws,
            homes,
            builds,
            troubles,
            routing,
            book,
            errands,
            served,
            floors,
            actions,
        }
    }
}

impl Turn<'_> {
    /// Asks for a build to be brought onto the disk.
    pub(crate) fn install(&mut self, module: ModuleName, build: BuildId, artifacts: Vec<Artifact>) {
        self.actions.extend(self.builds.install(module, build, artifacts));
    }
}
