//! The requests.

use std::{fmt, str::FromStr};

use inventory::{Artifact, Instances, Manifest, Target};
use names::{BuildId, Commit, Digest, IdError, MachineName, ModuleName, NameError, PlanId};
use serde::{Deserialize, Serialize};

use super::held::Question;
use crate::signed::Signed;

/// What a person or a pipeline asks of the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum Ask {
    /// Every machine, and how it stands.
    Machines,
    /// Every module.
    Modules,
    /// Every kept build, of one module or of all.
    Builds {
        /// Of this module only.
        module: Option<ModuleName>,
    },
    /// Every plan, the newest first.
    Plans,
    /// One plan, whole.
    Plan {
        /// Which.
        plan: PlanId,
    },
    /// Every gate, open and ended, the newest first.
    Gates,
    /// All that is wrong now.
    Conditions,
    /// Here is a new build; it is not released by that.
    Register(Box<Registration>),
    /// Run a module on these machines too.
    Assign {
        /// Which module.
        module: ModuleName,
        /// Where.
        to: Target,
        /// In how many copies.
        instances: Instances,
    },
    /// Run a module there no longer.
    Unassign {
        /// Which module.
        module: ModuleName,
        /// The assignment to take back, as it was made.
        to: Target,
    },
    /// Move modules onto these builds, carefully.
    Release {
        /// Which builds.
        builds: Vec<BuildRef>,
        /// When it begins.
        pace: Pace,
        /// Whether it is done or only told.
        run: Run,
    },
    /// Try the builds of an ended plan again, in a new plan: the one way to ask for a condemned build again.
    Retry {
        /// The ended plan.
        plan: PlanId,
    },
    /// End a plan: nothing more is sent, and what it moved goes back.
    Stop {
        /// Which.
        plan: PlanId,
    },
    /// Send a machine its declaration again.
    Push {
        /// Which.
        machine: MachineName,
    },
    /// Every instance, and what holds it.
    Instances {
        /// Of this module only.
        module: Option<ModuleName>,
        /// On this machine only.
        machine: Option<MachineName>,
    },
    /// Something that only a machine can answer.
    OfMachine {
        /// Which.
        machine: MachineName,
        /// What.
        question: Question,
    },
    /// Keep this signed [`Pointer`](crate::signed::Pointer), and hand it to every machine of its module.
    Point {
        /// The pointer.
        pointer: Signed,
    },
    /// The pointers that are kept, and who has them.
    Pointers {
        /// Of this module only.
        module: Option<ModuleName>,
    },
}

/// A build to register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// What the source calls it.
    pub commit: Commit,
    /// How it is to be run and judged.
    pub manifest: Manifest,
    /// What it consists of; the files are in the artifact folder already.
    pub artifacts: Vec<Artifact>,
    /// What its source was made of, where that is known.
    pub source_fingerprint: Option<Digest>,
}

/// A build as people name it: `blog@01J…` (a whole id, or its last characters, or a commit), or `blog` for the newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BuildRef {
    /// Of which module.
    pub module: ModuleName,
    /// Which of its builds; not said: the newest.
    pub build: Option<String>,
}

/// When a release begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "pace")]
pub enum Pace {
    /// After the plans that move the same modules or machines.
    InTurn,
    /// At once: plans of the same modules are superseded. The reason is kept.
    Now {
        /// Why it cannot wait.
        why: String,
    },
}

/// Whether a release is done or only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Run {
    /// Done.
    Real,
    /// Told: what would be sent, to whom, and what runs there now.
    Dry,
}

impl BuildRef {
    /// Whether it means this build.
    pub fn means(&self, id: &BuildId, commit: &Commit) -> bool {
        match &self.build {
            None => true,
            Some(text) => {
                commit.as_str() == text
                    || id.as_str() == text
                    || (text.len() >= 4 && id.as_str().ends_with(text.as_str()))
            }
        }
    }
}

impl fmt::Display for BuildRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.build {
            Some(build) => write!(f, "{}@{build}", self.module),
            None => self.module.fmt(f),
        }
    }
}

/// Why a text names no build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildRefError {
    /// What is before the `@` is no module name.
    #[error(transparent)]
    Module(#[from] NameError),
    /// What is after the `@` is neither an id nor a commit.
    #[error(transparent)]
    Build(#[from] IdError),
}

impl FromStr for BuildRef {
    type Err = BuildRefError;

    fn from_str(text: &str) -> Result<Self, BuildRefError> {
        match text.split_once('@') {
            None => Ok(Self { module: text.parse()?, build: None }),
            // Ids and their endings are visible text too, so a commit's rule covers all three forms.
            Some((module, build)) => {
                Ok(Self { module: module.parse()?, build: Some(Commit::new(build)?.into()) })
            }
        }
    }
}

impl TryFrom<String> for BuildRef {
    type Error = BuildRefError;

    fn try_from(text: String) -> Result<Self, BuildRefError> {
        text.parse()
    }
}

impl From<BuildRef> for String {
    fn from(build: BuildRef) -> String {
        build.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_named_by_id_ending_commit_or_not_at_all() {
        let id: BuildId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        let commit: Commit = "v1.2".parse().unwrap();
        for text in ["blog", "blog@01ARZ3NDEKTSV4RRFFQ69G5FAV", "blog@9G5FAV", "blog@v1.2"] {
            let build: BuildRef = text.parse().unwrap();
            assert!(build.means(&id, &commit), "{text}");
            assert_eq!(build.to_string(), text);
        }
        for text in ["blog@v1", "blog@FAV", "blog@01ARZ3"] {
            assert!(!text.parse::<BuildRef>().unwrap().means(&id, &commit), "{text}");
        }
        for text in ["", "Blog", "blog@", "blog@a b", "@x"] {
            assert!(text.parse::<BuildRef>().is_err(), "{text}");
        }
    }
}
