//! The points where the handling of a failure is better than the recorded behaviour.

use serde::{Deserialize, Serialize};

/// How a failure is handled.
///
/// [`Rules::default`] is Bellwether. [`Rules::reference`] replays the recorded vectors; each field
/// names the tag of the recorded behaviour that it departs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// What goes into one send (untagged: Bellwether knows the batch only).
    pub form: Form,
    /// It is put back when its machines reported that declaration applied, not when the send was
    /// accepted (untagged).
    pub reported_is_put_back: bool,
    /// A fingerprint that could be read counts, though the other could not
    /// (`one_unreadable_fingerprint_hides_the_other`).
    pub readable_fingerprint_counts: bool,
    /// What was not put back always says why (`event_without_not_why`).
    pub always_says_why: bool,
    /// A rollback that was decided before a crash is finished, with the id that it had
    /// (`rolling_back_never_resumed`).
    pub resumes: bool,
    /// A verdict that is kept already but cannot be found is said, and not taken for settled
    /// (untagged).
    pub lost_verdict_is_not_back: bool,
    /// Without a record of the failed build nothing is put back (`missing_failed_build_goes_on`).
    pub missing_failed_build_is_not_back: bool,
    /// What could not be saved is not sent (`save_error_ignored`).
    pub unsaved_is_not_sent: bool,
    /// A gate without machines is not said to be put back (`no_machines`).
    pub no_machines_is_not_back: bool,
    /// The notes of a batch name each module (`batch_note_overwritten`).
    pub notes_name_each_module: bool,
    /// How the rollbacks are made into conditions.
    pub conditions: conditions::Rules,
}

/// What goes into one send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Everything that goes back, so that a machine is sent all of it at once.
    Batched,
    /// Each module by itself. Only the recorded behaviour knows it.
    Single,
}

impl Rules {
    /// The recorded behaviour, for replaying vectors.
    #[must_use]
    pub fn reference() -> Self {
        Self {
            form: Form::Batched,
            reported_is_put_back: false,
            readable_fingerprint_counts: false,
            always_says_why: false,
            resumes: false,
            lost_verdict_is_not_back: false,
            missing_failed_build_is_not_back: false,
            unsaved_is_not_sent: false,
            no_machines_is_not_back: false,
            notes_name_each_module: false,
            conditions: conditions::Rules::reference(),
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            form: Form::Batched,
            reported_is_put_back: true,
            readable_fingerprint_counts: true,
            always_says_why: true,
            resumes: true,
            lost_verdict_is_not_back: true,
            missing_failed_build_is_not_back: true,
            unsaved_is_not_sent: true,
            no_machines_is_not_back: true,
            notes_name_each_module: true,
            conditions: conditions::Rules::default(),
        }
    }
}
