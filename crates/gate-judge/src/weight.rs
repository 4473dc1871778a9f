//! What a reason says against a build when the bound falls, and who is to blame for it.

use crate::component::Component;
use crate::reason::{NotYet, Reason, Unnamed};
use serde::{Deserialize, Serialize};

/// What something wanting says against the build when the bound falls, the least first: of
/// several, the most decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It was seen, but it was so before the build was sent.
    WantingBefore,
    /// Nobody saw anything: silent, unreadable, untried, or the machine's as a whole.
    Silence,
    /// Somebody saw that it does not do.
    Evidence,
}

/// Who is to blame for an end, the least first: of several, the last is blamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// What lies around both: sources that cannot be read, artifacts out of reach.
    Environment,
    /// The machine: it is silent, wrong as a whole, or was wanting before.
    Machine,
    /// The build: there is evidence against it.
    Build,
}

/// What a module's reason weighs by itself, the baseline aside.
///
/// A source's silence is evidence against the module that is that source: an engine that was just
/// moved and no longer reports, node tools that were moved and do not answer, a controller that
/// was moved and holds no lease.
pub(crate) fn weight(reason: &NotYet, component: Option<Component>) -> Weight {
    match reason {
        NotYet::NotReported
        | NotYet::ReportOfAnotherSend
        | NotYet::HealthNotRestated
        | NotYet::StatementOfAnotherSend
        | NotYet::StatementTooOld => silence_of(Component::NodeEngine, component),
        NotYet::ToolsRuntimeSilent => silence_of(Component::NodeTools, component),
        NotYet::LeaseVacant => silence_of(Component::Controller, component),
        NotYet::Unable
        | NotYet::ConditionsUnreadable
        | NotYet::ServedUnreadable
        | NotYet::LeaseUnreadable
        | NotYet::HealthUnreadable
        | NotYet::ModuleNotInCatalogue
        | NotYet::EngineNotComparable
        | NotYet::IdentityAbsent { .. }
        | NotYet::MachineAsAWhole { .. } => Weight::Silence,
        NotYet::ReportOther
        | NotYet::ConditionRaised { .. }
        | NotYet::EngineBuildMismatch
        | NotYet::ToolsOfAnotherBuild
        | NotYet::LeaseOlder
        | NotYet::LeaseHeldByAnother
        | NotYet::ControllerNotReady
        | NotYet::ToolsNotServed { .. }
        | NotYet::ResourceStarting { .. }
        | NotYet::ResourceUnhealthy { .. }
        | NotYet::ResourceNotStated { .. }
        | NotYet::CoreBehindSettling { .. } => Weight::Evidence,
    }
}

fn silence_of(source: Component, component: Option<Component>) -> Weight {
    if component == Some(source) { Weight::Evidence } else { Weight::Silence }
}

/// Whom a reason of this weight blames.
pub(crate) fn blame(reason: &Reason, weight: Weight) -> Blame {
    let not_yet = match (reason, weight) {
        (Reason::Broken(_), _) | (_, Weight::Evidence) => return Blame::Build,
        (Reason::NotYet(_), Weight::WantingBefore) => return Blame::Machine,
        (Reason::NotYet(not_yet), Weight::Silence) => not_yet,
    };
    match not_yet {
        NotYet::Unable
        | NotYet::ConditionsUnreadable
        | NotYet::ServedUnreadable
        | NotYet::LeaseUnreadable
        | NotYet::HealthUnreadable
        | NotYet::ModuleNotInCatalogue
        | NotYet::EngineNotComparable
        | NotYet::IdentityAbsent { of: Unnamed::Send } => Blame::Environment,
        NotYet::NotReported
        | NotYet::ReportOfAnotherSend
        | NotYet::ReportOther
        | NotYet::ConditionRaised { .. }
        | NotYet::EngineBuildMismatch
        | NotYet::ToolsRuntimeSilent
        | NotYet::ToolsOfAnotherBuild
        | NotYet::LeaseVacant
        | NotYet::LeaseOlder
        | NotYet::LeaseHeldByAnother
        | NotYet::ControllerNotReady
        | NotYet::ToolsNotServed { .. }
        | NotYet::HealthNotRestated
        | NotYet::StatementOfAnotherSend
        | NotYet::StatementTooOld
        | NotYet::ResourceStarting { .. }
        | NotYet::ResourceUnhealthy { .. }
        | NotYet::ResourceNotStated { .. }
        | NotYet::MachineAsAWhole { .. }
        | NotYet::CoreBehindSettling { .. }
        | NotYet::IdentityAbsent { .. } => Blame::Machine,
    }
}
