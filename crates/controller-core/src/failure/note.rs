//! The plan's note: what became of a module, as codes.

use serde::{Deserialize, Serialize};

use super::case::{Case, Fate};
use super::not_back::NotBack;
use super::rules::{Form, Rules};

/// What a plan notes about a module whose wave did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The module.
    pub about: String,
    /// What it is about.
    pub kind: NoteKind,
    /// Codes of what became of it, in order.
    pub tail: Vec<String>,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The module did not pass its gate.
    Failed,
    /// The module was not changed by its send, and stopped with it.
    Unchanged,
}

/// What is noted of one module by itself. Under the recorded behaviour the end of a batch says what
/// became of its send, and the module does not.
pub(super) fn note(case: &Case, rules: &Rules) -> Note {
    let said_by_the_batch = !rules.notes_name_each_module && rules.form == Form::Batched;
    let code = match &case.fate {
        Fate::PutBack | Fate::NotBack(NotBack::SendRefused) if said_by_the_batch => None,
        Fate::Open | Fate::Unchanged | Fate::RollingBack(_) => None,
        Fate::AlreadyMade(_) => Some("already_made"),
        Fate::PutBack => Some("put_back"),
        Fate::NotBack(not_back) => Some(not_back.code()),
    };
    let kind = match case.fate {
        Fate::Unchanged => NoteKind::Unchanged,
        Fate::Open
        | Fate::AlreadyMade(_)
        | Fate::RollingBack(_)
        | Fate::PutBack
        | Fate::NotBack(_) => NoteKind::Failed,
    };
    Note { about: case.module.clone(), kind, tail: code.into_iter().map(str::to_owned).collect() }
}
