//! The one place where a signature is looked at.

use core::ops::Deref;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::public_key::{PublicKey, Role};
use super::sign::{Signed, signed_bytes};
use super::trusted::TrustedKeys;
use super::validity::{CLOCK_TOLERANCE, GRANT_MAX, Invalid, Validity};
use crate::envelope::{BYTES_MAX, VERSION};

/// A kind of word that is signed. Only this crate has kinds, so that no two share a domain.
pub trait Word: Serialize + DeserializeOwned + sealed::Sealed {
    /// What is signed before the payload: it keeps a signature from meaning anything as another kind of word.
    const DOMAIN: &'static str;
    /// Whose word it is.
    const SIGNED_BY: &'static [Role];
    /// What people call it, for errors.
    const NAME: &'static str;

    /// When it counts.
    fn validity(&self) -> Validity;
}

pub(super) mod sealed {
    //! Keeps others from adding kinds of words.

    /// A word of this crate.
    pub trait Sealed {}
}

/// The payload: a word and the version of its meaning.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Versioned<W> {
    pub(super) version: u32,
    pub(super) word: W,
}

/// What can be read of a payload of any version.
#[derive(Debug, Deserialize)]
struct VersionOnly {
    version: u32,
}

/// A word that somebody trusted signed, and that counts now. Only [`verify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<W> {
    word: W,
    by: PublicKey,
}

impl<W> Verified<W> {
    /// Who signed it.
    #[must_use]
    pub const fn by(&self) -> &PublicKey {
        &self.by
    }

    /// The word alone.
    #[must_use]
    pub fn into_word(self) -> W {
        self.word
    }
}

impl<W> Deref for Verified<W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.word
    }
}

/// Why a word is not taken.
#[derive(Debug, thiserror::Error)]
pub enum WordError {
    /// Longer than any message.
    #[error("{word} has {bytes} bytes, more than the {BYTES_MAX} allowed")]
    TooLarge {
        /// What kind of word was wanted.
        word: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// A key of this role cannot sign such a word, whoever has it.
    #[error("{word} counts only from a key of {}, and this is signed by a key of {}", names_of(.wanted), .role.somebody())]
    Role {
        /// What kind of word was wanted.
        word: &'static str,
        /// Whose word that is.
        wanted: &'static [Role],
        /// The signer's.
        role: Role,
    },
    /// No key of this role is trusted here.
    #[error(
        "{word} is signed by {by}, and no key of {} is trusted here; list it under [trust] in the machine's agent.toml",
        .role.somebody()
    )]
    NobodyTrusted {
        /// What kind of word was wanted.
        word: &'static str,
        /// The signer's role.
        role: Role,
        /// Who signed it.
        by: PublicKey,
    },
    /// Somebody else is trusted here.
    #[error("{word} is signed by {by}, which is not among the keys that are trusted here")]
    NotTrusted {
        /// What kind of word was wanted.
        word: &'static str,
        /// Who signed it.
        by: PublicKey,
    },
    /// The key was replaced by another.
    #[error("{word} is signed by {by}, which was replaced by a newer key; sign it with that")]
    Retired {
        /// What kind of word was wanted.
        word: &'static str,
        /// Who signed it.
        by: PublicKey,
    },
    /// The signature is not that key's over this text as this kind of word.
    #[error(
        "the signature is not that of {by} over this as {word}: it was changed on its way, or is something else"
    )]
    Signature {
        /// What kind of word was wanted.
        word: &'static str,
        /// Who is said to have signed it.
        by: PublicKey,
    },
    /// The signer is newer than this program.
    #[error(
        "{word} has version {version}, and only {VERSION} is known here; upgrade the older side"
    )]
    UnknownVersion {
        /// What kind of word was wanted.
        word: &'static str,
        /// The version found.
        version: u32,
    },
    /// It was signed and is no such word.
    #[error("{word} cannot be read")]
    Unreadable {
        /// What kind of word was wanted.
        word: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It is good for no time, or for longer than anything may be.
    #[error(
        "{word} would be good for {} min, and it must be good for some time and at most {} days",
        .term.num_minutes(),
        GRANT_MAX.num_days()
    )]
    Term {
        /// What kind of word it is.
        word: &'static str,
        /// For how long.
        term: TimeDelta,
    },
    /// By this machine's clock it was signed in the future.
    #[error(
        "{word} was signed at {issued_at}, and here it is {now}: more than {} min apart, so one of the clocks is wrong; set it, and send the word again",
        CLOCK_TOLERANCE.num_minutes()
    )]
    NotYet {
        /// What kind of word it is.
        word: &'static str,
        /// When it was signed.
        issued_at: DateTime<Utc>,
        /// What time it is here.
        now: DateTime<Utc>,
    },
    /// It was good until then.
    #[error("{word} was good until {expires_at}, and here it is {now}; issue a new one")]
    Expired {
        /// What kind of word it is.
        word: &'static str,
        /// When it expired.
        expires_at: DateTime<Utc>,
        /// What time it is here.
        now: DateTime<Utc>,
    },
}

/// Looks whether a word is what it says: signed by a key that is trusted for it, over these very bytes, and good now.
///
/// In this order: how large it is, who signed it, whether the signature is right, and only then what it says. A
/// signature is looked at strictly: there is one signature for a key and a text that somebody without the secret can
/// have, and keys by which anything is signed are none.
///
/// What it does not look at is whether the word is for this machine, was used before, or is older than another: see
/// [`UsedGrants`](super::UsedGrants) and [`Floors`](super::Floors).
///
/// # Errors
///
/// [`WordError`] says why it does not count here.
pub fn verify<W: Word>(
    signed: &Signed,
    trusted: &TrustedKeys,
    now: DateTime<Utc>,
) -> Result<Verified<W>, WordError> {
    let word = W::NAME;
    let Signed { by, payload, signature } = signed;
    if payload.len() > BYTES_MAX {
        return Err(WordError::TooLarge { word, bytes: payload.len() });
    }
    if !W::SIGNED_BY.contains(&by.role()) {
        return Err(WordError::Role { word, wanted: W::SIGNED_BY, role: by.role() });
    }
    if !trusted.has(by) {
        return Err(untrusted(word, by, trusted));
    }
    let is_signed = by.point().is_ok_and(|key| {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(&signed_bytes::<W>(payload), &signature).is_ok()
    });
    if !is_signed {
        return Err(WordError::Signature { word, by: by.clone() });
    }
    let read = |source| WordError::Unreadable { word, source };
    let VersionOnly { version } = serde_json::from_str(payload).map_err(read)?;
    if version != VERSION {
        return Err(WordError::UnknownVersion { word, version });
    }
    let Versioned::<W> { version: _, word: said } = serde_json::from_str(payload).map_err(read)?;
    match said.validity().at(now) {
        Ok(()) => Ok(Verified { word: said, by: by.clone() }),
        Err(Invalid::NotYet { issued_at }) => Err(WordError::NotYet { word, issued_at, now }),
        Err(Invalid::Expired { expires_at }) => Err(WordError::Expired { word, expires_at, now }),
        Err(Invalid::Term { term }) => Err(WordError::Term { word, term }),
    }
}

fn untrusted(word: &'static str, by: &PublicKey, trusted: &TrustedKeys) -> WordError {
    let role = by.role();
    if trusted.is_retired(by) {
        WordError::Retired { word, by: by.clone() }
    } else if trusted.of(role).next().is_none() {
        WordError::NobodyTrusted { word, role, by: by.clone() }
    } else {
        WordError::NotTrusted { word, by: by.clone() }
    }
}

/// `an operator`, `an operator or a controller`
pub(super) fn names_of(roles: &[Role]) -> String {
    let names: Vec<_> = roles.iter().map(|role| role.somebody()).collect();
    names.join(" or ")
}
