//! Signed words on their way to a machine, and what it answers.

use names::{AccountName, BuildId, InstanceName, ModuleName};
use serde::{Deserialize, Serialize};

use crate::signed::{BelowFloor, NotRotated, NotUsable, Signed, WordError};

/// Controller to agent: somebody who may signed this. Whoever hands it over cannot change it, and need not be believed.
///
/// Delivery is at least once: a pointer or a rotation that was taken is taken again; a grant that was is refused as
/// [`Used`](RefusedBecause::Used).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "word", content = "signed")]
pub enum Word {
    /// A [`RetryGrant`](crate::signed::RetryGrant).
    Grant(Signed),
    /// A [`Pointer`](crate::signed::Pointer).
    Pointer(Signed),
    /// A [`Rotation`](crate::signed::Rotation).
    Rotation(Signed),
}

/// The agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum WordReply {
    /// It counts, and what it freed is on the disk.
    Taken {
        /// What it freed; nothing, where nothing was held, or for a repeat.
        freed: Vec<Freed>,
    },
    /// It changed nothing.
    Refused {
        /// Why, for programs.
        because: RefusedBecause,
        /// Why and what to do, for people.
        why: String,
    },
}

/// What a word freed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freed {
    /// Whose module it is.
    pub account: AccountName,
    /// Which module.
    pub module: ModuleName,
    /// From the restrictions of this build.
    pub build: BuildId,
    /// Which instance; none: every one of the machine.
    pub instance: Option<InstanceName>,
    /// What was lifted.
    pub lifted: Lifted,
}

/// What was lifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifted {
    /// The build's failure record.
    Record,
    /// The instance's hold-ran marker.
    Marker,
    /// What held the instance down, for the build that the word names: what failed there may still not be tried again.
    HoldDown,
    /// Both.
    RecordAndMarker,
    /// A newer agent knows what this is; this program does not.
    #[serde(other)]
    Other,
}

/// Why a word was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusedBecause {
    /// Its signer is not trusted for it on this machine.
    NotTrusted,
    /// Its signature is wrong.
    Signature,
    /// It cannot be read, or is of a version that the machine does not know.
    Unreadable,
    /// By the machine's clock it is from the future.
    NotYet,
    /// It is good no longer.
    Expired,
    /// It is for another machine.
    OtherMachine,
    /// It was used, or may have been.
    Used,
    /// A newer one was taken.
    Older,
    /// Another one of the same time was taken.
    OtherContent,
    /// It is for a failure book that is not there any more.
    OtherBook,
    /// What it was signed for has changed since.
    OtherGeneration,
    /// Nothing holds the instance.
    NotHeld,
    /// The machine's disk or book takes no changes now; it can be said again later.
    NotKept,
    /// A newer agent knows what this is; this program does not.
    #[serde(other)]
    Other,
}

impl From<&WordError> for RefusedBecause {
    fn from(error: &WordError) -> Self {
        match error {
            WordError::Role { .. }
            | WordError::NobodyTrusted { .. }
            | WordError::NotTrusted { .. }
            | WordError::Retired { .. } => Self::NotTrusted,
            WordError::Signature { .. } => Self::Signature,
            WordError::TooLarge { .. }
            | WordError::UnknownVersion { .. }
            | WordError::Unreadable { .. }
            | WordError::Term { .. } => Self::Unreadable,
            WordError::NotYet { .. } => Self::NotYet,
            WordError::Expired { .. } => Self::Expired,
        }
    }
}

impl From<&BelowFloor> for RefusedBecause {
    fn from(error: &BelowFloor) -> Self {
        match error {
            BelowFloor::Older { .. } => Self::Older,
            BelowFloor::OtherContent { .. } => Self::OtherContent,
        }
    }
}

impl From<&NotUsable> for RefusedBecause {
    fn from(error: &NotUsable) -> Self {
        match error {
            NotUsable::Used | NotUsable::Forgotten { .. } => Self::Used,
        }
    }
}

impl From<&NotRotated> for RefusedBecause {
    fn from(error: &NotRotated) -> Self {
        match error {
            NotRotated::NotTrusted { .. } => Self::NotTrusted,
            NotRotated::Role { .. } | NotRotated::Retired { .. } => Self::OtherContent,
        }
    }
}

impl WordReply {
    /// Refuses a word for this error, in its own words and those of what is behind it.
    pub fn refused<E>(error: &E) -> Self
    where
        E: core::error::Error,
        for<'a> RefusedBecause: From<&'a E>,
    {
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            why.push_str(": ");
            why.push_str(&error.to_string());
            source = error.source();
        }
        Self::Refused { because: error.into(), why }
    }
}
