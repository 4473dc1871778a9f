//! What a module is judged by beyond its report: each core component by its own source, any other
//! module first by its tools.

use super::{Examination, Finding};
use crate::facts::{Manifest, Served, ToolNames};
use crate::reason::{NotYet, Unnamed};
use crate::rules::{Identity, Lack, ServedTools};
use alloc::string::String;
use chrono::{DateTime, TimeDelta, Utc};

/// How much older than the send a lease may be. The machine's controller may take it a little
/// before the send is written down.
const LEASE_GRACE: TimeDelta = TimeDelta::seconds(60);

impl Examination<'_> {
    /// The engine, by the build that it reports.
    pub(super) fn engine(&self) -> Result<(), Finding> {
        let delivered = self.module.manifest.map_or(&[][..], |manifest| &manifest.delivered);
        let engine = self.machine.facts.engine.unwrap_or_default();
        let is_sent = |rule| match rule {
            Lack::IsNothing => false,
            Lack::IsWanting => self.module.build == Some(engine),
        };
        if is_sent(self.rules.incomparable_engine) || delivered.iter().any(|one| one == engine) {
            return Ok(());
        }
        let is_comparable = !delivered.is_empty() || self.module.build.is_some();
        match self.rules.incomparable_engine {
            Lack::IsNothing if delivered.is_empty() => Ok(()),
            Lack::IsWanting if !is_comparable => Err(self.not_yet(NotYet::EngineNotComparable)),
            Lack::IsNothing | Lack::IsWanting => Err(self.not_yet(NotYet::EngineBuildMismatch)),
        }
    }

    /// Node tools, by their answer.
    pub(super) fn node_tools(&self) -> Result<(), Finding> {
        let Some(served) = self.answering_tools()? else {
            return Err(self.not_yet(NotYet::ToolsRuntimeSilent));
        };
        match self.rules.node_tools_identity {
            Identity::NotCompared => Ok(()),
            Identity::Compared => {
                let sent = self.sent_build()?;
                let build = self.named(served.build.as_deref(), Unnamed::NodeTools)?;
                if build == sent { Ok(()) } else { Err(self.not_yet(NotYet::ToolsOfAnotherBuild)) }
            }
        }
    }

    /// The controller, by the lease and its own word.
    pub(super) fn controller(&self) -> Result<(), Finding> {
        let Ok(holder) = self.facts.lease() else {
            return Err(self.not_yet(NotYet::LeaseUnreadable));
        };
        let Some(holder) = holder else { return Err(self.not_yet(NotYet::LeaseVacant)) };
        if self.rules.lease_identity == Identity::Compared {
            let sent = self.sent_build()?;
            let build = self.named(holder.build.as_deref(), Unnamed::Lease)?;
            let machine = self.named(holder.machine.as_deref(), Unnamed::Lease)?;
            if build != sent || machine != self.machine.name {
                return Err(self.not_yet(NotYet::LeaseHeldByAnother));
            }
        }
        let oldest = self.machine.since.checked_sub_signed(LEASE_GRACE);
        if holder.taken < oldest.unwrap_or(DateTime::<Utc>::MIN_UTC) {
            return Err(self.not_yet(NotYet::LeaseOlder));
        }
        if holder.health.as_ref().is_some_and(|health| health.ready) {
            return Ok(());
        }
        Err(self.not_yet(NotYet::ControllerNotReady))
    }

    /// The tools of a plain module, when it declares any.
    pub(super) fn tools(&self) -> Result<(), Finding> {
        let Some(manifest) = self.module.manifest.filter(|manifest| !manifest.tools.is_empty())
        else {
            return Ok(());
        };
        match (self.answering_tools()?, self.rules.silent_runtime) {
            (Some(served), _) => self.served(manifest, &served.tools),
            (None, Lack::IsNothing) => Ok(()),
            (None, Lack::IsWanting) => Err(self.not_yet(NotYet::ToolsRuntimeSilent)),
        }
    }

    fn served(&self, manifest: &Manifest, served: &ToolNames) -> Result<(), Finding> {
        let missing = match self.rules.served_tools {
            ServedTools::Any => {
                let is_served = match served {
                    ToolNames::OfModules(modules) => modules.contains(self.module.name),
                    ToolNames::Each(_) => self.known.tools.is_some(),
                };
                (!is_served).then_some(None)
            }
            // Where only modules are known to be served, no tool is.
            ServedTools::Each => {
                let is_served =
                    |tool: &String| self.known.tools.is_some_and(|tools| tools.contains(tool));
                manifest.tools.iter().find(|tool| !is_served(tool)).map(Some)
            }
        };
        match missing {
            None => Ok(()),
            Some(tool) => Err(self.not_yet(NotYet::ToolsNotServed { tool: tool.cloned() })),
        }
    }

    /// What the machine's node tools answered; `None` when they did not.
    fn answering_tools(&self) -> Result<Option<&Served>, Finding> {
        if self.facts.served_unreadable() {
            return Err(self.not_yet(NotYet::ServedUnreadable));
        }
        Ok(self.machine.facts.served.filter(|served| served.runtime))
    }
}
