//! Public keys: whose word a signature makes it.

use core::fmt;
use core::str::FromStr;

use ed25519_dalek::VerifyingKey;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::text::{BadKeyText, hex, key_bytes, key_text};

/// What a key is for. Each role has a letter of NATS keys, with which its public keys begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A person's, kept off the machines where that is possible: signs what frees a failure book. Letter `O`, operator.
    Operator,
    /// A controller's: signs declarations. Letter `C`, cluster: it speaks to a whole cluster of machines. No server
    /// of NATS takes a key of that letter from a user, an account or another server, so this key opens nothing on a
    /// bus; and an `A` or `N` key, which do mean something there, is never taken for a controller's.
    Controller,
    /// A machine's: it is known on the bus by it. Letter `U`, user.
    Machine,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Operator, Self::Controller, Self::Machine];

    /// The first byte of a key of this role; its upper five bits are the letter.
    #[must_use]
    pub const fn prefix(self) -> u8 {
        match self {
            Self::Operator => 14 << 3,
            Self::Controller => 2 << 3,
            Self::Machine => 20 << 3,
        }
    }

    /// The letter that its public keys begin with.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::Operator => 'O',
            Self::Controller => 'C',
            Self::Machine => 'U',
        }
    }

    /// What people call one who has it.
    #[must_use]
    pub const fn somebody(self) -> &'static str {
        match self {
            Self::Operator => "an operator",
            Self::Controller => "a controller",
            Self::Machine => "a machine",
        }
    }

    /// The role of this first byte.
    #[must_use]
    pub fn of_prefix(prefix: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.prefix() == prefix)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Operator => "operator",
            Self::Controller => "controller",
            Self::Machine => "machine",
        })
    }
}

/// A public key with its role, as text in the form of NATS keys: `O…`, `C…` or `U…`, 56 characters.
///
/// It is a point of the curve in its one form, and of no small order, so a signature by it says something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey {
    role: Role,
    bytes: [u8; 32],
}

/// Why a text or some bytes are no public key. The text is not repeated: a seed in the wrong place would be told to
/// everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPublicKey {
    /// It is a seed.
    #[error(
        "this is a seed, which is secret, and a public key is wanted; if others could read it here, make a new key"
    )]
    Seed,
    /// It is no key of NATS.
    #[error("this is no public key: {0}")]
    Text(#[from] BadKeyText),
    /// It is a key of NATS for something else.
    #[error(
        "this is a key of NATS for something else; an operator's begins with O, a controller's with C, a machine's with U"
    )]
    Role,
    /// Its bytes are no point of the curve in its one form, or one of those few by which anything is signed.
    #[error("this is no public key: nobody has the secret of it, so make a new one")]
    Point,
}

impl PublicKey {
    /// The key of these bytes.
    ///
    /// # Errors
    ///
    /// [`BadPublicKey::Point`] for bytes by which nobody can sign, or anybody.
    pub fn new(role: Role, bytes: [u8; 32]) -> Result<Self, BadPublicKey> {
        let key = Self { role, bytes };
        key.point().map(|_| key)
    }

    /// What it is for.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// What people compare by eye or by telephone: the first 80 bits of the SHA-256 of the key, in five groups.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.bytes);
        let groups: Vec<_> = digest.as_slice()[..10].chunks(2).map(hex).collect();
        groups.join("-")
    }

    /// The key as a point. Two texts of one point would be two keys, so only the one form of a point is read.
    pub(super) fn point(&self) -> Result<VerifyingKey, BadPublicKey> {
        let key = VerifyingKey::from_bytes(&self.bytes).map_err(|_| BadPublicKey::Point)?;
        let is_its_form = key.to_edwards().compress().to_bytes() == self.bytes;
        if is_its_form && !key.is_weak() { Ok(key) } else { Err(BadPublicKey::Point) }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; 33];
        let (prefix, key) = bytes.split_at_mut(1);
        prefix.copy_from_slice(&[self.role.prefix()]);
        key.copy_from_slice(&self.bytes);
        f.pad(&key_text(&bytes))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = BadPublicKey;

    fn from_str(text: &str) -> Result<Self, BadPublicKey> {
        // What is about as long as a seed may be one that was cut, and is as secret.
        if text.starts_with('S') && text.len() >= 48 {
            return Err(BadPublicKey::Seed);
        }
        let [prefix, bytes @ ..] = key_bytes::<33>(text)?;
        Self::new(Role::of_prefix(prefix).ok_or(BadPublicKey::Role)?, bytes)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = BadPublicKey;

    fn try_from(text: String) -> Result<Self, BadPublicKey> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user's key from the documentation of NATS, made by its own tools.
    const OF_NATS: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    fn of(seed: u8, role: Role) -> PublicKey {
        let key = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]).verifying_key();
        PublicKey::new(role, key.to_bytes()).unwrap()
    }

    #[test]
    fn a_key_that_nats_made_is_read_and_printed_to_the_letter() {
        let key: PublicKey = OF_NATS.parse().unwrap();
        assert_eq!((key.role(), key.to_string().as_str()), (Role::Machine, OF_NATS));
    }

    #[test]
    fn the_first_letter_is_the_role() {
        for role in Role::ALL {
            let key = of(1, role);
            assert!(key.to_string().starts_with(role.letter()), "{key}");
            assert_eq!(key.to_string().parse(), Ok(key.clone()));
            let text = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<PublicKey>(&text).unwrap(), key);
        }
        assert_ne!(of(1, Role::Operator), of(1, Role::Controller), "one secret, two roles");
    }

    #[test]
    fn what_is_no_key_is_told_and_never_repeated() {
        let key = of(1, Role::Operator).to_string();
        let account = key_text(&[[0].as_slice(), &of(1, Role::Operator).bytes].concat());
        let mistyped = format!("{}{}", &key[..55], if key.ends_with('A') { 'B' } else { 'A' });
        for (text, said) in [
            ("", "it has 0 characters, and 56 are wanted"),
            (&key[..55], "it has 55 characters"),
            (&format!("{key}A"), "it has 57 characters"),
            (&key.to_lowercase(), "character 1 is none of"),
            (&format!(" {key}"), "character 1 is none of"),
            (&format!("{}1", &key[..55]), "character 56 is none of"),
            (&format!("{}é", &key[..55]), "character 56 is none of"),
            (&mistyped, "its checksum is wrong"),
            (&account, "for something else; an operator's begins with O"),
            ("Something else", "character 2 is none of"),
            ("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY", "this is a seed"),
        ] {
            let error = text.parse::<PublicKey>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
    }

    #[test]
    fn points_by_which_anything_is_signed_and_second_forms_are_no_keys() {
        let of_y = |y: u8| {
            let mut bytes = [0; 32];
            bytes[0] = y;
            bytes
        };
        // The prime of the curve and so much more, up to 18: a y of that many in a second form.
        let again = |y: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (0xed + y, 0x7f);
            bytes
        };
        let key = |bytes| PublicKey::new(Role::Operator, bytes);
        assert!(key(of_y(3)).is_ok());
        // Zero and one are of small order, two is no point's y, and three has one form.
        for bytes in [of_y(0), of_y(1), again(1), of_y(2), again(3)] {
            assert_eq!(key(bytes), Err(BadPublicKey::Point), "{bytes:?}");
        }
    }

    #[test]
    fn a_fingerprint_is_of_the_key() {
        let key = of(1, Role::Operator);
        assert_eq!(key.fingerprint().len(), 24);
        assert_eq!(key.fingerprint(), of(1, Role::Controller).fingerprint());
        assert_ne!(key.fingerprint(), of(2, Role::Operator).fingerprint());
    }
}
