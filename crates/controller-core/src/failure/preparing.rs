//! Preparing one module: compared, looked up, verdict kept, registered build set back, plan saved.

use chrono::{DateTime, Utc};
use conditions::Rollback;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, FailedBuild, KeptVerdict, Likeness, PreviousBuild, Recorded, Wrote};
use super::case::{Case, Fate, Target};
use super::handling::{Closing, State, Step, WrongKind};
use super::need::Need;
use super::not_back::NotBack;

/// What the preparing of a module waits for.
///
/// The look-ups come before the verdict, so that the verdict says which build goes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    SourceFingerprints,
    ArtifactFingerprints { source: Likeness },
    FailedBuild,
    PreviousBuild,
    RecordVerdict(Aim),
    KeptVerdict(Aim),
    RestoreModule(Target),
    SavePlan,
    Close(Closing),
}

/// The build to put back, or why none can be.
type Aim = Result<Target, NotBack>;

/// Where an answer leads within one module.
enum Next {
    Ask(Ask),
    /// The module waits for the send, or nothing is left to do for it.
    Prepared,
}

impl State {
    /// What a module's preparing asks first; `None` when there is nothing to prepare.
    pub(super) fn begin(&mut self, case: usize, now: DateTime<Utc>) -> Option<Ask> {
        let at = &self.cases[case];
        match (&at.previous, &at.commit) {
            (Some(previous), Some(commit)) if previous == commit => {
                self.cases[case].settle(now, Fate::Unchanged);
                None
            }
            (Some(_), Some(_)) => Some(Ask::SourceFingerprints),
            (None, _) | (_, None) => Some(self.changed(case, now)),
        }
    }

    pub(super) fn need_to_prepare<'a>(&'a self, case: &'a Case, ask: &'a Ask) -> Need<'a> {
        let module = &case.module;
        let commit = case.commit.as_deref().unwrap_or_default();
        match ask {
            Ask::SourceFingerprints => {
                Need::SourceFingerprints { module, previous: case.previous(), commit }
            }
            Ask::ArtifactFingerprints { .. } => {
                Need::ArtifactFingerprints { module, previous: case.previous(), commit }
            }
            Ask::FailedBuild => Need::FailedBuild { module, build: case.build() },
            Ask::PreviousBuild => {
                Need::PreviousBuild { module, build: case.build(), previous: case.previous() }
            }
            Ask::RecordVerdict(aim) => Need::RecordVerdict(case.verdict_record(aim.as_ref())),
            Ask::KeptVerdict(_) => Need::KeptVerdict { module, build: case.build() },
            Ask::RestoreModule(target) => Need::RestoreModule { module, target },
            Ask::SavePlan => Need::SavePlan { module, rollback: Rollback::RollingBack },
            Ask::Close(closing) => self.need_to_close(case, closing),
        }
    }

    pub(super) fn prepared(
        &mut self,
        now: DateTime<Utc>,
        case: usize,
        ask: Ask,
        answer: Answer,
    ) -> Result<Step, WrongKind> {
        let next = match ask {
            Ask::SourceFingerprints => {
                let Answer::SourceFingerprints(source) = answer else { return Err(WrongKind) };
                Next::Ask(Ask::ArtifactFingerprints { source })
            }
            Ask::ArtifactFingerprints { source } => {
                let Answer::ArtifactFingerprints(artifacts) = answer else { return Err(WrongKind) };
                self.compared(case, now, source, artifacts)
            }
            Ask::FailedBuild => {
                let Answer::FailedBuild(failed) = answer else { return Err(WrongKind) };
                Next::Ask(self.failed_build(failed))
            }
            Ask::PreviousBuild => {
                let Answer::PreviousBuild(previous) = answer else { return Err(WrongKind) };
                Next::Ask(Ask::RecordVerdict(aim(&self.cases[case], previous)))
            }
            Ask::RecordVerdict(aim) => {
                let Answer::Verdict(recorded) = answer else { return Err(WrongKind) };
                Next::Ask(self.recorded(case, now, aim, recorded))
            }
            Ask::KeptVerdict(aim) => {
                let Answer::KeptVerdict(kept) = answer else { return Err(WrongKind) };
                self.kept_already(case, now, aim, kept)
            }
            Ask::RestoreModule(target) => {
                let Answer::ModuleRestored(wrote) = answer else { return Err(WrongKind) };
                Next::Ask(self.restored(case, now, target, wrote))
            }
            Ask::SavePlan => {
                let Answer::PlanSaved(wrote) = answer else { return Err(WrongKind) };
                self.saved(case, now, wrote)
            }
            Ask::Close(closing) => match self.closed(case, &closing, &answer)? {
                Some(closing) => Next::Ask(Ask::Close(closing)),
                None => Next::Prepared,
            },
        };
        Ok(match next {
            Next::Ask(ask) => Step::Preparing { case, ask },
            Next::Prepared => self.prepare_from(case + 1, now),
        })
    }

    fn compared(
        &mut self,
        case: usize,
        now: DateTime<Utc>,
        source: Likeness,
        artifacts: Likeness,
    ) -> Next {
        let both = [source, artifacts];
        let hidden =
            both.contains(&Likeness::Unreadable) && !self.rules.readable_fingerprint_counts;
        if both.contains(&Likeness::Identical) && !hidden {
            self.cases[case].settle(now, Fate::Unchanged);
            return Next::Prepared;
        }
        Next::Ask(self.changed(case, now))
    }

    fn changed(&mut self, case: usize, now: DateTime<Utc>) -> Ask {
        let at = &self.cases[case];
        if !at.knows_its_build() {
            return self.say_not_back(case, now, NotBack::BuildUnknown);
        }
        match at.previous {
            None => Ask::RecordVerdict(Err(NotBack::FirstBuild)),
            Some(_) => Ask::FailedBuild,
        }
    }

    fn failed_build(&self, failed: FailedBuild) -> Ask {
        let not_back = match failed {
            FailedBuild::Found => None,
            FailedBuild::PointOfNoReturn => Some(NotBack::PointOfNoReturn),
            FailedBuild::Missing if self.rules.missing_failed_build_is_not_back => {
                Some(NotBack::FailedRecordMissing)
            }
            FailedBuild::Missing => None,
            FailedBuild::Unreadable => Some(NotBack::FailedRecordUnreadable),
        };
        match not_back {
            None => Ask::PreviousBuild,
            Some(not_back) => Ask::RecordVerdict(Err(not_back)),
        }
    }

    fn recorded(&mut self, case: usize, now: DateTime<Utc>, aim: Aim, recorded: Recorded) -> Ask {
        match recorded {
            Recorded::Kept => {
                self.cases[case].verdict_stands = true;
                self.follow(case, now, aim)
            }
            Recorded::KeptAlready => {
                self.cases[case].verdict_stands = true;
                Ask::KeptVerdict(aim)
            }
            // A rollback that cannot be counted is not made.
            Recorded::Failed => self.say_not_back(case, now, NotBack::VerdictNotKept),
        }
    }

    /// A verdict was kept earlier: by a crash of this very handling, or by another one.
    fn kept_already(
        &mut self,
        case: usize,
        now: DateTime<Utc>,
        aim: Aim,
        kept: Option<KeptVerdict>,
    ) -> Next {
        let Some(kept) = kept else {
            if self.rules.lost_verdict_is_not_back {
                return Next::Ask(self.say_not_back(case, now, NotBack::KeptVerdictMissing));
            }
            self.cases[case].settle(now, Fate::AlreadyMade(None));
            return Next::Prepared;
        };
        let at = &mut self.cases[case];
        let is_ours = kept.rollback_id.as_deref() == Some(at.rollback_id.as_str());
        match kept.rollback {
            Rollback::RollingBack if self.rules.resumes => {
                if let Some(rollback_id) = kept.rollback_id {
                    at.rollback_id = rollback_id;
                }
                // Only the target that was decided; what is found today may be another build.
                let none_decided =
                    || kept.not_back.or_else(|| aim.err()).unwrap_or(NotBack::NoPreviousBuild);
                let aim = kept.target.ok_or_else(none_decided);
                Next::Ask(self.follow(case, now, aim))
            }
            Rollback::RolledBack if self.rules.resumes && is_ours => {
                at.settle(now, Fate::PutBack);
                Next::Ask(Ask::Close(self.saying(case)))
            }
            Rollback::NotRolledBack if self.rules.resumes && is_ours => {
                let not_back =
                    kept.not_back.or_else(|| aim.err()).unwrap_or(NotBack::NoPreviousBuild);
                Next::Ask(self.say_not_back(case, now, not_back))
            }
            rollback @ (Rollback::RollingBack
            | Rollback::RolledBack
            | Rollback::NotRolledBack
            | Rollback::Unchanged
            | Rollback::Other(_)) => {
                at.settle(now, Fate::AlreadyMade(Some(rollback)));
                Next::Prepared
            }
        }
    }

    fn follow(&mut self, case: usize, now: DateTime<Utc>, aim: Aim) -> Ask {
        match aim {
            Ok(target) => Ask::RestoreModule(target),
            Err(not_back) => self.set_not_back(case, now, not_back),
        }
    }

    fn restored(&mut self, case: usize, now: DateTime<Utc>, target: Target, wrote: Wrote) -> Ask {
        match wrote {
            Wrote::Landed => {
                self.cases[case].settle(now, Fate::RollingBack(target));
                Ask::SavePlan
            }
            Wrote::Failed => self.set_not_back(case, now, NotBack::RestoreRefused),
        }
    }

    fn saved(&mut self, case: usize, now: DateTime<Utc>, wrote: Wrote) -> Next {
        if wrote == Wrote::Failed && self.rules.unsaved_is_not_sent {
            return Next::Ask(self.set_not_back(case, now, NotBack::PlanNotSaved));
        }
        if self.cases[case].gate.machines.is_empty() && self.rules.no_machines_is_not_back {
            return Next::Ask(self.set_not_back(case, now, NotBack::NoMachines));
        }
        Next::Prepared
    }

    /// Not back, and the verdict that is kept has to say so.
    fn set_not_back(&mut self, case: usize, now: DateTime<Utc>, not_back: NotBack) -> Ask {
        self.cases[case].settle(now, Fate::NotBack(not_back));
        Ask::Close(Closing::SetRollback)
    }

    /// Not back, and no verdict is there to say so, or it says so already.
    fn say_not_back(&mut self, case: usize, now: DateTime<Utc>, not_back: NotBack) -> Ask {
        self.cases[case].settle(now, Fate::NotBack(not_back));
        Ask::Close(self.saying(case))
    }
}

fn aim(case: &Case, previous: PreviousBuild) -> Aim {
    match previous {
        PreviousBuild::Found(build) => Ok(Target { build, commit: case.previous().to_owned() }),
        PreviousBuild::Condemned => Err(NotBack::PreviousBuildCondemned),
        PreviousBuild::NotFound => Err(NotBack::NoPreviousBuild),
        PreviousBuild::Unreadable => Err(NotBack::BuildRecordsUnreadable),
    }
}
