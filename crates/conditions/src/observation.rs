//! One thing seen to be wrong on one run of a probe.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::words::{Kind, Scope, Source};

/// Something wrong, as a probe saw it on one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// What it is about.
    pub subject: Subject,
    /// What is wrong.
    pub kind: Kind,
    /// The last part of the key; mostly the kind's own word.
    pub token: String,
    /// How much it matters.
    pub severity: Severity,
    /// Who says so, where that is not simply the probe that ran.
    pub source: Option<Source>,
    /// Who has to act before it can clear.
    pub resolver: Resolver,
    /// What is said about it.
    pub summary: Summary,
    /// The command that shows more.
    pub show: String,
    /// The commands that resolve it, where a person has to give one.
    pub resolve: Vec<String>,
}

impl Observation {
    /// The key under which this observation becomes one condition.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.subject.scope, &self.subject.id, &self.token)
    }
}

/// What a condition is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The sort of thing.
    pub scope: Scope,
    /// The thing, as dotted text: `blog.box-3`.
    pub id: String,
    /// The machine that it is on, when it is on one.
    pub machine: Option<String>,
    /// Further machines that it is on.
    pub also: Vec<String>,
}

/// The identity of a condition: `<scope>.<id>.<token>`.
///
/// Two subjects whose parts join to the same text are the same condition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Joins the three parts with dots.
    #[must_use]
    pub fn new(scope: &Scope, id: &str, token: &str) -> Self {
        Self(format!("{scope}.{id}.{token}"))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How much a condition matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Wants attention, not at once.
    Warning,
    /// Wants a person now.
    Urgent,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Urgent => "urgent",
        }
    }
}

/// Who has to act before a condition can clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resolver {
    /// Nobody: it clears by itself, or by what Bellwether does anyway.
    System,
    /// A person.
    Operator,
}

impl Resolver {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Operator => "operator",
        }
    }
}

/// What is said about a condition: a stable code for programs, a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The stable code.
    pub code: Cow<'static, str>,
    /// The sentence.
    pub text: String,
}

/// Keeps the first observation of each key, in order: within one run the first one counts.
pub fn first_of_each_key<T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> Key) -> Vec<T> {
    let mut met = BTreeSet::new();
    items.into_iter().filter(|item| met.insert(key(item))).collect()
}
