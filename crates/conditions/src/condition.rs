//! Something that is wrong now, and what happened to it.

use alloc::string::String;
use alloc::vec::Vec;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::history::Steadiness;
use crate::observation::{Key, Observation, Resolver, Severity, Subject, Summary};
use crate::words::{Kind, Source};

/// Something that is wrong now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its identity: scope, id and token.
    pub key: Key,
    /// What it is about.
    pub subject: Subject,
    /// What is wrong.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Severity,
    /// Who says so.
    pub source: Source,
    /// Who has to act before it can clear.
    pub resolver: Resolver,
    /// What is said about it.
    pub summary: Summary,
    /// The command that shows more.
    pub show: String,
    /// The commands that resolve it, where a person has to give one.
    pub resolve: Vec<String>,
    /// Since when it is open.
    pub raised: DateTime<Utc>,
    /// When it was last said.
    pub last_seen: DateTime<Utc>,
    /// How often it was said since it was raised.
    pub times_seen: u32,
    /// Whether it comes and goes; if so, it stays open until it holds still.
    pub steadiness: Steadiness,
    /// Who took it upon themselves.
    pub acknowledged: Option<Acknowledgement>,
    /// Until when nobody is told.
    pub silenced: Option<Silence>,
}

impl Condition {
    pub(crate) fn raise(
        key: Key,
        observation: Observation,
        said_by: &Source,
        now: DateTime<Utc>,
        steadiness: Steadiness,
    ) -> Self {
        Self {
            key,
            subject: observation.subject,
            kind: observation.kind,
            severity: observation.severity,
            source: observation.source.unwrap_or_else(|| said_by.clone()),
            resolver: observation.resolver,
            summary: observation.summary,
            show: observation.show,
            resolve: observation.resolve,
            raised: now,
            last_seen: now,
            times_seen: 1,
            steadiness,
            acknowledged: None,
            silenced: None,
        }
    }

    /// Whether people are told of it at this time: nobody acknowledged it, and no silence lasts.
    #[must_use]
    pub fn is_told(&self, now: DateTime<Utc>) -> bool {
        self.acknowledged.is_none()
            && self.silenced.as_ref().is_none_or(|silence| silence.until <= now)
    }
}

/// A person took a condition upon themselves. It changes who is told, never what is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Nobody is told of a condition for a time. It changes who is told, never what is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// Who asked for it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When it ends.
    pub until: DateTime<Utc>,
}

/// What a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// It is wrong now, and was not before.
    Raised {
        /// The condition as it is now.
        condition: Condition,
    },
    /// It is still wrong, and something is said of it that was not said before.
    Changed {
        /// The condition as it is now.
        condition: Condition,
    },
    /// It is no longer wrong.
    Cleared {
        /// The condition as it was last.
        condition: Condition,
        /// When it was found gone.
        at: DateTime<Utc>,
    },
}

impl Event {
    /// The condition that the event is about.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        match self {
            Self::Raised { condition }
            | Self::Changed { condition }
            | Self::Cleared { condition, .. } => condition,
        }
    }
}
