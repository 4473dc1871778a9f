//! How the book is kept: the one place that looks at it, and the one that opens it for a change.

use std::{fs, io::ErrorKind};

use failure_book::{Book, FailureBook, Kept, Rules};
use journal_file::{FileJournal, JournalError, OpenError, OpenedJournal, Options, Trust};
use terminal::failure::{Failure, chain};

use super::{new_identity, owner};
use crate::{clock, folder::Folder};

/// What was found when the book was looked at. Nothing was changed.
#[derive(Debug)]
pub(super) struct Found {
    /// What is kept; none: nothing ever was.
    pub(super) kept: Option<Kept>,
    /// Why the newest changes may be missing. Whoever changes the book next gives it another identity.
    pub(super) doubts: Vec<String>,
}

/// A book that was opened for a change. Nobody else may have it open meanwhile.
#[derive(Debug)]
pub(super) struct Opened<'a> {
    book: FailureBook<FileJournal>,
    folder: &'a Folder,
    doubts: Vec<String>,
}

/// Looks at the book.
pub(super) fn look(folder: &Folder) -> Result<Found, Failure> {
    let place = folder.book();
    match fs::metadata(&place) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            is_a_folder(folder)?;
            return Ok(Found { kept: None, doubts: Vec::new() });
        }
        Err(error) => return Err(unreadable(folder, &error.to_string(), Damage::No)),
        Ok(found) if !found.is_dir() => {
            return Err(unreadable(folder, "it is no folder", Damage::Yes));
        }
        Ok(_) => {}
    }
    let failure = |error: OpenError| unreadable(folder, &chain(&error), damage_of_open(&error));
    let kept = journal_file::read(&place).map_err(failure)?;
    let trust = match &kept {
        Some(_) => journal_file::trust(&place).map_err(failure)?,
        None => Trust::Whole,
    };
    Ok(Found { kept, doubts: doubts(folder, trust) })
}

impl<'a> Opened<'a> {
    /// Opens the book for a change; makes an empty one where there is none. The folder must be locked.
    pub(super) fn open(folder: &'a Folder) -> Result<Self, Failure> {
        let OpenedJournal { journal, trust, .. } =
            FileJournal::open(Options::new(folder.book()))
                .map_err(|error| unreadable(folder, &chain(&error), damage_of_open(&error)))?;
        let fresh = || super::drawn();
        let book =
            FailureBook::open(journal, clock::now(), fresh, Rules::default()).map_err(|error| {
                let damage = match &error {
                    failure_book::OpenError::Journal(error) => damage_of_load(error),
                    failure_book::OpenError::Identity(_) => Damage::No,
                };
                unreadable(folder, &chain(&error), damage)
            })?;
        Ok(Self { book, folder, doubts: doubts(folder, trust) })
    }

    pub(super) fn book(&self) -> &Book {
        self.book.book()
    }

    /// Changes the book. All of it lands at once or not at all, with all that the open owed; and in doubt about the book it
    /// gets another identity with it. Answers the doubts that there were.
    ///
    /// `change` drops the steps of its operations: what they owe is in the one that lands here.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut Book),
    ) -> Result<Vec<String>, Failure> {
        let other = if self.doubts.is_empty() { None } else { Some(new_identity()?) };
        let answer = self.book.run(|book| {
            if let Some(id) = other {
                drop(book.rotate_identity(id));
            }
            change(book);
            book.save_if_dirty()
        });
        let place = self.folder.book();
        if let Some(unsaved) = answer.error {
            let why = self.book.failure().map_or_else(|| unsaved.to_string(), |error| chain(error));
            let what = format!(
                "the failure book in {} could not be changed: {why}; the change is there whole or not at all",
                place.display()
            );
            let failure = Failure::failed(what).hint("how it stands now: node-agent book show");
            return Err(owner::hint(failure, self.folder));
        }
        owner::hand_over(self.folder, &place).map_err(|error| {
            let what =
                format!("the book is changed, and {} is not its engine's own now", place.display());
            Failure::because(what, &error).hint("give it to the user whose folder it is in: chown")
        })?;
        Ok(std::mem::take(&mut self.doubts))
    }
}

/// Whether it is what is kept that is at fault, or what lies around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Yes,
    No,
}

/// The book cannot be read, why, and what a person can do.
fn unreadable(folder: &Folder, why: &str, damage: Damage) -> Failure {
    let place = folder.book();
    let place = place.display();
    let failure = Failure::failed(format!(
        "the failure book in {place} cannot be read, and nothing of it was changed: {why}"
    ));
    match damage {
        Damage::No => owner::hint(failure, folder),
        Damage::Yes => failure
            .hint(format!(
                "with a copy of it from before: stop the engine, put the copy in the place of {place}, then: \
                 node-agent book rotate-identity"
            ))
            .hint(format!(
                "without one: stop the engine, move {place} elsewhere, then: node-agent book import FILE, with what \
                 was exported last"
            ))
            .hint(
                "either way what failed here since then is forgotten: such a build can be tried on this machine again",
            ),
    }
}

fn damage_of_open(error: &OpenError) -> Damage {
    match error {
        OpenError::Schema { .. } | OpenError::Damaged { .. } | OpenError::Rows { .. } => {
            Damage::Yes
        }
        OpenError::Io { source, .. }
            if matches!(source.kind(), ErrorKind::NotADirectory | ErrorKind::IsADirectory) =>
        {
            Damage::Yes
        }
        OpenError::InUse { .. }
        | OpenError::Full { .. }
        | OpenError::ReadOnly { .. }
        | OpenError::Io { .. } => Damage::No,
    }
}

fn damage_of_load(error: &JournalError) -> Damage {
    match error {
        JournalError::Unread(error) => damage_of_open(error),
        JournalError::Full { .. }
        | JournalError::ReadOnly { .. }
        | JournalError::Unwritten { .. }
        | JournalError::TooLong
        | JournalError::Refused(_) => Damage::No,
    }
}

/// Why the newest changes may be missing, if they may.
fn doubts(folder: &Folder, trust: Trust) -> Vec<String> {
    match trust {
        Trust::Whole => Vec::new(),
        Trust::Doubtful => vec![format!(
            "the mark in {} is missing or damaged, so nothing could tell whether its end is missing",
            folder.book().display()
        )],
    }
}

/// Where there is no engine's folder, there is not even a place for a book.
pub(super) fn is_a_folder(folder: &Folder) -> Result<(), Failure> {
    let path = folder.path().display();
    match fs::metadata(folder.path()) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Failure::failed(format!("{path} is no engine's folder"))),
        Err(error) => {
            Err(Failure::because(format!("there is no engine's folder at {path}"), &error)
                .hint("name it: --dir PATH; or the config that says it: --config FILE"))
        }
    }
}
