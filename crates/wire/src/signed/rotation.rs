//! The word that puts a key in the place of another.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::public_key::{PublicKey, Role};
use super::validity::Validity;
use super::verify::{Word, sealed::Sealed};

/// From now on this key stands for whoever signs this with the old one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    /// The key that takes the place of the one that signed this.
    pub next: PublicKey,
    /// When it was signed, for people.
    pub issued_at: DateTime<Utc>,
}

impl Sealed for Rotation {}

impl Word for Rotation {
    const DOMAIN: &'static str = "bw.v1.rotate\0";
    const SIGNED_BY: &'static [Role] = &[Role::Operator, Role::Controller];
    const NAME: &'static str = "a rotation of keys";

    /// A machine that was away for a year, or whose clock is wrong, must not be left with the old key. That each key
    /// is replaced once puts rotations in order.
    fn validity(&self) -> Validity {
        Validity::Untimed
    }
}
