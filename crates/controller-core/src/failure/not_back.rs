//! Why a previous build was not put back.

use serde::{Deserialize, Serialize};

use wire::retry_command;

use super::answer::HeldBack;
use super::case::Target;

/// Why a previous build was not put back. Kept with the verdict, and always said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NotBack {
    /// The plan does not know which build it sent, so there is nothing to keep a verdict for.
    BuildUnknown,
    /// The verdict could not be kept, and a rollback that cannot be counted is not made.
    VerdictNotKept,
    /// A verdict is kept already, and cannot be found.
    KeptVerdictMissing,
    /// Nothing ran there before.
    FirstBuild,
    /// The failed build's record could not be read.
    FailedRecordUnreadable,
    /// The failed build has no record.
    FailedRecordMissing,
    /// The failed build declared that no older build can follow it.
    PointOfNoReturn,
    /// The records of builds could not be read.
    BuildRecordsUnreadable,
    /// The build that ran before is not kept any more.
    NoPreviousBuild,
    /// The build that ran before was condemned.
    PreviousBuildCondemned,
    /// The registered build could not be set back.
    RestoreRefused,
    /// The plan could not be saved.
    PlanNotSaved,
    /// The gate has no machines.
    NoMachines,
    /// The send was refused as a whole.
    SendRefused,
    /// Not every machine reported that it runs the previous build again.
    Machines {
        /// The build that was sent.
        target: Target,
        /// The machines that run it again.
        back: Vec<String>,
        /// The machines that do not; never none.
        stuck: Vec<Stuck>,
    },
}

/// A machine on which the previous build is not back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// The machine.
    pub machine: String,
    /// Why it is not back there.
    pub why: StuckWhy,
}

/// Why a previous build is not back on one machine. The greater one decides what is said first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckWhy {
    /// It did not report in time.
    Silent,
    /// It was not sent the declaration.
    NotSent,
    /// It reported something else.
    Other {
        /// What it said.
        said: String,
    },
    /// A rule of the machine refused it.
    Refused {
        /// Which.
        rule: String,
    },
    /// Its failure book holds these instances down.
    Held {
        /// The instances, and what holds each.
        instances: Vec<HeldBack>,
    },
    /// The previous build fails there too.
    Failed {
        /// Why.
        why: String,
    },
}

impl NotBack {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BuildUnknown => "build_unknown",
            Self::VerdictNotKept => "verdict_not_kept",
            Self::KeptVerdictMissing => "kept_verdict_missing",
            Self::FirstBuild => "first_build",
            Self::FailedRecordUnreadable => "failed_record_unreadable",
            Self::FailedRecordMissing => "failed_record_missing",
            Self::PointOfNoReturn => "point_of_no_return",
            Self::BuildRecordsUnreadable => "build_records_unreadable",
            Self::NoPreviousBuild => "no_previous_build",
            Self::PreviousBuildCondemned => "previous_build_condemned",
            Self::RestoreRefused => "restore_refused",
            Self::PlanNotSaved => "plan_not_saved",
            Self::NoMachines => "no_machines",
            Self::SendRefused => "send_refused",
            Self::Machines { stuck, .. } => {
                stuck.iter().map(|stuck| &stuck.why).max().map_or("no_report", StuckWhy::code)
            }
        }
    }

    /// The sentence for people, without a full stop.
    #[must_use]
    pub fn words(&self) -> String {
        let words = match self {
            Self::BuildUnknown => "the plan does not know which build it sent",
            Self::VerdictNotKept => "the verdict could not be kept",
            Self::KeptVerdictMissing => "a verdict is kept already, and cannot be found",
            Self::FirstBuild => "nothing ran there before",
            Self::FailedRecordUnreadable => "the failed build's record could not be read",
            Self::FailedRecordMissing => "the failed build has no record",
            Self::PointOfNoReturn => "the failed build is a point of no return",
            Self::BuildRecordsUnreadable => "the records of builds could not be read",
            Self::NoPreviousBuild => "the build that ran before is not kept any more",
            Self::PreviousBuildCondemned => "the build that ran before failed its own gate",
            Self::RestoreRefused => "the registered build could not be set back",
            Self::PlanNotSaved => "the plan could not be saved",
            Self::NoMachines => "its gate has no machines",
            Self::SendRefused => "the send was refused",
            Self::Machines { back, stuck, .. } => return machines_words(back, stuck),
        };
        words.to_owned()
    }

    /// The commands that free what machines hold down: a signed rollback, or a signed retry of each
    /// instance.
    #[must_use]
    pub fn resolve(&self, module: &str) -> Vec<String> {
        let Self::Machines { target, stuck, .. } = self else { return Vec::new() };
        let held = stuck.iter().flat_map(|stuck| match &stuck.why {
            StuckWhy::Held { instances } => retries(&stuck.machine, instances),
            StuckWhy::Silent
            | StuckWhy::NotSent
            | StuckWhy::Other { .. }
            | StuckWhy::Refused { .. }
            | StuckWhy::Failed { .. } => Vec::new(),
        });
        let held: Vec<String> = held.collect();
        if held.is_empty() {
            return Vec::new();
        }
        let rollback = format!("controller rollback {module} {}", target.build);
        std::iter::once(rollback).chain(held).collect()
    }
}

impl StuckWhy {
    fn code(&self) -> &'static str {
        match self {
            Self::Silent => "no_report",
            Self::NotSent => "not_sent",
            Self::Other { .. } => "report_other",
            Self::Refused { .. } => "refused",
            Self::Held { .. } => "held",
            Self::Failed { .. } => "previous_build_fails_too",
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Silent => "did not report".to_owned(),
            Self::NotSent => "was not sent it".to_owned(),
            Self::Other { said } => format!("says \"{said}\""),
            Self::Refused { rule } => format!("refused it ({rule})"),
            Self::Held { instances } => {
                let held = instances.iter().map(|it| {
                    let HeldBack { instance, build, rule } = it;
                    format!("{instance} ({rule} of build {build})")
                });
                format!("holds {}", held.collect::<Vec<_>>().join(", "))
            }
            Self::Failed { why } => format!("fails with the previous build too ({why})"),
        }
    }
}

/// One command for each instance and build: a book may name a build twice.
fn retries(machine: &str, held: &[HeldBack]) -> Vec<String> {
    let mut commands: Vec<_> =
        held.iter().map(|it| retry_command(machine, &it.instance, &it.build)).collect();
    commands.dedup();
    commands
}

fn machines_words(back: &[String], stuck: &[Stuck]) -> String {
    let mut parts: Vec<String> =
        stuck.iter().map(|stuck| format!("{} {}", stuck.machine, stuck.why.words())).collect();
    if !back.is_empty() {
        parts.push(format!("back on {}", back.join(", ")));
    }
    parts.join("; ")
}
