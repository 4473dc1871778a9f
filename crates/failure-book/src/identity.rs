//! Identities: of a book, and of an execution.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which book this is: 16 random bytes. A grant names the book that it was signed for.
///
/// The bytes come from the operating system's secure source, nothing weaker: if two books could
/// have one identity, a grant for one could clear the other. The book draws none itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookId([u8; 16]);

/// A text that is no [`BookId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no book's identity, which has 32 digits, 0 to 9 and a to f")]
pub struct BadBookId {
    /// The text as it was given.
    pub text: String,
}

impl BookId {
    /// The identity of these 16 random bytes.
    #[must_use]
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for BookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BookId({self})")
    }
}

impl FromStr for BookId {
    type Err = BadBookId;

    fn from_str(text: &str) -> Result<Self, BadBookId> {
        let bad = || BadBookId { text: text.to_owned() };
        let digits = text.as_bytes();
        let mut bytes = [0; 16];
        if digits.len() != 2 * bytes.len() {
            return Err(bad());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [digit(pair[0]), digit(pair[1])];
            *byte = high.zip(low).map(|(high, low)| 16 * high + low).ok_or_else(bad)?;
        }
        Ok(Self(bytes))
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl Serialize for BookId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BookId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Which execution this is: `a<incarnation>-<n>` an attempt, `w<incarnation>-<token>` a wake.
///
/// The incarnation is the agent process's own, so a run after a restart is never taken for one
/// before it. The text is kept as it was given: older books have shorter forms, such as `a3`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId(Arc<str>);

/// An execution needs an identity, and an empty text is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an execution's identity cannot be empty")]
pub struct NoExecutionId;

/// What an execution is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionKind {
    /// It moves an instance onto a build.
    Attempt,
    /// It starts an idle instance because someone asked for it.
    Wake,
}

impl ExecutionId {
    /// The identity of this text.
    ///
    /// # Errors
    ///
    /// [`NoExecutionId`] when it is empty.
    pub fn new(text: &str) -> Result<Self, NoExecutionId> {
        if text.is_empty() { Err(NoExecutionId) } else { Ok(Self(text.into())) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is for. Only the first letter tells.
    #[must_use]
    pub fn kind(&self) -> ExecutionKind {
        if self.0.starts_with('w') { ExecutionKind::Wake } else { ExecutionKind::Attempt }
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExecutionId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn a_book_s_identity_is_32_digits() {
        let id = BookId::from_random([
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ]);
        assert_eq!(id.to_string(), "00112233445566778899aabbccddeeff");
        assert_eq!(format!("{id:?}"), "BookId(00112233445566778899aabbccddeeff)");
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in
            ["", "00112233445566778899AABBCCDDEEFF", "0011", "é0112233445566778899aabbccddeef"]
        {
            assert!(text.parse::<BookId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_execution_is_shown_as_it_was_given() {
        let id = ExecutionId::new("a1f-7").unwrap();
        assert_eq!(format!("{id} {id:?}"), "a1f-7 ExecutionId(a1f-7)");
    }

    #[test]
    fn the_first_letter_tells_a_wake() {
        let kind = |text| ExecutionId::new(text).map(|id| id.kind());
        assert_eq!(kind("w1f-7"), Ok(ExecutionKind::Wake));
        assert_eq!(kind("w7"), Ok(ExecutionKind::Wake));
        assert_eq!(kind("a1f-w"), Ok(ExecutionKind::Attempt));
        assert_eq!(kind(""), Err(NoExecutionId));
    }
}
