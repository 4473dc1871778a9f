//! The word that says which build of a module is current.

use chrono::{DateTime, Utc};
use names::{AccountName, BuildId, ChannelName, ModuleName, WordId};
use serde::{Deserialize, Serialize};

use super::public_key::Role;
use super::validity::Validity;
use super::verify::{Word, sealed::Sealed};

/// This channel of this module is this build since then.
///
/// On a machine it lifts what the failure book holds against that build, where the book's entries are older than the
/// stamp. It is for every machine, and can be said to each as often as it takes. No older one is taken after it: see
/// [`Floors`](super::Floors).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// Unique among all words: it is told wherever this pointer is.
    pub id: WordId,
    /// Whose module it is.
    pub account: AccountName,
    /// Which module.
    pub module: ModuleName,
    /// Which of its channels.
    pub channel: ChannelName,
    /// The build that is current there.
    pub build: BuildId,
    /// Since when: the stamp. The greatest of a channel counts.
    pub promoted_at: DateTime<Utc>,
    /// What is meant by it.
    pub kind: PointerKind,
}

/// What a pointer is meant to do. A kind that is not known here makes the whole pointer unreadable: nothing is freed
/// on a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointerKind {
    /// The channel moves onto the build.
    Promote,
    /// The build that failed is to be tried again, on every machine.
    PromoteRetry,
    /// The channel goes back to a build that it had before.
    Rollback,
}

impl Sealed for Pointer {}

impl Word for Pointer {
    const DOMAIN: &'static str = "bw.v1.pointer\0";
    const SIGNED_BY: &'static [Role] = &[Role::Operator];
    const NAME: &'static str = "a pointer";

    /// It does not expire: a machine that was away must still hear which build is current. It must not lie far ahead
    /// either, since it would then be newer than every pointer that is signed meanwhile.
    fn validity(&self) -> Validity {
        Validity::From(self.promoted_at)
    }
}
