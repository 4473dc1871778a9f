//! A declaration as a controller signs it.

use chrono::{DateTime, Utc};
use inventory::Declaration;
use serde::{Deserialize, Serialize};

use super::public_key::Role;
use super::validity::Validity;
use super::verify::{Word, sealed::Sealed};

/// A declaration, and when it was composed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedDeclaration {
    /// The whole desired state of one machine.
    pub declaration: Declaration,
    /// When it was composed, by the controller's clock. Where no pointer names a build, a failure of it is stamped
    /// with this; or with the machine's own time if that is earlier, so that no pointer is kept from lifting it by a
    /// clock that was ahead.
    pub composed_at: DateTime<Utc>,
}

impl Sealed for SignedDeclaration {}

impl Word for SignedDeclaration {
    const DOMAIN: &'static str = "bw.v1.declare\0";
    const SIGNED_BY: &'static [Role] = &[Role::Controller];
    const NAME: &'static str = "a declaration";

    /// Number and epoch put declarations in order, and no clock does: a machine whose clock is wrong still runs what
    /// it should.
    fn validity(&self) -> Validity {
        Validity::Untimed
    }
}
