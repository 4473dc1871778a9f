//! The ids that software makes up.

use alloc::{borrow::ToOwned, string::String};

use serde::{Deserialize, Serialize};

use crate::text::text_newtype;

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not the 26 characters of a ULID.
    #[error(
        "`{text}` is no {what}: 26 characters of Crockford's base 32 are wanted, upper case, the first at most 7"
    )]
    NotUlid {
        /// The kind of id that was wanted.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// Not so many digits in hex.
    #[error("`{text}` is no {what}: {length} lower-case hex digits are wanted")]
    NotHex {
        /// The kind of id that was wanted.
        what: &'static str,
        /// The text.
        text: String,
        /// How many digits it has.
        length: usize,
    },
    /// Empty, too long, or with blanks or control characters in it.
    #[error("`{text}` is no {what}: 1 to {length_max} visible ASCII characters are wanted")]
    NotVisible {
        /// The kind of id that was wanted.
        what: &'static str,
        /// The text.
        text: String,
        /// The greatest length allowed.
        length_max: usize,
    },
}

fn check_ulid(what: &'static str, text: &str) -> Result<(), IdError> {
    let digit = |c: char| c.is_ascii_digit() || (c.is_ascii_uppercase() && !"ILOU".contains(c));
    // 26 digits of 5 bits are 130 bits, so the first of them can only be 0 to 7.
    let fits = text.starts_with(|c: char| ('0'..='7').contains(&c));
    if text.len() == 26 && fits && text.chars().all(digit) {
        return Ok(());
    }
    Err(IdError::NotUlid { what, text: text.to_owned() })
}

fn check_visible(what: &'static str, length_max: usize, text: &str) -> Result<(), IdError> {
    let visible = text.bytes().all(|b| b.is_ascii_graphic());
    if !text.is_empty() && text.len() <= length_max && visible {
        return Ok(());
    }
    Err(IdError::NotVisible { what, text: text.to_owned(), length_max })
}

macro_rules! id {
    ($(#[doc = $doc:literal])+ $type:ident, $check:expr) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            fn check(text: &str) -> Result<(), IdError> {
                $check(text)
            }
        }

        text_newtype!($type, IdError);
    };
}

id! {
    /// One version of a module: a ULID, so ids sort by the time at which they were drawn.
    BuildId, |text| check_ulid("build id", text)
}
id! {
    /// A release plan: a ULID.
    PlanId, |text| check_ulid("plan id", text)
}
id! {
    /// The putting back of one trial's builds: a ULID, durable before anything is sent.
    RollbackId, |text| check_ulid("rollback id", text)
}
id! {
    /// What the source calls this version, for example a git commit.
    Commit, |text| check_visible("commit", 64, text)
}
id! {
    /// One run of one instance's build on a machine: `a<incarnation>-<n>` for an attempt, `w<incarnation>-<token>` for a
    /// wake. The incarnation is the agent process's own, so no run after a restart is taken for one before it.
    ExecutionId, |text| check_visible("execution id", 128, text)
}
id! {
    /// One signed word, such as a grant: a ULID, drawn by whoever signs it. It is what makes a word good once.
    WordId, |text| check_ulid("word id", text)
}
id! {
    /// A SHA-256, in hex.
    Digest, |text| check_hex("digest", 64, text)
}
id! {
    /// Which failure book of a machine: 16 random bytes, in hex. A grant is good for the book that it names.
    BookId, |text| check_hex("book id", 32, text)
}

fn check_hex(what: &'static str, length: usize, text: &str) -> Result<(), IdError> {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if text.len() == length && text.bytes().all(hex) {
        return Ok(());
    }
    Err(IdError::NotHex { what, text: text.to_owned(), length })
}

impl Digest {
    /// From the 32 bytes that a SHA-256 hasher gives.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in bytes {
            text.push(char::from(HEX[usize::from(byte >> 4)]));
            text.push(char::from(HEX[usize::from(byte & 15)]));
        }
        Self(text)
    }

    /// The first twelve digits, enough for people to tell digests apart.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }
}

impl BuildId {
    /// The last six characters, enough for people to tell the builds of one module apart.
    pub fn short(&self) -> &str {
        &self.0[20..]
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ulids_are_checked_to_the_letter() {
        assert!(BuildId::new("01ARZ3NDEKTSV4RRFFQ69G5FAV").is_ok());
        assert!(PlanId::new("7ZZZZZZZZZZZZZZZZZZZZZZZZZ").is_ok());
        for text in [
            "",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01arz3ndektsv4rrffq69g5fav",
            "01ARZ3NDEKTSV4RRFFQ69G5FAI",
        ] {
            assert!(BuildId::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_digest_prints_the_bytes_it_was_made_of() {
        let mut bytes = [0; 32];
        bytes[0] = 0xab;
        bytes[31] = 0x01;
        let digest = Digest::from_bytes(bytes);
        assert_eq!(digest.to_string(), alloc::format!("ab{}01", "0".repeat(60)));
        assert_eq!(Digest::new(digest.to_string()), Ok(digest));
        assert!(Digest::new("AB".repeat(32)).is_err());
    }

    #[test]
    fn a_book_is_named_by_32_digits() {
        assert!(BookId::new("00112233445566778899aabbccddeeff").is_ok());
        for text in ["", "0011", "00112233445566778899AABBCCDDEEFF", &"0".repeat(64)] {
            let error = BookId::new(text).unwrap_err().to_string();
            assert!(error.contains("no book id: 32 lower-case"), "{error}");
        }
    }

    #[test]
    fn a_commit_is_visible_text() {
        assert!(Commit::new("v1.2.3+dirty").is_ok());
        for text in ["", "a b", "a\n", &"x".repeat(65)] {
            assert!(Commit::new(text).is_err(), "{text}");
        }
    }
}
