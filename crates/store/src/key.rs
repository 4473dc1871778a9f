//! Keys of documents: `<kind>/<id>`, where the id can have several segments.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longest segment of a key, in bytes; longer than any name the inventory accepts.
pub const SEGMENT_BYTES_MAX: usize = 255;

/// Longest key, in bytes, its slashes counted.
pub const KEY_BYTES_MAX: usize = 1024;

/// Where one document is kept: a kind and at least one more segment, as in `plan/01J8…` or `module/default/blog`.
///
/// Keys are ordered by the bytes of their text, so the documents under one [`Prefix`] are neighbours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

/// Why a text or a list of segments is no [`Key`] or [`Prefix`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    /// A key names a kind and at least one segment after it.
    #[error("a key needs a kind and an id, as in `plan/7`, not {0:?}")]
    NoId(String),
    /// Nothing between two slashes, or at an end.
    #[error("a key has an empty segment: {0:?}")]
    EmptySegment(String),
    /// A slash inside a segment, or a control character anywhere.
    #[error("the segment {segment:?} of a key holds {found:?}")]
    Character {
        /// The segment that is refused.
        segment: String,
        /// The first character that may not stand there.
        found: char,
    },
    /// A segment, or the whole, is longer than the bound.
    #[error("{bytes} bytes are too long for a key or its segment, the most is {bytes_max}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The bound that it exceeds.
        bytes_max: usize,
    },
}

impl Key {
    /// A key from its kind and the segments of its id. The segments are checked one by one, so a name that
    /// holds a slash is refused instead of becoming two segments.
    ///
    /// # Errors
    /// Whatever [`KeyError`] says.
    pub fn new<'a>(kind: &'a str, id: impl IntoIterator<Item = &'a str>) -> Result<Self, KeyError> {
        let mut segments = vec![kind];
        segments.extend(id);
        let text = join(&segments)?;
        if segments.len() < 2 {
            return Err(KeyError::NoId(text));
        }
        Ok(Self(text))
    }

    /// The first segment.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    /// All segments after the kind.
    pub fn id(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }

    /// The whole key as text, segments joined by slashes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let mut segments = text.split('/');
        let kind = segments.next().unwrap_or_default();
        Self::new(kind, segments)
    }
}

/// A key's order, equality and hash are its text's.
impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Which documents a scan walks: all, or those whose first segments are given.
///
/// A prefix ends at a segment's end: `plan` does not cover `planned/7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Every document.
    #[must_use]
    pub fn all() -> Self {
        Self(String::new())
    }

    /// The documents whose key begins with these segments and goes on after them; without any segment, all.
    ///
    /// # Errors
    /// Whatever [`KeyError`] says.
    pub fn new<'a>(segments: impl IntoIterator<Item = &'a str>) -> Result<Self, KeyError> {
        let segments: Vec<&str> = segments.into_iter().collect();
        if segments.is_empty() {
            return Ok(Self::all());
        }
        let mut text = join(&segments)?;
        text.push('/');
        Ok(Self(text))
    }

    /// Whether the document of this key is walked.
    #[must_use]
    pub fn covers(&self, key: &Key) -> bool {
        key.0.starts_with(&self.0)
    }

    /// The text that every covered key begins with: empty, or segments with a slash after each.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn join(segments: &[&str]) -> Result<String, KeyError> {
    let text = segments.join("/");
    bound(&text, KEY_BYTES_MAX)?;
    for segment in segments {
        if segment.is_empty() {
            return Err(KeyError::EmptySegment(text));
        }
        bound(segment, SEGMENT_BYTES_MAX)?;
        if let Some(found) = segment.chars().find(|c| *c == '/' || c.is_control()) {
            let segment = (*segment).to_owned();
            return Err(KeyError::Character { segment, found });
        }
    }
    Ok(text)
}

fn bound(text: &str, bytes_max: usize) -> Result<(), KeyError> {
    let bytes = text.len();
    if bytes > bytes_max {
        return Err(KeyError::TooLong { bytes, bytes_max });
    }
    Ok(())
}
