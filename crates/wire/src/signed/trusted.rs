//! Whose word counts on a machine.

use std::collections::BTreeSet;

use super::public_key::{PublicKey, Role};
use super::rotation::Rotation;
use super::verify::Verified;

/// The keys whose word counts here: those that the machine's owner listed, as they were rotated since.
///
/// With no key of a role nobody has that role, and no word of it counts. That is not the same as *anybody*: there is
/// no way to trust everybody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedKeys {
    trusted: BTreeSet<PublicKey>,
    /// What was replaced. It never counts again, also when somebody rotates to it.
    retired: BTreeSet<PublicKey>,
}

/// A key is listed for what it is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is a key of {}, and a key of {} is wanted, which begins with {}",
    .is.somebody(),
    .wanted.somebody(),
    .wanted.letter()
)]
pub struct WrongRole {
    /// What was wanted.
    pub wanted: Role,
    /// What it is.
    pub is: Role,
}

/// Why a rotation changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRotated {
    /// The next key is for something else.
    #[error(
        "the rotation goes from a key of {} to a key of {}, and a key's role never changes",
        .from.somebody(),
        .to.somebody()
    )]
    Role {
        /// What the old key is for.
        from: Role,
        /// What the next key is for.
        to: Role,
    },
    /// The old key counts here no longer, or never did.
    #[error(
        "the rotation is signed by {by}, which is not trusted here; it may have been rotated already"
    )]
    NotTrusted {
        /// Who signed it.
        by: PublicKey,
    },
    /// The next key was itself replaced before.
    #[error("the rotation goes to {next}, which was replaced before; make a new key")]
    Retired {
        /// The next key.
        next: PublicKey,
    },
}

impl PublicKey {
    /// This key, if it is of the role that is wanted.
    ///
    /// # Errors
    ///
    /// [`WrongRole`] when it is of another.
    pub fn for_role(self, wanted: Role) -> Result<Self, WrongRole> {
        let is = self.role();
        if is == wanted { Ok(self) } else { Err(WrongRole { wanted, is }) }
    }
}

impl TrustedKeys {
    /// Trusts these keys, each in its own role.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self { trusted: keys.into_iter().collect(), retired: BTreeSet::new() }
    }

    /// Whether this key's word counts.
    #[must_use]
    pub fn has(&self, key: &PublicKey) -> bool {
        self.trusted.contains(key)
    }

    /// The keys of this role whose word counts.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &PublicKey> {
        self.trusted.iter().filter(move |key| key.role() == role)
    }

    /// Whether this key counted once and was replaced.
    #[must_use]
    pub fn is_retired(&self, key: &PublicKey) -> bool {
        self.retired.contains(key)
    }

    /// Trusts the next key in place of the one that signed for it.
    ///
    /// The old key's word counts no longer from then on, also where it was signed before. Whoever keeps rotations
    /// keeps them as they were signed, and applies them anew, in their order, to what the owner's file says: one that
    /// is signed by a key that the file no longer lists is then passed over.
    ///
    /// # Errors
    ///
    /// [`NotRotated`] when the next key cannot take its place; nothing has changed then.
    pub fn rotated(&self, rotation: &Verified<Rotation>) -> Result<Self, NotRotated> {
        let (by, next) = (rotation.by(), &rotation.next);
        if by.role() != next.role() {
            return Err(NotRotated::Role { from: by.role(), to: next.role() });
        }
        if !self.has(by) {
            return Err(NotRotated::NotTrusted { by: by.clone() });
        }
        if by == next || self.is_retired(next) {
            return Err(NotRotated::Retired { next: next.clone() });
        }
        let mut rotated = self.clone();
        rotated.trusted.remove(by);
        rotated.retired.insert(by.clone());
        rotated.trusted.insert(next.clone());
        Ok(rotated)
    }
}
