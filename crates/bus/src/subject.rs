//! Subjects of messages, and the patterns that choose among them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Longest subject or pattern, in bytes; leaves room on a NATS control line for everything else.
pub const SUBJECT_BYTES_MAX: usize = 512;

/// What a message is about: tokens joined by dots, as in `bw.v1.hello.box-3`, none of them a wildcard.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(String);

/// Which subjects a subscriber or server wants: a subject in which `*` stands for any one token, and `>` at
/// the end for one token or more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(String);

/// Why a text is no [`Subject`] or [`Pattern`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubjectError {
    /// Nothing between two dots, at an end, or at all.
    #[error("a subject has an empty token: {0:?}")]
    EmptyToken(String),
    /// A space, a control character, anything outside ASCII; for a token by itself also a dot; for a subject also
    /// a wildcard, and for a pattern a wildcard that is not a token of its own.
    #[error("the token {token:?} of a subject holds {found:?}")]
    Character {
        /// The token that is refused.
        token: String,
        /// The first character that may not stand there.
        found: char,
    },
    /// `>` before the end of a pattern.
    #[error("{0:?} has `>` before its end")]
    RestNotLast(String),
    /// Longer than [`SUBJECT_BYTES_MAX`].
    #[error("{bytes} bytes are too long for a subject, the most is {SUBJECT_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl Subject {
    /// A subject of these tokens. They are checked one by one, so a name that holds a dot is refused instead
    /// of becoming two tokens.
    ///
    /// # Errors
    /// Whatever [`SubjectError`] says.
    pub fn from_tokens<'a>(
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, SubjectError> {
        let tokens: Vec<&str> = tokens.into_iter().collect();
        let text = join(&tokens)?;
        tokens.into_iter().try_for_each(plain)?;
        Ok(Self(text))
    }

    /// The tokens, in order.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }

    /// The whole subject as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Pattern {
    /// A pattern of these tokens, each plain, `*`, or at the end `>`.
    ///
    /// # Errors
    /// Whatever [`SubjectError`] says.
    pub fn from_tokens<'a>(
        tokens: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, SubjectError> {
        let tokens: Vec<&str> = tokens.into_iter().collect();
        let text = join(&tokens)?;
        let last = tokens.len().saturating_sub(1);
        for (place, token) in tokens.into_iter().enumerate() {
            match token {
                "*" => {}
                ">" if place == last => {}
                ">" => return Err(SubjectError::RestNotLast(text)),
                token => plain(token)?,
            }
        }
        Ok(Self(text))
    }

    /// Whether this pattern wants messages on `subject`.
    #[must_use]
    pub fn matches(&self, subject: &Subject) -> bool {
        let mut tokens = subject.tokens();
        for wanted in self.0.split('.') {
            let Some(token) = tokens.next() else { return false };
            match wanted {
                ">" => return true,
                "*" => {}
                wanted if wanted == token => {}
                _ => return false,
            }
        }
        tokens.next().is_none()
    }

    /// The whole pattern as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        Self::from_tokens(text.split('.'))
    }
}

impl FromStr for Pattern {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, SubjectError> {
        Self::from_tokens(text.split('.'))
    }
}

impl From<Subject> for Pattern {
    fn from(subject: Subject) -> Self {
        Self(subject.0)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

fn join(tokens: &[&str]) -> Result<String, SubjectError> {
    let text = tokens.join(".");
    let bytes = text.len();
    if bytes > SUBJECT_BYTES_MAX {
        return Err(SubjectError::TooLong { bytes });
    }
    if tokens.is_empty() || tokens.iter().any(|token| token.is_empty()) {
        return Err(SubjectError::EmptyToken(text));
    }
    Ok(text)
}

fn plain(token: &str) -> Result<(), SubjectError> {
    let allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '.' | '*' | '>');
    match token.chars().find(|c| !allowed(*c)) {
        Some(found) => Err(SubjectError::Character { token: token.to_owned(), found }),
        None => Ok(()),
    }
}
