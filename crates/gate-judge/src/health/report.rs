//! The machine's report: first whether it is about this send, then what it says.

use super::{Examination, Finding};
use crate::facts::{Outcome, Report};
use crate::reason::{Broken, NotYet, Unnamed};
use crate::rules::{Identity, ReportTime, Unable};

impl Examination<'_> {
    /// What the machine reported on what it was sent.
    pub(super) fn report(&self) -> Result<(), Finding> {
        let report = self.machine.facts.report.filter(|report| report.current);
        let Some((report, at)) = report.and_then(|report| Some((report, report.at?))) else {
            return Err(self.not_yet(NotYet::NotReported));
        };
        match self.rules.report_time {
            ReportTime::SinceSend if at < self.machine.since => {
                return Err(self.not_yet(NotYet::ReportOfAnotherSend));
            }
            ReportTime::SinceSend | ReportTime::Any => {}
        }
        let outcome = match self.rules.report_identity {
            Identity::NotCompared => &report.outcome,
            Identity::Compared => self.outcome_of_send(report)?,
        };
        match outcome {
            Outcome::Applied => Ok(()),
            Outcome::Failed => Err(Broken::ReportFailed.into()),
            Outcome::Refused => Err(Broken::ReportRefused.into()),
            Outcome::Unable => Err(self.not_yet(match self.rules.unable {
                Unable::Known => NotYet::Unable,
                Unable::NotKnown => NotYet::ReportOther,
            })),
            Outcome::Other(_) => Err(self.not_yet(NotYet::ReportOther)),
        }
    }

    /// How this module's build went. A later declaration that still carries the build is about it
    /// too; an earlier one is not.
    fn outcome_of_send(&self, report: &Report) -> Result<&Outcome, Finding> {
        let sent = self.named(self.machine.declaration, Unnamed::Send)?;
        let sent_build = self.sent_build()?;
        if self.named(report.declaration, Unnamed::Report)? < sent {
            return Err(self.not_yet(NotYet::ReportOfAnotherSend));
        }
        let module = self.named(self.known.report, Unnamed::Report)?;
        if self.named(module.build.as_deref(), Unnamed::Report)? != sent_build {
            return Err(self.not_yet(NotYet::ReportOfAnotherSend));
        }
        Ok(&module.outcome)
    }
}
