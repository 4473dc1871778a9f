//! sled from one open to the next: reads, scans, and commits that land.

use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroU64;

use store::{
    Batch, Change, CommitError, Document, Entry, Key, Landed, Prefix, ReadError, Revision,
};

use crate::damage::without_panic;
use crate::flush::Flush;
use crate::folder::{Folder, Making};
use crate::mark::{self, Mark};
use crate::note::Note;
use crate::open::{self, OpenError, Opened};
use crate::record::{self, About, Damaged};
use crate::room::Room;
use crate::standing::{self, Standing};
use crate::trouble::Trouble;

/// An open engine whose memory is what is on the disk. After [`Failure::Doubtful`] it is not, and must go.
#[derive(Debug)]
pub(crate) struct Session {
    // First, since it has hold of the engine too.
    flush: Flush,
    db: sled::Db,
    // A descriptor of our own on sled's file, for the fsync that sled does not do.
    file: File,
    mark: Mark,
    standing: Standing,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// For a reason that leaves the engine as it was.
    Sound(E),
    /// The engine failed, and its memory may differ from the disk.
    Doubtful(Trouble),
}

impl<E, T: Into<Trouble>> From<T> for Failure<E> {
    fn from(trouble: T) -> Self {
        Self::Doubtful(trouble.into())
    }
}

impl Session {
    pub(crate) fn open(folder: &Folder) -> Result<(Self, Vec<Note>), OpenError> {
        let making = folder.settle_schema()?;
        let Opened { db, standing, mut notes } = open::open(folder, making)?;
        let path = folder.db();
        let file = File::open(&path).map_err(|error| OpenError::of_io(path, error))?;
        let at_mark = |error| OpenError::of_io(mark::path(folder.root()), error);
        let mark = Mark::set(folder.root(), standing).map_err(at_mark)?;
        let flush = Flush::watched(&db);
        let flush = flush.map_err(|error| OpenError::of_io(folder.root().to_owned(), error))?;
        let session = Self { flush, db, file, mark, standing };
        match making {
            Making::BeingMade => session.finish(folder, &record::MADE_KEY, &[])?,
            Making::MadeBefore(from) => {
                let standing = record::standing_value(standing);
                session.finish(folder, &record::STANDING_KEY, &standing)?;
                notes.push(Note::Upgraded { folder: folder.root().to_owned(), from });
            }
            Making::Made => {}
        }
        Ok((session, notes))
    }

    /// Lands the last that a store of the present schema has, and then says that it is one.
    fn finish(&self, folder: &Folder, key: &[u8], value: &[u8]) -> Result<(), OpenError> {
        let land = || -> Result<(), Trouble> {
            self.db.insert(key, value)?;
            self.land(folder)
        };
        land().map_err(|trouble| OpenError::of_trouble(folder.root().to_owned(), trouble))?;
        folder.say_made()
    }

    /// Lets the engine go, whatever state it is in.
    pub(crate) fn close(self) {
        let Self { flush, db, mark, .. } = self;
        drop(flush);
        // sled unwraps a last sync of its own when it is dropped. It is right to be loud, but the disk's error was
        // answered already, or there is nothing left that it could concern.
        without_panic(|| drop(db)).ok();
        // What the mark says is true already; this is for a power cut soon after.
        mark.sync().ok();
    }

    pub(crate) fn read(&self, key: &Key) -> Result<Option<Document>, Failure<ReadError>> {
        match self.db.get(record::head_key(key))? {
            Some(head) => self.assemble(key, &head).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn scan(&self, prefix: &Prefix) -> Result<Vec<(Key, Document)>, Failure<ReadError>> {
        let mut documents = Vec::new();
        for found in self.db.scan_prefix(record::head_keys(prefix)) {
            let (head_key, head) = found?;
            let key = record::key_of(&head_key).map_err(|Damaged| {
                let text = String::from_utf8_lossy(&head_key).into_owned();
                Failure::Sound(ReadError::Damaged(text))
            })?;
            let document = self.assemble(&key, &head)?;
            documents.push((key, document));
        }
        Ok(documents)
    }

    fn assemble(&self, key: &Key, head: &[u8]) -> Result<Document, Failure<ReadError>> {
        let damaged = |Damaged| Failure::Sound(ReadError::Damaged(key.to_string()));
        let head = record::head(head).map_err(damaged)?;
        standing::document(&self.db, key, head)?.map_err(damaged)
    }

    /// Checks, writes, and answers when it has landed.
    pub(crate) fn commit(
        &mut self,
        folder: &Folder,
        room: Room,
        batch: Batch,
    ) -> Result<Landed, Failure<CommitError>> {
        let number = NonZeroU64::MIN.saturating_add(self.standing.revision);
        let revision = Revision::new(number);
        let reserve = batch.reserve();
        let mut changes = Vec::new();
        let mut standing = Standing { revision: number.get(), ..self.standing };
        for Entry { key, expect, change } in batch.into_entries() {
            let before = self.about(&key)?;
            let found = before.map(|about| about.revision);
            if !expect.holds(found) {
                let conflict = CommitError::Conflict { key, expected: expect, found };
                return Err(Failure::Sound(conflict));
            }
            let after = match change {
                Change::Put(bytes) => After::Document(About::of(revision, &bytes), bytes),
                Change::Delete => After::Nothing,
            };
            let changed = Changed { key, before, after };
            standing.sum = changed.sum(standing.sum);
            changes.push(changed);
        }
        let (mut writes, mut revisions, mut bytes) = (Vec::new(), BTreeMap::new(), 0_u64);
        for changed in changes {
            if let After::Document(about, _) = &changed.after {
                revisions.insert(changed.key.clone(), revision);
                bytes = bytes.saturating_add(u64::try_from(about.length).unwrap_or(u64::MAX));
            }
            changed.write(standing.sum, &mut writes);
        }
        if writes.is_empty() {
            return Ok(Landed::new(revisions));
        }
        let untouched = |trouble: Trouble| Failure::Sound(trouble.into());
        room.check(folder.root(), bytes, reserve).map_err(untouched)?;
        self.apply(standing, writes)?;
        self.land(folder)?;
        self.mark.advance(standing)?;
        self.standing = standing;
        Ok(Landed::new(revisions))
    }

    fn about(&self, key: &Key) -> Result<Option<About>, Failure<CommitError>> {
        let Some(head) = self.db.get(record::head_key(key))? else { return Ok(None) };
        match record::head(&head) {
            Ok(head) => Ok(Some(head.about)),
            Err(Damaged) => {
                let error = ReadError::Damaged(key.to_string());
                Err(Failure::Sound(CommitError::Failed(error.into())))
            }
        }
    }

    /// Makes the writes of one commit whole. One put of one value is whole by itself, at half the cost of a
    /// batch: its head says how the store stands then.
    fn apply(&self, standing: Standing, writes: Vec<Write>) -> Result<(), sled::Error> {
        let mut writes = writes;
        if let [(key, Some(value))] = writes.as_mut_slice() {
            return self.db.insert(std::mem::take(key), std::mem::take(value)).map(drop);
        }
        let mut batch = sled::Batch::default();
        for (key, value) in writes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        batch.insert(&record::STANDING_KEY, record::standing_value(standing));
        self.db.apply_batch(batch)
    }

    /// Returns when everything that sled has in memory is on the disk.
    fn land(&self, folder: &Folder) -> Result<(), Trouble> {
        self.flush.run(&self.db)?;
        // The file's length comes with its data; when it was changed need not last.
        self.file.sync_data()?;
        folder.sync_blobs()?;
        Ok(())
    }
}

/// A value for a key of the tree, or its removal.
type Write = (Vec<u8>, Option<Vec<u8>>);

/// One change of a commit.
struct Changed {
    key: Key,
    before: Option<About>,
    after: After,
}

/// What there is under a key after a commit.
enum After {
    Document(About, Vec<u8>),
    Nothing,
}

impl Changed {
    /// Makes of the store's sum before the change that after it.
    fn sum(&self, before: u64) -> u64 {
        let share = |about: &About| about.fingerprint(&self.key);
        let gone = before.wrapping_sub(self.before.as_ref().map_or(0, share));
        match &self.after {
            After::Document(about, _) => gone.wrapping_add(share(about)),
            After::Nothing => gone,
        }
    }

    /// Adds what makes the change whole: the new head and parts, and the removal of old ones.
    fn write(self, sum: u64, writes: &mut Vec<Write>) {
        let Self { key, before, after } = self;
        let parts_before = record::part_numbers(before.map_or(0, |about| about.length));
        let mut parts = 0;
        match after {
            After::Document(about, bytes) => {
                let (head, rest) = record::cut(about, sum, &bytes);
                writes.push((record::head_key(&key), Some(head)));
                for (number, part) in (1..).zip(rest) {
                    writes.push((record::part_key(&key, number), Some(part)));
                    parts = number;
                }
            }
            After::Nothing if before.is_some() => writes.push((record::head_key(&key), None)),
            After::Nothing => {}
        }
        for number in parts_before.filter(|number| *number > parts) {
            writes.push((record::part_key(&key, number), None));
        }
    }
}
