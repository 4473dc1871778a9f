//! One way to write a document down, so that equal documents have equal digests.

use names::Digest;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a document's JSON. Maps and sets of this crate are ordered and fields are written in the order of
/// their declaration, so the encoding has no freedom.
#[expect(
    clippy::expect_used,
    reason = "JSON fails only on a map key that is no text or in a Serialize that fails by itself; this crate has neither"
)]
pub(crate) fn digest(document: &impl Serialize) -> Digest {
    let json = serde_json::to_vec(document).expect("documents of this crate are JSON");
    Digest::from_bytes(Sha256::digest(json).into())
}
