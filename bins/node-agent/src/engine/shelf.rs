//! The engine's failure book: opened for each agent, and named when it cannot be read.
//!
//! Nothing that becomes of it ends the engine, and nothing of it ends what runs. A book that cannot be read is left where it
//! is: never set aside and never taken for an empty one, since then a build that failed here could start again.

use std::io;

use agent_shell::{KeptBook, Severity};
use failure_book::Book;
use journal_file::{FileJournal, Note, OpenError, OpenedJournal, Options, Trust};
use terminal::failure::chain;

use super::Engine;
use crate::{book, clock};

impl Engine {
    /// Opens the book.
    pub(super) async fn open_book(&self) -> KeptBook<FileJournal> {
        let place = self.folder.book();
        let options = Options::new(&place);
        let opened = tokio::task::spawn_blocking(move || open(options)).await;
        let opened = opened.unwrap_or_else(|error| Err(io::Error::other(error).to_string()));
        match opened {
            Ok(Opened { book, trust, notes }) => {
                notes.iter().for_each(|note| self.noted_of_book(note));
                match (book, trust) {
                    (KeptBook::Unreadable { why }, _) => self.unreadable(why),
                    (book, Trust::Whole) => book,
                    (KeptBook::Open { book, journal }, Trust::Doubtful) => {
                        self.with_another_identity(book, journal)
                    }
                }
            }
            Err(why) => self.unreadable(why),
        }
    }

    fn unreadable(&self, why: String) -> KeptBook<FileJournal> {
        let line = format!(
            "the failure book cannot be read: {why}; what runs goes on, and no build is tried; see what can be done: node-agent \
             book show"
        );
        self.log.say(Severity::Error, &line);
        KeptBook::Unreadable { why }
    }

    /// No permission that was signed for the book as it was counts any more.
    fn with_another_identity(
        &self,
        mut book: Box<Book>,
        journal: FileJournal,
    ) -> KeptBook<FileJournal> {
        let id = match book::drawn() {
            Ok(id) => id,
            Err(error) => {
                return self.unreadable(format!(
                    "it needs another identity, and none can be drawn: {error}"
                ));
            }
        };
        let was = book.id();
        // What it owes then lands before the agent does anything.
        drop(book.rotate_identity(id));
        self.log.say(Severity::Warning, &format!("the failure book was {was}, and is {id} now"));
        KeptBook::Open { book, journal }
    }

    fn noted_of_book(&self, note: &Note) {
        let severity = match note {
            Note::TornEnd { .. } => Severity::Info,
            Note::MissingMark { .. } | Note::DamagedMark { .. } => Severity::Warning,
        };
        self.log.say(severity, &note.to_string());
    }
}

struct Opened {
    book: KeptBook<FileJournal>,
    trust: Trust,
    notes: Vec<Note>,
}

/// Waits for the disk.
fn open(options: Options) -> Result<Opened, String> {
    let opened = FileJournal::open(options).map_err(|error: OpenError| chain(&error))?;
    let OpenedJournal { journal, trust, notes } = opened;
    Ok(Opened { book: KeptBook::load(journal, clock::now(), book::drawn), trust, notes })
}
