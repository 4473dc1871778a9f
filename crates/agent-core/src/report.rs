//! Reports: what came of the declaration held, said until it is acknowledged.

use core::time::Duration;
use std::collections::BTreeMap;

use inventory::DeclarationNumber;
use names::{MachineName, ModuleName};
use wire::{ModuleOutcome, ModuleReport, Report, ReportReply};

use crate::action::Action;
use crate::draws::doubling;
use crate::failures::FoundBook;
use crate::held;
use crate::instance::Instance;
use crate::kept::Kept;
use crate::placement::Place;
use crate::turn::Turn;

/// How long an unacknowledged report waits before it is sent again, at first and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Revisions that one engine has for itself, so that those of the next are greater. One engine would need a change of
/// outcome in each second of eleven days to use them up.
const REVISIONS_PER_ENGINE: u64 = 1_000_000;

/// The newest report, and whether it was heard.
#[derive(Debug, Default)]
pub(crate) struct Reporting {
    newest: Option<Report>,
    unanswered: u32,
    sending: Sending,
}

#[derive(Debug, Default)]
enum Sending {
    /// There is nothing to send, or it was acknowledged.
    #[default]
    Done,
    /// It is to be sent then.
    Due(Duration),
    /// It was sent and nothing was heard.
    Asked,
}

impl Reporting {
    /// Takes note of what came of the modules by now; `None` while some have come to nothing yet.
    pub(crate) fn note(
        &mut self,
        machine: &MachineName,
        kept: &Kept,
        modules: Option<BTreeMap<ModuleName, ModuleReport>>,
        turn: &Turn<'_>,
    ) {
        let Some(modules) = modules else { return };
        let declaration = kept.declaration.number;
        let newest = self.newest.as_ref();
        if newest.is_some_and(|one| one.declaration == declaration && one.modules == modules) {
            return;
        }
        let last =
            newest.map_or(kept.engines.saturating_mul(REVISIONS_PER_ENGINE), |one| one.revision);
        let revision = last.saturating_add(1);
        self.newest = Some(Report { machine: machine.clone(), declaration, revision, modules });
        self.hurry(turn);
    }

    /// Sends what there is once more: somebody asked again.
    pub(crate) fn repeat(&mut self, declaration: DeclarationNumber, turn: &Turn<'_>) {
        if self.newest.as_ref().is_some_and(|newest| newest.declaration == declaration) {
            self.hurry(turn);
        }
    }

    pub(crate) fn kept(&mut self, reply: &ReportReply, turn: &Turn<'_>) {
        self.unanswered = 0;
        let Some(newest) = &self.newest else { return };
        let is_newest =
            reply.declaration == newest.declaration && reply.revision == newest.revision;
        self.sending = if is_newest { Sending::Done } else { Sending::Due(turn.now.monotonic) };
    }

    pub(crate) fn unanswered(&mut self, turn: &mut Turn<'_>) {
        self.unanswered = self.unanswered.saturating_add(1);
        let pause = turn.draws.spread(doubling(PAUSE_MIN, PAUSE_MAX, self.unanswered));
        self.sending = Sending::Due(turn.now.after(pause));
    }

    pub(crate) fn tick(&mut self, turn: &mut Turn<'_>) {
        if let (Sending::Due(at), Some(newest)) = (&self.sending, &self.newest)
            && *at <= turn.now.monotonic
        {
            turn.actions.push(Action::Report(newest.clone()));
            self.sending = Sending::Asked;
        }
    }

    pub(crate) fn wake(&self) -> Option<Duration> {
        match self.sending {
            Sending::Due(at) => Some(at),
            Sending::Done | Sending::Asked => None,
        }
    }

    fn hurry(&mut self, turn: &Turn<'_>) {
        match self.sending {
            // One report is on its way at a time; its answer shows that it was not the newest.
            Sending::Asked => {}
            Sending::Done | Sending::Due(_) => self.sending = Sending::Due(turn.now.monotonic),
        }
    }
}

/// What came of each module of the declaration held; `None` while some have come to nothing yet.
pub(crate) fn outcomes(
    kept: &Kept,
    book: &FoundBook,
    instances: &BTreeMap<Place, Instance>,
) -> Option<BTreeMap<ModuleName, ModuleReport>> {
    let declaration = &kept.declaration;
    let builds = declaration.modules.iter().map(|(name, one)| (name, Some(one.build.clone())));
    let withdrawn = declaration.withdrawn.iter().map(|name| (name, None));
    // A module in both is declared: nothing is stopped on a contradiction.
    let all: BTreeMap<_, _> = withdrawn.chain(builds).collect();
    let report = |(name, build): (&ModuleName, _)| {
        let of_module = || instances.iter().filter(|(place, _)| place.0 == *name);
        let outcome = outcome(of_module().map(|(_, instance)| instance.outcome()))?;
        let running = |instance: &Instance| instance.settled().map(|one| one.id.clone());
        let execution = |(place, one): (&Place, _)| Some((place.1.clone(), running(one)?));
        let executions = of_module().filter_map(execution).collect();
        let held = book.open().map(|book| held::held(book, instances, Some(name)));
        Some((name.clone(), ModuleReport { build, executions, held, outcome }))
    };
    all.into_iter().map(report).collect()
}

/// What came of a module, of what came of its instances. A failure says more than an obstacle, and both more than
/// that the others went well.
fn outcome<'a>(
    instances: impl Iterator<Item = Option<&'a ModuleOutcome>>,
) -> Option<ModuleOutcome> {
    let weight = |outcome: &ModuleOutcome| match outcome {
        ModuleOutcome::Applied => 0,
        ModuleOutcome::Unable { .. } => 1,
        ModuleOutcome::Refused { .. } => 2,
        ModuleOutcome::Failed { .. } => 3,
    };
    let mut worst = &ModuleOutcome::Applied;
    for instance in instances {
        let instance = instance?;
        if weight(instance) > weight(worst) {
            worst = instance;
        }
    }
    Some(worst.clone())
}
