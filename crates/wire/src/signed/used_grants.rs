//! What makes a grant good once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use names::WordId;
use serde::{Deserialize, Serialize};

use super::grant::RetryGrant;
use super::validity::is_over;
use super::verify::Verified;

/// Which grants were used. It is kept on the disk, and lands before the book is asked to free anything: after a crash
/// in between a grant is used up and has freed nothing, and a new one is issued. The other way round it could free
/// twice.
///
/// A grant that has expired needs no memory, but clocks can be set back, and then it has not expired. So what is
/// forgotten leaves a *horizon* behind, the latest expiry of anything that was forgotten, and no grant that expires
/// at or before it is taken, used or not. That is why a replay never passes, whatever the clock does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedGrants {
    /// When each of them expires.
    #[serde(default)]
    used: BTreeMap<WordId, DateTime<Utc>>,
    /// What expires at or before this may have been used and forgotten.
    #[serde(default)]
    horizon: Option<DateTime<Utc>>,
}

/// Why a grant cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotUsable {
    /// It was used.
    #[error("this grant was used here already; issue a new one")]
    Used,
    /// It is so old that it may have been used.
    #[error(
        "this grant expires by {horizon}, and it is not remembered here any more which of those were used; issue a new one"
    )]
    Forgotten {
        /// Up to which expiry nothing is remembered.
        horizon: DateTime<Utc>,
    },
}

impl UsedGrants {
    /// How many are remembered at most. It is more than anybody signs for one machine in a week, and one more makes
    /// the one that expires first forgotten, which moves the horizon.
    pub const REMEMBERED_MAX: usize = 1_024;

    /// Uses a grant up, and forgets those that expired.
    ///
    /// # Errors
    ///
    /// [`NotUsable`] when it was used, or may have been; nothing has changed then.
    pub fn spend(
        &mut self,
        grant: &Verified<RetryGrant>,
        now: DateTime<Utc>,
    ) -> Result<(), NotUsable> {
        if self.used.contains_key(&grant.id) {
            return Err(NotUsable::Used);
        }
        if let Some(horizon) = self.horizon.filter(|horizon| grant.expires_at <= *horizon) {
            return Err(NotUsable::Forgotten { horizon });
        }
        self.used.insert(grant.id.clone(), grant.expires_at);
        self.forget(now);
        Ok(())
    }

    /// How many are remembered.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.used.len()
    }

    /// Forgets what has expired by more than clocks may differ, and what is too much.
    fn forget(&mut self, now: DateTime<Utc>) {
        let expired = self.used.values().copied().filter(|at| is_over(*at, now)).max();
        self.forget_until(expired);
        while self.used.len() > Self::REMEMBERED_MAX {
            self.forget_until(self.used.values().copied().min());
        }
    }

    /// Forgets what expires up to then.
    fn forget_until(&mut self, horizon: Option<DateTime<Utc>>) {
        let Some(horizon) = horizon else { return };
        self.used.retain(|_, expires_at| *expires_at > horizon);
        // It only rises: nothing was taken that expires at or before the one there was.
        self.horizon = Some(horizon);
    }
}
