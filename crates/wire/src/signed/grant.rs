//! The word that lets one instance try a build again.

use core::fmt;
use core::num::NonZeroU64;

use chrono::{DateTime, Utc};
use names::{AccountName, BookId, BuildId, InstanceName, MachineName, ModuleName, WordId};
use serde::{Deserialize, Serialize};

use super::public_key::Role;
use super::validity::Validity;
use super::verify::{Word, sealed::Sealed};

/// This instance may try this build again, once, as long as its machine's failure book stands as it stood when this
/// was signed.
///
/// Three things keep it from freeing anything else. It names one instance of one machine. It names a book and a
/// generation of it, and a book that has changed since has another. And it is used once: see
/// [`UsedGrants`](super::UsedGrants). Whoever takes it looks whether the machine is its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryGrant {
    /// What makes it good once.
    pub id: WordId,
    /// Where.
    pub machine: MachineName,
    /// Whose module it is.
    pub account: AccountName,
    /// Which module.
    pub module: ModuleName,
    /// The build that is to be tried again.
    pub build: BuildId,
    /// Which instance may.
    pub instance: InstanceName,
    /// The book that published the restriction.
    pub book: BookId,
    /// The generation that it published.
    pub generation: Generation,
    /// When it was signed.
    pub issued_at: DateTime<Utc>,
    /// Until when it is good.
    pub expires_at: DateTime<Utc>,
}

/// The number that a machine's failure book gave to the state of what restricts a module. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub NonZeroU64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sealed for RetryGrant {}

impl Word for RetryGrant {
    const DOMAIN: &'static str = "bw.v1.grant\0";
    const SIGNED_BY: &'static [Role] = &[Role::Operator];
    const NAME: &'static str = "a retry grant";

    fn validity(&self) -> Validity {
        Validity::Between { issued_at: self.issued_at, expires_at: self.expires_at }
    }
}
