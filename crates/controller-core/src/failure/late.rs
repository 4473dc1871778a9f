//! What machines report after the handling ended: one that was held may have been freed, and runs the previous build then.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::answer::{HeldBack, Report};
use super::case::{Case, Fate};
use super::handling::{Closing, Handling, Sending, Step};
use super::need::Awaited;
use super::not_back::{NotBack, StuckWhy};
use super::putting_back::PuttingBack;

impl Handling {
    /// The machines on which a module is not back though the handling has ended, as far as they were sent it: a report of
    /// theirs may still change how the rollback ended. None while it is under way.
    #[must_use]
    pub fn stuck(&self) -> Vec<Awaited<'_>> {
        let Some((cases, putting_back)) = self.ended() else { return Vec::new() };
        cases.iter().flat_map(|case| stuck(case, putting_back)).collect()
    }

    /// Takes what such machines report now. Where one is back, or its book holds something else than before, how that
    /// rollback ended is to be kept and said anew; then there is something to need again. Answers whether there is.
    ///
    /// It is one module at a time: the same reports can be given again after its end.
    pub fn take_late(&mut self, now: DateTime<Utc>, reports: Vec<Report>) -> bool {
        if reports.is_empty() || self.ended().is_none() {
            return false;
        }
        let Sending::Accepted(mut putting_back) = self.0.sending.clone() else { return false };
        putting_back.take(reports);
        let changed = self.0.cases.iter().enumerate().find_map(|(nth, case)| {
            let Fate::NotBack(NotBack::Machines { target, .. }) = &case.fate else { return None };
            let fate = putting_back.fate(case, target);
            (standing(&fate) != standing(&case.fate)).then_some((nth, fate))
        });
        let Some((nth, fate)) = changed else { return false };
        self.0.cases[nth].settle(now, fate);
        self.0.sending = Sending::Accepted(putting_back);
        self.0.step = Step::Settling { case: nth, closing: Closing::SetRollback };
        true
    }

    fn ended(&self) -> Option<(&[Case], &PuttingBack)> {
        match (&self.0.step, &self.0.sending) {
            (Step::Done, Sending::Accepted(putting_back)) => Some((&self.0.cases, putting_back)),
            (Step::Done, Sending::NotYet | Sending::Refused)
            | (
                Step::Preparing { .. } | Step::Sending | Step::Waiting | Step::Settling { .. },
                Sending::NotYet | Sending::Refused | Sending::Accepted(_),
            ) => None,
        }
    }
}

fn stuck<'a>(case: &'a Case, putting_back: &'a PuttingBack) -> Vec<Awaited<'a>> {
    let Fate::NotBack(NotBack::Machines { stuck, .. }) = &case.fate else { return Vec::new() };
    let sent = stuck.iter().filter_map(|stuck| {
        let declaration = putting_back.declaration(&stuck.machine)?;
        Some(Awaited { module: &case.module, machine: &stuck.machine, declaration })
    });
    sent.collect()
}

/// Who is back, and what is held elsewhere. The words in which a machine tells of a failure may change with each report,
/// and are no news.
type Standing<'a> = (BTreeSet<&'a str>, BTreeMap<&'a str, BTreeSet<&'a HeldBack>>);

/// None: it is back everywhere.
fn standing(fate: &Fate) -> Option<Standing<'_>> {
    let Fate::NotBack(NotBack::Machines { back, stuck, .. }) = fate else { return None };
    let held = stuck.iter().filter_map(|stuck| match &stuck.why {
        StuckWhy::Held { instances } => Some((stuck.machine.as_str(), instances.iter().collect())),
        StuckWhy::Silent
        | StuckWhy::NotSent
        | StuckWhy::Other { .. }
        | StuckWhy::Refused { .. }
        | StuckWhy::Failed { .. } => None,
    });
    Some((back.iter().map(String::as_str).collect(), held.collect()))
}
