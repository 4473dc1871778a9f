//! The file of a trace, as a journal: what is there at first, and what each write makes of it.

use super::format::Save;
use failure_book::{Change, DocumentError, Journal, Kept};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A handle on the disk; the book holds one, and the runner another.
#[derive(Debug, Clone)]
pub(super) struct Disk(Rc<RefCell<State>>);

#[derive(Debug)]
struct State {
    file: File,
    /// What was there when the file was loaded or written last, as rows.
    kept: Kept,
    /// How the writes of this step end, where that is written down one by one.
    planned: VecDeque<Save>,
    otherwise: Save,
    attempts: Vec<Save>,
    landed: Vec<Value>,
}

/// What the path holds.
#[derive(Debug, Clone)]
pub(super) enum File {
    Missing,
    Text(String),
    CannotBeRead,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    #[error("the path cannot be read")]
    CannotBeRead,
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error("the write fails, by the trace")]
    Planned,
    #[error("the document written cannot be read again")]
    Json(#[from] serde_json::Error),
}

impl Disk {
    pub(super) fn new(file: File) -> Self {
        Self(Rc::new(RefCell::new(State {
            file,
            kept: Kept::default(),
            planned: VecDeque::new(),
            otherwise: Save::Ok,
            attempts: Vec::new(),
            landed: Vec::new(),
        })))
    }

    /// Forgets the last step, and says how the writes of the next one end.
    pub(super) fn plan(&self, save: Save, attempts: &[Save]) {
        let mut state = self.0.borrow_mut();
        state.planned.clear();
        if attempts.contains(&Save::Ok) && attempts.contains(&Save::Fail) {
            state.planned.extend(attempts);
        }
        state.otherwise = save;
        state.attempts.clear();
        state.landed.clear();
    }

    /// How the writes of this step ended.
    pub(super) fn attempts(&self) -> Vec<&'static str> {
        self.0.borrow().attempts.iter().map(|save| save.word()).collect()
    }

    /// The documents that landed in this step.
    pub(super) fn landed(&self) -> Vec<Value> {
        self.0.borrow().landed.clone()
    }
}

impl Journal for Disk {
    type Error = DiskError;

    fn load(&mut self) -> Result<Option<Kept>, DiskError> {
        let mut state = self.0.borrow_mut();
        let kept = match &state.file {
            File::Missing => None,
            File::CannotBeRead => return Err(DiskError::CannotBeRead),
            File::Text(text) => Some(Kept::from_document(text.as_bytes())?),
        };
        state.kept = kept.clone().unwrap_or_default();
        Ok(kept)
    }

    fn land(&mut self, change: &Change) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        let save = state.planned.pop_front().unwrap_or(state.otherwise);
        state.attempts.push(save);
        if save == Save::Fail {
            return Err(DiskError::Planned);
        }
        state.kept.apply(change);
        let text = state.kept.to_document()?;
        let document = serde_json::from_str(&text)?;
        state.landed.push(document);
        state.file = File::Text(text);
        Ok(())
    }
}
