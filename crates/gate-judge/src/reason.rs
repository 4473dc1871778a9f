//! Why something is not good: an enum with a stable code and a sentence.

use alloc::string::String;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Evidence that a build does not do on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Broken {
    /// The witness on the machine decided against the core component's build.
    WitnessVerdict,
    /// The machine tried it, and it failed.
    ReportFailed,
    /// The machine refused it, by a rule.
    ReportRefused,
    /// The supervisor of a resource gave it up.
    ResourceFailed {
        /// The resource.
        resource: String,
    },
}

/// What is wanting before a build can be found good on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum NotYet {
    /// No report on what was sent.
    NotReported,
    /// The last report is about another send.
    ReportOfAnotherSend,
    /// The machine reports that it could not try.
    Unable,
    /// The machine reports an outcome that is no success.
    ReportOther,
    /// The open conditions could not be read.
    ConditionsUnreadable,
    /// A condition was raised since the send.
    ConditionRaised {
        /// Its key.
        key: String,
    },
    /// The catalogue has no manifest of the module.
    ModuleNotInCatalogue,
    /// The engine reports a build that the module does not deliver.
    EngineBuildMismatch,
    /// Nothing is known to compare the engine's build with.
    EngineNotComparable,
    /// Discovery could not be read.
    ServedUnreadable,
    /// No node tools answer on the machine.
    ToolsRuntimeSilent,
    /// Node tools answer under another build.
    ToolsOfAnotherBuild,
    /// The lease could not be read.
    LeaseUnreadable,
    /// Nobody holds the lease.
    LeaseVacant,
    /// The lease was taken before the send.
    LeaseOlder,
    /// The lease is held by another build, or on another machine.
    LeaseHeldByAnother,
    /// The controller that holds the lease is not ready.
    ControllerNotReady,
    /// Node tools answer, and do not serve what the module declares.
    ToolsNotServed {
        /// The first tool that is not served, where they are compared one by one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// Statements could not be read.
    HealthUnreadable,
    /// The machine has made no statement since the send.
    HealthNotRestated,
    /// The machine's statement is about another declaration.
    StatementOfAnotherSend,
    /// The machine's statement is too old to count.
    StatementTooOld,
    /// A resource is starting.
    ResourceStarting {
        /// The resource.
        resource: String,
    },
    /// A resource is neither healthy nor starting.
    ResourceUnhealthy {
        /// The resource.
        resource: String,
    },
    /// A resource of the manifest is not stated for each execution that was reported.
    ResourceNotStated {
        /// The resource.
        resource: String,
    },
    /// Something is wrong with the machine itself.
    MachineAsAWhole {
        /// The condition's key.
        key: String,
    },
    /// The core component is behind what the machine should run.
    CoreBehindSettling {
        /// The condition's key.
        key: String,
    },
    /// Some evidence does not name what it is about.
    IdentityAbsent {
        /// Which evidence.
        of: Unnamed,
    },
}

/// Evidence that does not name what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unnamed {
    /// The gate does not know which declaration and build were sent.
    Send,
    /// The report names no declaration, or no build or execution of the module.
    Report,
    /// The statement names no declaration.
    Statement,
    /// A stated resource names no build or no execution.
    Resource,
    /// The witness's verdict names no build.
    Witness,
    /// The lease's holder names no build or no machine.
    Lease,
    /// The node tools name no build.
    NodeTools,
}

/// Why a module is not good on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reason {
    /// It never will be.
    Broken(Broken),
    /// It is not, so far.
    NotYet(NotYet),
}

impl From<Broken> for Reason {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<NotYet> for Reason {
    fn from(not_yet: NotYet) -> Self {
        Self::NotYet(not_yet)
    }
}

impl Reason {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Broken(broken) => broken.code(),
            Self::NotYet(not_yet) => not_yet.code(),
        }
    }
}

impl Broken {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::WitnessVerdict => "witness_verdict",
            Self::ReportFailed => "report_failed",
            Self::ReportRefused => "report_refused",
            Self::ResourceFailed { .. } => "resource_failed",
        }
    }
}

impl NotYet {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotReported => "not_reported",
            Self::ReportOfAnotherSend => "report_of_another_send",
            Self::Unable => "unable",
            Self::ReportOther => "report_other",
            Self::ConditionsUnreadable => "conditions_unreadable",
            Self::ConditionRaised { .. } => "condition_raised",
            Self::ModuleNotInCatalogue => "module_not_in_catalogue",
            Self::EngineBuildMismatch => "engine_build_mismatch",
            Self::EngineNotComparable => "engine_not_comparable",
            Self::ServedUnreadable => "served_unreadable",
            Self::ToolsRuntimeSilent => "tools_runtime_silent",
            Self::ToolsOfAnotherBuild => "tools_of_another_build",
            Self::LeaseUnreadable => "lease_unreadable",
            Self::LeaseVacant => "lease_vacant",
            Self::LeaseOlder => "lease_older",
            Self::LeaseHeldByAnother => "lease_held_by_another",
            Self::ControllerNotReady => "controller_not_ready",
            Self::ToolsNotServed { .. } => "tools_not_served",
            Self::HealthUnreadable => "health_unreadable",
            Self::HealthNotRestated => "health_not_restated",
            Self::StatementOfAnotherSend => "statement_of_another_send",
            Self::StatementTooOld => "statement_too_old",
            Self::ResourceStarting { .. } => "resource_starting",
            Self::ResourceUnhealthy { .. } => "resource_unhealthy",
            Self::ResourceNotStated { .. } => "resource_not_stated",
            Self::MachineAsAWhole { .. } => "machine_as_a_whole",
            Self::CoreBehindSettling { .. } => "core_behind_settling",
            Self::IdentityAbsent { .. } => "identity_absent",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(f),
            Self::NotYet(not_yet) => not_yet.fmt(f),
        }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WitnessVerdict => f.write_str("its witness decided against it"),
            Self::ReportFailed => f.write_str("the machine reports that it failed"),
            Self::ReportRefused => f.write_str("the machine reports that it refused it"),
            Self::ResourceFailed { resource } => write!(f, "{resource} was given up"),
        }
    }
}

impl fmt::Display for NotYet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::NotReported => "the machine has not reported on what it was sent",
            Self::ReportOfAnotherSend => "the machine's last report is about another send",
            Self::Unable => "the machine reports that it could not try",
            Self::ReportOther => "the machine reports neither success nor failure",
            Self::ConditionsUnreadable => "the open conditions cannot be read",
            Self::ConditionRaised { key } => return write!(f, "{key} was raised since the send"),
            Self::ModuleNotInCatalogue => "the catalogue has no manifest of it",
            Self::EngineBuildMismatch => "the engine reports another build",
            Self::EngineNotComparable => "nothing is known to compare the engine's build with",
            Self::ServedUnreadable => "discovery cannot be read",
            Self::ToolsRuntimeSilent => "no node tools answer",
            Self::ToolsOfAnotherBuild => "the node tools answer under another build",
            Self::LeaseUnreadable => "the controller lease cannot be read",
            Self::LeaseVacant => "nobody holds the controller lease",
            Self::LeaseOlder => "the controller lease was taken before the send",
            Self::LeaseHeldByAnother => "another controller holds the lease",
            Self::ControllerNotReady => "the controller is not ready",
            Self::ToolsNotServed { tool: None } => "its tools are not served",
            Self::ToolsNotServed { tool: Some(tool) } => {
                return write!(f, "its tool {tool} is not served");
            }
            Self::HealthUnreadable => "statements cannot be read",
            Self::HealthNotRestated => "the machine has stated nothing since the send",
            Self::StatementOfAnotherSend => "the machine's statement is about another declaration",
            Self::StatementTooOld => "the machine's statement was not renewed",
            Self::ResourceStarting { resource } => return write!(f, "{resource} is starting"),
            Self::ResourceUnhealthy { resource } => return write!(f, "{resource} is not healthy"),
            Self::ResourceNotStated { resource } => {
                return write!(f, "the machine does not state {resource}");
            }
            Self::MachineAsAWhole { key } => {
                return write!(f, "something is wrong with the machine itself: {key}");
            }
            Self::CoreBehindSettling { key } => return write!(f, "it is still behind: {key}"),
            Self::IdentityAbsent { of } => return of.fmt(f),
        };
        f.write_str(sentence)
    }
}

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send => "which declaration and build were sent is not known",
            Self::Report => {
                "the machine's report does not name the declaration, build or execution"
            }
            Self::Statement => "the machine's statement does not name the declaration",
            Self::Resource => "a stated resource does not name its build or execution",
            Self::Witness => "its witness's verdict does not name the build",
            Self::Lease => "the holder of the lease does not name its build or machine",
            Self::NodeTools => "the node tools do not name their build",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn every_reason() -> Vec<Reason> {
        let name = || String::from("it");
        let (key, resource) = (name, name);
        let broken = [
            Broken::WitnessVerdict,
            Broken::ReportFailed,
            Broken::ReportRefused,
            Broken::ResourceFailed { resource: resource() },
        ];
        let not_yet = [
            NotYet::NotReported,
            NotYet::ReportOfAnotherSend,
            NotYet::Unable,
            NotYet::ReportOther,
            NotYet::ConditionsUnreadable,
            NotYet::ConditionRaised { key: key() },
            NotYet::ModuleNotInCatalogue,
            NotYet::EngineBuildMismatch,
            NotYet::EngineNotComparable,
            NotYet::ServedUnreadable,
            NotYet::ToolsRuntimeSilent,
            NotYet::ToolsOfAnotherBuild,
            NotYet::LeaseUnreadable,
            NotYet::LeaseVacant,
            NotYet::LeaseOlder,
            NotYet::LeaseHeldByAnother,
            NotYet::ControllerNotReady,
            NotYet::ToolsNotServed { tool: None },
            NotYet::ToolsNotServed { tool: Some(name()) },
            NotYet::HealthUnreadable,
            NotYet::HealthNotRestated,
            NotYet::StatementOfAnotherSend,
            NotYet::StatementTooOld,
            NotYet::ResourceStarting { resource: resource() },
            NotYet::ResourceUnhealthy { resource: resource() },
            NotYet::ResourceNotStated { resource: resource() },
            NotYet::MachineAsAWhole { key: key() },
            NotYet::CoreBehindSettling { key: key() },
        ];
        let unnamed = [
            Unnamed::Send,
            Unnamed::Report,
            Unnamed::Statement,
            Unnamed::Resource,
            Unnamed::Witness,
            Unnamed::Lease,
            Unnamed::NodeTools,
        ];
        let absent = unnamed.map(|of| NotYet::IdentityAbsent { of });
        let not_yet = not_yet.into_iter().chain(absent).map(Reason::from);
        broken.map(Reason::from).into_iter().chain(not_yet).collect()
    }

    #[test]
    fn a_code_is_what_is_written_and_read() {
        for reason in every_reason() {
            let written = serde_json::to_value(&reason).unwrap();
            assert_eq!(written["reason"], reason.code());
            assert_eq!(serde_json::from_value::<Reason>(written).unwrap(), reason);
        }
    }

    #[test]
    fn each_reason_has_a_sentence_of_its_own() {
        let sentences: BTreeSet<_> = every_reason().iter().map(Reason::to_string).collect();
        assert_eq!(sentences.len(), every_reason().len());
        assert!(sentences.iter().all(|sentence| !sentence.is_empty()));
    }
}
