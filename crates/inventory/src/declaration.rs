//! The whole desired state of one machine.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use names::{AccountName, BuildId, Commit, Digest, InstanceName, MachineName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::{artifact::Artifact, canonical, manifest::Manifest, module::Environment};

/// The whole desired state of one machine.
///
/// What is *not* in it is left alone: a module is stopped only when it is in [`Declaration::withdrawn`], so an empty
/// declaration, or one that was composed from half an inventory, stops nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// Whose desired state this is.
    pub machine: MachineName,
    /// Grows by one with each declaration composed for this machine.
    pub number: DeclarationNumber,
    /// The lease epoch of the controller that composed it; a machine refuses a lower one.
    pub epoch: Epoch,
    /// When it was composed, by the controller's clock; a controller from before this was said has not said it. A failure
    /// that the declaration leads to is stamped with it, so that only a word signed after it lifts that failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composed_at: Option<DateTime<Utc>>,
    /// What should run, by module.
    pub modules: BTreeMap<ModuleName, DeclaredModule>,
    /// What should run no longer. A module stays here until it is declared again, since a machine that was away sees only
    /// the newest declaration.
    pub withdrawn: BTreeSet<ModuleName>,
}

/// Counts the declarations of one machine; the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeclarationNumber(pub u64);

impl DeclarationNumber {
    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Counts the holders of the controller's lease; it only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch(pub u64);

impl std::fmt::Display for DeclarationNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::fmt::Display for Epoch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One module of a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredModule {
    /// Whose module it is.
    pub account: AccountName,
    /// The build that should run.
    pub build: BuildId,
    /// What the source calls that build.
    pub commit: Commit,
    /// How it is to be run.
    pub manifest: Manifest,
    /// What it consists of.
    pub artifacts: Vec<Artifact>,
    /// The copies to run, each with the environment of its own.
    pub instances: BTreeMap<InstanceName, Environment>,
}

impl Declaration {
    /// The SHA-256 of its JSON; equal declarations have equal digests.
    pub fn digest(&self) -> Digest {
        canonical::digest(self)
    }
}
