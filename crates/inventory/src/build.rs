//! One version of a module.

use core::fmt;

use chrono::{DateTime, Utc};
use names::{BuildId, Commit, Digest, ModuleName};
use serde::{Deserialize, Serialize};

use crate::{artifact::Artifact, canonical, manifest::Manifest};

/// One version of a module, as it was registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Drawn when it was registered.
    pub id: BuildId,
    /// What the source calls it.
    pub commit: Commit,
    /// How it is to be run and judged; also says of which module it is a build.
    pub manifest: Manifest,
    /// What it consists of, in any order.
    pub artifacts: Vec<Artifact>,
    /// What its source was made of, where whoever built it said so.
    pub source_fingerprint: Option<Digest>,
    /// When it was registered.
    pub registered_at: DateTime<Utc>,
}

/// What a build *is*, whatever its id and commit: the digest of its artifacts and its manifest. Verdicts are kept
/// under it, so a bad build that comes back under another name is recognised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Content(pub Digest);

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Build {
    /// The module that this is a build of.
    pub fn module(&self) -> &ModuleName {
        &self.manifest.module
    }

    /// The digest of the artifacts, in whatever order they are listed.
    pub fn artifact_fingerprint(&self) -> Digest {
        canonical::digest(&self.artifacts_in_order())
    }

    /// The digest of artifacts and manifest.
    pub fn content(&self) -> Content {
        Content(canonical::digest(&(self.artifacts_in_order(), &self.manifest)))
    }

    fn artifacts_in_order(&self) -> Vec<&Artifact> {
        let mut artifacts: Vec<_> = self.artifacts.iter().collect();
        artifacts.sort();
        artifacts
    }
}
