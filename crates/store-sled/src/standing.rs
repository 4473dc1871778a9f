//! How a store stands, in two numbers; and reading all of it, to see whether it stands as it says.

use store::{Document, Key, Prefix};

use crate::damage::{Damage, Unsound};
use crate::record::{self, Assembly, Damaged, Head};

/// How a store stands after a commit. Two stores that say the same hold the same documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The revision of the newest commit.
    pub(crate) revision: u64,
    /// The sum of the fingerprints of all documents; it wraps.
    pub(crate) sum: u64,
}

/// Whether a store says itself what the sum of its documents is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// It does, since schema 2.
    Kept,
    /// It does not, or not for all of its commits.
    Unknown,
}

/// Reads every document. What they come to must be what the newest commit left.
///
/// Each single value is checked by sled, and each document by its checksum. But a page that sled took from an
/// older place of its log, or a document that it dropped with the end of it, is sound in itself: only the sum shows it.
pub(crate) fn of(db: &sled::Db, sums: Sums) -> Result<Standing, Unsound> {
    let mut sum = 0_u64;
    let mut newest = match db.get(record::STANDING_KEY)? {
        Some(value) => record::standing(&value).map_err(|Damaged| Damage::Sum)?,
        None => (0, Some(0)),
    };
    for found in db.scan_prefix(record::head_keys(&Prefix::all())) {
        let (head_key, value) = found?;
        let key = record::key_of(&head_key)
            .map_err(|Damaged| Damage::Document(String::from_utf8_lossy(&head_key).into_owned()))?;
        let damaged = |Damaged| Damage::Document(key.to_string());
        let head = record::head(&value).map_err(damaged)?;
        document(db, &key, head)?.map_err(damaged)?;
        sum = sum.wrapping_add(head.about.fingerprint(&key));
        newest = newest.max((head.about.revision.get(), head.sum));
    }
    let (revision, said) = newest;
    match (sums, said) {
        (Sums::Kept, said) if said != Some(sum) => Err(Damage::Sum.into()),
        (Sums::Unknown, Some(said)) if said != sum => Err(Damage::Sum.into()),
        (Sums::Kept | Sums::Unknown, _) => Ok(Standing { revision, sum }),
    }
}

/// The document of a head, put together from its parts; the engine's failure comes first.
pub(crate) fn document(
    db: &sled::Db,
    key: &Key,
    head: Head<'_>,
) -> Result<Result<Document, Damaged>, sled::Error> {
    let mut assembly = Assembly::begin(head);
    for number in record::part_numbers(head.about.length) {
        let Some(part) = db.get(record::part_key(key, number))? else { return Ok(Err(Damaged)) };
        if assembly.add(&part).is_err() {
            return Ok(Err(Damaged));
        }
    }
    Ok(assembly.finish())
}
