//! The journals' contract notices a journal that breaks it: each of these breaks one promise.

use failure_book::{
    Change, Disk, Entry, Journal, Kept, MemoryJournal, MemoryJournalError, RowError, contract,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::catch_unwind;

#[test]
fn a_violation_names_its_rule_and_what_the_journal_answered() {
    let gone = || {
        let mut journal = MemoryJournal::new();
        journal.set_disk(Disk::Gone);
        journal
    };
    let violation = contract::check(gone, |journal| journal).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "the journal breaks its contract: a journal in which nothing landed holds no book"
    );
    let answered = violation.source().and_then(|source| source.downcast_ref());
    assert!(matches!(answered, Some(MemoryJournalError::Scripted)), "{answered:?}");
}

/// What a broken journal does with an entry: the one that it keeps, if any.
type Keeps = fn(Entry) -> Option<Entry>;

/// A journal that keeps entries as its fault has it.
struct Broken {
    entries: BTreeMap<String, Vec<u8>>,
    keeps: Keeps,
}

#[derive(Debug, thiserror::Error)]
enum BrokenError {
    #[error("the entries are no failure book")]
    Read(#[from] RowError),
    #[error("a row could not be written")]
    Write(#[from] serde_json::Error),
}

impl Journal for Broken {
    type Error = BrokenError;

    fn load(&mut self) -> Result<Option<Kept>, BrokenError> {
        Ok(Kept::from_entries(&self.entries)?)
    }

    fn land(&mut self, change: &Change) -> Result<(), BrokenError> {
        for Entry { key, value } in change.entries()?.into_iter().filter_map(self.keeps) {
            match value {
                Some(value) => self.entries.insert(key, value),
                None => self.entries.remove(&key),
            };
        }
        Ok(())
    }
}

fn keeps_the_contract(keeps: Keeps) -> bool {
    let check = || {
        let fresh = || Broken { entries: BTreeMap::new(), keeps };
        contract::check(fresh, |journal| journal).is_ok()
    };
    catch_unwind(check).unwrap_or(false)
}

/// Cuts the spaces at the end of keys that begin like this.
fn trimmed(entry: Entry, kind: &str) -> Option<Entry> {
    let is_kind = entry.key.starts_with(kind);
    let key = if is_kind { entry.key.trim_end().to_owned() } else { entry.key };
    Some(Entry { key, ..entry })
}

#[test]
fn no_broken_journal_keeps_the_contract() {
    assert!(keeps_the_contract(Some), "without a fault it is kept");
    let faults: [(&str, Keeps); 6] = [
        ("nothing is dropped", |entry| entry.value.is_some().then_some(entry)),
        ("only short values are kept", |entry| {
            let is_short = entry.value.as_ref().is_none_or(|value| value.len() < 8_192);
            is_short.then_some(entry)
        }),
        ("places of records have one digit", |mut entry| {
            if entry.key.starts_with("record/") {
                entry.key.replace_range("record/".len()..entry.key.len() - 1, "000000000000000");
            }
            Some(entry)
        }),
        ("names of markers are trimmed", |entry| trimmed(entry, "marker/")),
        ("names of intents are trimmed", |entry| trimmed(entry, "intent/")),
        ("names of apps are trimmed", |entry| trimmed(entry, "generation/")),
    ];
    for (fault, keeps) in faults {
        assert!(!keeps_the_contract(keeps), "{fault}");
    }
}
