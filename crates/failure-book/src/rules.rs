//! Every point where the book is better than the recorded behaviour.

use serde::{Deserialize, Serialize};

/// The rules of a book, as one plain value.
///
/// [`Rules::default`] is Bellwether's book. [`Rules::reference`] is the recorded behaviour, kept
/// so that the two can be told apart trace by trace.
///
/// One difference is no field, since no value could have it otherwise: a name with a `/` is
/// refused at the door (see [`BadName`](crate::BadName)). The reference takes it, and lets two
/// apps share a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// What a grant does that frees only the marker of a host that the record lists as retried.
    ///
    /// That host's retry is the canary, and it may be running: its failure must spend the retry,
    /// or the canary is let through again and again without a word from an operator. Two directed
    /// traces record the other way: `retry_at_marker_of_a_running_retry_makes_its_failure_stale`
    /// and `retry_at_record_retried_already_marker_still_names_the_build`.
    pub marker_of_retried_host: MarkerOfRetriedHost,
}

/// What a grant does that frees only the marker of a host that the record lists as retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkerOfRetriedHost {
    /// It counts as one more retry: a failure from before it is stale.
    IsARetry,
    /// It frees the marker and nothing else: the running retry is judged as it was begun.
    IsNoRetry,
}

impl Default for Rules {
    fn default() -> Self {
        Self { marker_of_retried_host: MarkerOfRetriedHost::IsNoRetry }
    }
}

impl Rules {
    /// The recorded behaviour.
    #[must_use]
    pub fn reference() -> Self {
        Self { marker_of_retried_host: MarkerOfRetriedHost::IsARetry }
    }
}
