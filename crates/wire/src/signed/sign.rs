//! Signed words as they travel, and the making of them.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::public_key::{PublicKey, Role};
use super::text::{bytes_of_hex, hex};
use super::verify::{Versioned, Word, names_of};
use crate::envelope::{BYTES_MAX, VERSION};

/// A word with who signed it, as it travels and as it is kept. What it says is not known before [`verify`](super::verify).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Whose word it is meant to be.
    pub by: PublicKey,
    /// The very text that was signed: JSON, which nobody reads before the signature was looked at.
    pub payload: String,
    /// Over the word's domain and the payload.
    pub signature: Signature,
}

/// An ed25519 signature, as text 128 hex digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Signature(pub [u8; 64]);

/// A text that is no [`Signature`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a signature has 128 lower-case hex digits, and this text of {bytes} bytes is none")]
pub struct BadSignatureText {
    /// How long the text is.
    pub bytes: usize,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

impl FromStr for Signature {
    type Err = BadSignatureText;

    fn from_str(text: &str) -> Result<Self, BadSignatureText> {
        bytes_of_hex(text).map(Self).ok_or(BadSignatureText { bytes: text.len() })
    }
}

impl TryFrom<String> for Signature {
    type Error = BadSignatureText;

    fn try_from(text: String) -> Result<Self, BadSignatureText> {
        text.parse()
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> String {
        signature.to_string()
    }
}

/// Whoever has a secret key. It is in a file, in a device, or in a test; it never comes here.
pub trait Signer {
    /// The public half of it.
    fn public_key(&self) -> &PublicKey;

    /// The ed25519 signature over these bytes.
    fn sign(&self, bytes: &[u8]) -> Signature;
}

/// Why a word was not signed.
#[derive(Debug, thiserror::Error)]
pub enum NotSigned {
    /// Nobody would take the word from a key of this role.
    #[error("{word} is signed by a key of {}, and this is a key of {}", names_of(.wanted), .role.somebody())]
    Role {
        /// What kind of word it is.
        word: &'static str,
        /// Whose word it is.
        wanted: &'static [Role],
        /// The key's.
        role: Role,
    },
    /// No message could carry it.
    #[error("{word} has {bytes} bytes, more than the {BYTES_MAX} that a message can carry")]
    TooLarge {
        /// What kind of word it is.
        word: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// It cannot be written.
    #[error("{word} cannot be written as JSON")]
    Unwritable {
        /// What kind of word it is.
        word: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// Signs a word.
///
/// # Errors
///
/// [`NotSigned`] when no receiver would take it.
pub fn sign<W: Word>(word: &W, signer: &impl Signer) -> Result<Signed, NotSigned> {
    let by = signer.public_key().clone();
    if !W::SIGNED_BY.contains(&by.role()) {
        return Err(NotSigned::Role { word: W::NAME, wanted: W::SIGNED_BY, role: by.role() });
    }
    let payload = serde_json::to_string(&Versioned { version: VERSION, word })
        .map_err(|source| NotSigned::Unwritable { word: W::NAME, source })?;
    if payload.len() > BYTES_MAX {
        return Err(NotSigned::TooLarge { word: W::NAME, bytes: payload.len() });
    }
    let signature = signer.sign(&signed_bytes::<W>(&payload));
    Ok(Signed { by, payload, signature })
}

/// What a signature is over. A domain ends in a NUL and has no other, so no two kinds of word have a text in common.
pub(super) fn signed_bytes<W: Word>(payload: &str) -> Vec<u8> {
    [W::DOMAIN.as_bytes(), payload.as_bytes()].concat()
}
