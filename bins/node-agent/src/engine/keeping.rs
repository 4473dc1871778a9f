//! The engine's store: opened, waited for while its disk is full, and set aside when it is damaged.
//!
//! Nothing that becomes of it ends the engine, and nothing of it ends what runs. While it cannot be opened the agent goes on
//! without it: what runs is looked after, declarations are refused, and the store is tried again. A store that is damaged is
//! moved aside whole and never deleted, and the controller hands over again what the machine should hold.

use std::{path::PathBuf, time::Duration};

use agent_shell::{ReopenError, Severity};
use machine_os::set_aside;
use store_sled::{Note, OpenError, Options, SledStore};
use terminal::failure::chain;

use super::Engine;

/// How long a store that cannot be opened is left alone, at first and at most.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How many stores are set aside before it is clear that something else is wrong: a disk that damages what was just made.
const SET_ASIDE_MAX: u32 = 3;

/// What there is to keep things in.
#[derive(Debug)]
pub(super) enum Keeping {
    Store(SledStore),
    /// Nothing for now, and why.
    Nothing {
        why: String,
    },
}

/// What can be done about a store that does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Wait: its disk is full, or somebody has it.
    Wait,
    /// Another one takes its place.
    SetAside,
}

impl Engine {
    /// Opens the store. One that is damaged is set aside, and a new one is made.
    pub(super) async fn open_store(&self) -> Keeping {
        let mut why = String::new();
        for _ in 0..SET_ASIDE_MAX {
            let error = match SledStore::open(Options::new(self.folder.store())).await {
                Ok(opened) => {
                    opened.notes.iter().for_each(|note| self.noted(note));
                    return Keeping::Store(opened.store);
                }
                Err(error) => error,
            };
            why = in_words(&error);
            match remedy(&error) {
                Remedy::Wait => return Keeping::Nothing { why },
                Remedy::SetAside => match self.set_store_aside(&why) {
                    Ok(()) => {}
                    Err(why) => return Keeping::Nothing { why },
                },
            }
        }
        Keeping::Nothing { why }
    }

    /// Waits, with pauses that grow, until there is a store.
    pub(super) async fn store_again(&self) -> SledStore {
        let mut pause = PAUSE_MIN;
        loop {
            tokio::time::sleep(pause).await;
            match self.open_store().await {
                Keeping::Store(store) => return store,
                Keeping::Nothing { .. } => pause = (pause * 2).min(PAUSE_MAX),
            }
        }
    }

    /// What was kept in an open store cannot be read.
    pub(super) async fn reopened(&self, store: SledStore, error: ReopenError) -> Keeping {
        let why = chain(&error);
        let is_damaged = match &error {
            ReopenError::Content(_) | ReopenError::Read(store::ReadError::Damaged(_)) => true,
            ReopenError::Key(_)
            | ReopenError::Read(store::ReadError::Closed | store::ReadError::Failed(_)) => false,
        };
        store.close().await;
        drop(store);
        if !is_damaged {
            return Keeping::Nothing { why };
        }
        match self.set_store_aside(&why) {
            Ok(()) => self.open_store().await,
            Err(why) => Keeping::Nothing { why },
        }
    }

    /// Something was wrong with the store and was put right. What of it was damage is told for as long as it lies there.
    fn noted(&self, note: &Note) {
        let (severity, kept) = match note {
            Note::UnfinishedSnapshot { .. } | Note::Upgraded { .. } => (Severity::Info, None),
            Note::MissingMark { .. } => (Severity::Warning, None),
            Note::DamagedSnapshot { kept }
            | Note::DamagedSettings { kept }
            | Note::DamagedMark { kept } => (Severity::Error, Some(kept)),
        };
        self.log.say(severity, &note.to_string());
        // One that cannot be moved stays where it is, and was told.
        if let Some(Ok(kept)) = kept.map(|kept| set_aside(self.folder.path(), kept)) {
            self.log.say(severity, &format!("it is kept as {}", kept.display()));
        }
    }

    fn set_store_aside(&self, why: &str) -> Result<(), String> {
        let store: PathBuf = self.folder.store();
        match set_aside(self.folder.path(), &store) {
            Ok(kept) => {
                let line = format!(
                    "the store is damaged and is set aside as {}: {why}; what runs goes on, and the controller \
                     hands over again what this machine should hold",
                    kept.display()
                );
                self.log.say(Severity::Error, &line);
                Ok(())
            }
            Err(error) => {
                Err(format!("{why}; and {} cannot be set aside: {error}", store.display()))
            }
        }
    }
}

/// What is wrong. What a controller's operator would be told to do about it is not what is done here.
fn in_words(error: &OpenError) -> String {
    match error {
        OpenError::Damaged { file, what } => format!("{} is damaged: {what}", file.display()),
        OpenError::Schema { file, found, .. } => {
            format!("{} is none that this engine can read: it says {found:?}", file.display())
        }
        OpenError::InUse { folder } => format!("another process has {} open", folder.display()),
        OpenError::Full { .. }
        | OpenError::ReadOnly { .. }
        | OpenError::Failed { .. }
        | OpenError::Io { .. }
        | OpenError::Panicked => chain(error),
    }
}

fn remedy(error: &OpenError) -> Remedy {
    match error {
        OpenError::Full { .. } | OpenError::ReadOnly { .. } | OpenError::InUse { .. } => {
            Remedy::Wait
        }
        OpenError::Io { source, .. } => of_io(source.kind()),
        OpenError::Schema { .. }
        | OpenError::Damaged { .. }
        | OpenError::Failed { .. }
        | OpenError::Panicked => Remedy::SetAside,
    }
}

/// A folder where a file should be is damage; whatever else the operating system says can pass.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "io::ErrorKind is foreign and grows; what is not known to be damage is waited for"
)]
fn of_io(kind: std::io::ErrorKind) -> Remedy {
    match kind {
        std::io::ErrorKind::IsADirectory
        | std::io::ErrorKind::NotADirectory
        | std::io::ErrorKind::AlreadyExists
        | std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::UnexpectedEof => Remedy::SetAside,
        _ => Remedy::Wait,
    }
}
