//! Keys and words to test with.

use std::num::NonZeroU64;

use chrono::{DateTime, TimeDelta, Utc};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::json;
use wire::signed::{
    Generation, Pointer, PointerKind, PublicKey, RetryGrant, Role, Rotation, Signature, Signed,
    SignedDeclaration, Signer, TrustedKeys, Verified, Word, sign, verify,
};

/// A secret key that everybody knows.
#[derive(Debug)]
pub(crate) struct Key {
    secret: SigningKey,
    public: PublicKey,
}

impl Key {
    pub(crate) fn new(role: Role, seed: u8) -> Self {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let public = PublicKey::new(role, secret.verifying_key().to_bytes()).unwrap();
        Self { secret, public }
    }
}

impl Signer for Key {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        Signature(self.secret.sign(bytes).to_bytes())
    }
}

pub(crate) fn operator() -> Key {
    Key::new(Role::Operator, 1)
}

pub(crate) fn controller() -> Key {
    Key::new(Role::Controller, 2)
}

/// Trusts both.
pub(crate) fn trusted() -> TrustedKeys {
    TrustedKeys::new([operator(), controller()].map(|key| key.public))
}

/// So many seconds after the words below were signed.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

pub(crate) fn word_id(number: u64) -> names::WordId {
    format!("01ARZ3NDEKTSV4RRFF{number:08}").parse().unwrap()
}

pub(crate) fn build(number: u64) -> names::BuildId {
    format!("01ARZ3NDEKTSV4RRFF{number:08}").parse().unwrap()
}

pub(crate) fn grant(id: u64) -> RetryGrant {
    RetryGrant {
        id: word_id(id),
        machine: "box-1".parse().unwrap(),
        account: "default".parse().unwrap(),
        module: "blog".parse().unwrap(),
        build: build(2),
        instance: "blog-1".parse().unwrap(),
        book: "00112233445566778899aabbccddeeff".parse().unwrap(),
        generation: Generation(NonZeroU64::new(17).unwrap()),
        issued_at: at(0),
        expires_at: at(0) + TimeDelta::hours(24),
    }
}

pub(crate) fn pointer(build_number: u64, stamp: i64) -> Pointer {
    Pointer {
        id: word_id(7),
        account: "default".parse().unwrap(),
        module: "blog".parse().unwrap(),
        channel: "default".parse().unwrap(),
        build: build(build_number),
        promoted_at: at(stamp),
        kind: PointerKind::Promote,
    }
}

pub(crate) fn declaration() -> SignedDeclaration {
    let declaration = json!({
        "machine": "box-1", "number": 4, "epoch": 1, "modules": {}, "withdrawn": ["blog"],
    });
    SignedDeclaration {
        declaration: serde_json::from_value(declaration).unwrap(),
        composed_at: at(0),
    }
}

pub(crate) fn rotation() -> Rotation {
    Rotation { next: Key::new(Role::Operator, 3).public, issued_at: at(0) }
}

/// Signs a text as a word of this kind, whatever it says.
pub(crate) fn signed_text<W: Word>(payload: &str, key: &Key) -> Signed {
    let signature = key.sign(&[W::DOMAIN.as_bytes(), payload.as_bytes()].concat());
    Signed { by: key.public.clone(), payload: payload.to_owned(), signature }
}

/// The word, signed and verified when it was signed.
pub(crate) fn verified<W: Word>(word: &W, key: &Key) -> Verified<W> {
    verify(&sign(word, key).unwrap(), &TrustedKeys::new([key.public.clone()]), at(0)).unwrap()
}
