//! One secret key: its seed, its text, and its signatures.

use std::fmt;
use std::io;

use ed25519_dalek::{Signer as _, SigningKey};
use rustix::rand::{GetRandomFlags, getrandom};
use wire::signed::{
    BadKeyText, BadPublicKey, PublicKey, Role, Signature, Signer, key_bytes, key_text,
};
use zeroize::Zeroizing;

/// Begins each seed: five bits for the letter `S`, before the five of the role's letter.
const SEED: u8 = 18 << 3;

/// A secret key with its role. Dropped, its memory is overwritten.
pub struct SecretKey {
    secret: SigningKey,
    public: PublicKey,
}

/// Why a text is no seed. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSeed {
    /// It is no key of NATS.
    #[error("this is no seed")]
    Text(#[source] BadKeyText),
    /// It is a public key, or something else that is not secret.
    #[error("this is no seed, which begins with S")]
    NotSecret,
    /// It is a seed for something else.
    #[error(
        "this is a seed of NATS for something else; an operator's begins with SO, a controller's with SC, a machine's with SU"
    )]
    Role,
    /// Its public key is none.
    #[error("this seed cannot be used")]
    Public(#[source] BadPublicKey),
}

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum NotDrawn {
    /// The kernel gave no randomness.
    #[error("the kernel gives no randomness for a key")]
    Randomness(#[source] io::Error),
    /// What it gave makes no key.
    #[error("what the kernel gave makes no key")]
    Bad(#[source] BadPublicKey),
}

impl SecretKey {
    /// A new key of this role, that nobody has.
    ///
    /// # Errors
    ///
    /// [`NotDrawn`] when the kernel gives no randomness.
    pub fn draw(role: Role) -> Result<Self, NotDrawn> {
        let mut bytes = Zeroizing::new([0; 32]);
        let given = getrandom(&mut *bytes, GetRandomFlags::empty())
            .map_err(|error| NotDrawn::Randomness(error.into()))?;
        if given < bytes.len() {
            let few = io::Error::other("the kernel gave too little");
            return Err(NotDrawn::Randomness(few));
        }
        Self::of_bytes(role, &bytes).map_err(NotDrawn::Bad)
    }

    /// The key of a seed's text.
    ///
    /// # Errors
    ///
    /// [`BadSeed`] says what is wrong with the text, and never what it is.
    pub fn of_seed(text: &str) -> Result<Self, BadSeed> {
        let is_word = text.bytes().all(|b| b.is_ascii_alphanumeric());
        if !text.starts_with('S') && !text.is_empty() && is_word {
            return Err(BadSeed::NotSecret);
        }
        let all = Zeroizing::new(key_bytes::<34>(text).map_err(BadSeed::Text)?);
        let [first, second, secret @ ..] = &*all;
        // Both letters have five bits, so the second lies across the first two bytes.
        let role = Role::of_prefix((first & 7) << 5 | second >> 3);
        let is_clean = first & !7 == SEED && second & 7 == 0;
        let role = role.filter(|_| is_clean).ok_or(BadSeed::Role)?;
        Self::of_bytes(role, secret).map_err(BadSeed::Public)
    }

    /// The seed's text, which is as secret as the key: for whoever writes the file.
    #[must_use]
    pub(crate) fn seed(&self) -> Zeroizing<String> {
        let prefix = self.public.role().prefix();
        let mut all = Zeroizing::new([0; 34]);
        all[0] = SEED | prefix >> 5;
        all[1] = prefix << 3;
        all[2..].copy_from_slice(self.secret.as_bytes());
        Zeroizing::new(key_text(&*all))
    }

    fn of_bytes(role: Role, bytes: &[u8; 32]) -> Result<Self, BadPublicKey> {
        let secret = SigningKey::from_bytes(bytes);
        let public = PublicKey::new(role, secret.verifying_key().to_bytes())?;
        Ok(Self { secret, public })
    }
}

impl Signer for SecretKey {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        Signature(self.secret.sign(bytes).to_bytes())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user's pair from the documentation of NATS, made by its own tools.
    const SEED_OF_NATS: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    const PUBLIC_OF_NATS: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    #[test]
    fn a_seed_that_nats_made_is_read_and_written_to_the_letter() {
        let key = SecretKey::of_seed(SEED_OF_NATS).unwrap();
        assert_eq!(key.public_key().to_string(), PUBLIC_OF_NATS);
        assert_eq!(*key.seed(), SEED_OF_NATS);
    }

    #[test]
    fn each_role_has_its_letters_and_each_key_is_its_own() {
        for (role, letters) in
            [(Role::Operator, "SO"), (Role::Controller, "SC"), (Role::Machine, "SU")]
        {
            let [one, other] = [SecretKey::draw(role).unwrap(), SecretKey::draw(role).unwrap()];
            assert_ne!(one.public_key(), other.public_key());
            assert!(one.seed().starts_with(letters));
            let again = SecretKey::of_seed(&one.seed()).unwrap();
            assert_eq!(again.public_key(), one.public_key());
            assert_eq!(again.sign(b"word"), one.sign(b"word"));
        }
    }

    #[test]
    fn a_secret_is_in_no_debug_and_no_error() {
        let key = SecretKey::of_seed(SEED_OF_NATS).unwrap();
        let told = format!("{key:?} {key:#?}");
        assert_eq!(told, format!("SecretKey(of {PUBLIC_OF_NATS}) SecretKey(of {PUBLIC_OF_NATS})"));
        let account = key_text(&[[SEED, 0].as_slice(), &[7; 32]].concat());
        let unclean = key_text(&[[SEED | 3, (14 << 3 << 3) | 1].as_slice(), &[7; 32]].concat());
        for (text, said) in [
            ("", "this is no seed"),
            (&SEED_OF_NATS[..57], "this is no seed"),
            (&SEED_OF_NATS.to_lowercase(), "which begins with S"),
            (PUBLIC_OF_NATS, "which begins with S"),
            (&account, "for something else"),
            (&unclean, "for something else"),
        ] {
            let error = SecretKey::of_seed(text).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(told.contains(said), "{told}");
            assert!(text.is_empty() || !told.contains(text), "{told}");
        }
    }
}
