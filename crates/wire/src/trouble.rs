//! What is wrong with a machine itself, whatever runs on it.

use serde::{Deserialize, Serialize};

/// Something that is wrong with the machine, or was found damaged on it. It says nothing about any build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trouble {
    /// The kind of it: with the machine's name it is what a condition goes by.
    pub kind: TroubleKind,
    /// In words: which file or disk, and what to do.
    pub why: String,
}

/// What sort of trouble a machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// The disk that the agent writes to has no room: nothing new is begun, and what runs goes on.
    DiskFull,
    /// The disk that the agent writes to takes no writes: nothing new is begun, and what runs goes on.
    DiskReadOnly,
    /// The disk that the agent writes to fails in another way.
    DiskFails,
    /// A file of the agent's was damaged, and was set aside.
    FileDamaged,
    /// A newer agent knows it; this program does not.
    #[serde(other)]
    Other,
}

impl TroubleKind {
    /// The word that a condition goes by.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "disk-full",
            Self::DiskReadOnly => "disk-read-only",
            Self::DiskFails => "disk-fails",
            Self::FileDamaged => "file-damaged",
            Self::Other => "other",
        }
    }
}
