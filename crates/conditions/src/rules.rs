//! The points where what is observed about rollbacks is better than the recorded behaviour.

/// How rollbacks are made into observations.
///
/// [`Rules::default`] is Bellwether. [`Rules::reference`] replays the recorded vectors; each field
/// names the tag of the recorded behaviour that it departs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rules {
    /// A rollback under way has a kind of its own, and is not said as put back
    /// (`rolling_back_said_as_put_back`).
    pub rolling_back_has_its_own_kind: bool,
    /// A gate without machines is never made into a condition (`no_machines`).
    pub no_machines_says_nothing: bool,
    /// A module that its send did not change is never made into a condition (untagged).
    pub unchanged_says_nothing: bool,
    /// A witness's outcome that says nothing is as severe as the word that it is taken for
    /// (`empty_outcome_is_rolled_back_but_only_a_warning`).
    pub empty_outcome_is_severe: bool,
    /// A witness's outcome that is not known here is said as it is (`unknown_outcome_unsaid`).
    pub unknown_outcome_is_said: bool,
}

impl Rules {
    /// The recorded behaviour, for replaying vectors.
    #[must_use]
    pub fn reference() -> Self {
        Self {
            rolling_back_has_its_own_kind: false,
            no_machines_says_nothing: false,
            unchanged_says_nothing: false,
            empty_outcome_is_severe: false,
            unknown_outcome_is_said: false,
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            rolling_back_has_its_own_kind: true,
            no_machines_says_nothing: true,
            unchanged_says_nothing: true,
            empty_outcome_is_severe: true,
            unknown_outcome_is_said: true,
        }
    }
}
