//! How documents lie in the tree: a head under the document's key, and parts of what does not fit in it.
//!
//! | key | value |
//! |---|---|
//! | `0` `1` | nothing; there since the store was made |
//! | `0` `0` | how the store stood at some time: revision, sum; the newest when no document is of that revision |
//! | `1`, key's text | a head: revision, length of the document, checksum, sum, the document's first bytes |
//! | `2`, key's text, `0`, number | a part: revision, further bytes; numbers count from 1 |
//!
//! Numbers are big-endian, so the tree's order is theirs; a key's text holds no control character, so the zero
//! ends it. Parts name their revision, and heads have a checksum of the whole document, so a document that is
//! not as it was put is seen and never handed out.
//!
//! The *sum* is that of the fingerprints of all documents after the commit. Whatever the commit was, its newest
//! record holds it, so that a put of one value stays one change of the tree.
//!
//! Schema 1 had neither checksums nor sums. Its heads are read, and become the others' like when they are put anew.

use store::{Document, Key, Prefix, Revision};

use crate::fingerprint::{self, Fingerprint};
use crate::standing::Standing;

/// Most of a document that one value of the tree has, so that no value has much more than 4 KiB. sled keeps 16 or
/// 17 values in a leaf before it splits it, and writes a page of about 128 KiB or more to a file that nothing
/// syncs: with this bound and keys at their longest, a leaf has at most 90 KiB.
const HEAD_BYTES_MAX: usize = 4_080;
const PART_BYTES_MAX: usize = 4_088;

/// Set in a head's length where a checksum and a sum follow it. No document is nearly as long.
const IS_CHECKED: u64 = 1 << 63;

/// Where it is kept how the store stood when no document says it: after a commit of many changes, or of deletions.
pub(crate) const STANDING_KEY: [u8; 2] = [0, 0];

/// What every store has from the first moment on, so that one without it has lost its file.
pub(crate) const MADE_KEY: [u8; 2] = [0, 1];

/// What a head says of its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) revision: Revision,
    pub(crate) length: usize,
    /// `None` in a head of schema 1.
    checksum: Option<u64>,
}

/// A document's first value, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) about: About,
    /// The sum after the commit that put the document; `None` in a head of schema 1.
    pub(crate) sum: Option<u64>,
    first: &'a [u8],
}

/// What is wrong with values that should be a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// The key of a document's head.
pub(crate) fn head_key(key: &Key) -> Vec<u8> {
    [&[1], key.as_str().as_bytes()].concat()
}

/// What the keys of all heads under `prefix` begin with.
pub(crate) fn head_keys(prefix: &Prefix) -> Vec<u8> {
    [&[1], prefix.as_str().as_bytes()].concat()
}

/// The document's key, from its head's.
pub(crate) fn key_of(head_key: &[u8]) -> Result<Key, Damaged> {
    let (_, text) = head_key.split_first().ok_or(Damaged)?;
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Damaged)
}

/// The key of a document's part.
pub(crate) fn part_key(key: &Key, number: u32) -> Vec<u8> {
    [&[2], key.as_str().as_bytes(), &[0], &number.to_be_bytes()].concat()
}

/// The numbers of the parts of a document of this length, its head not counted.
pub(crate) fn part_numbers(length: usize) -> impl Iterator<Item = u32> {
    (1..).take(length.saturating_sub(HEAD_BYTES_MAX).div_ceil(PART_BYTES_MAX))
}

impl About {
    /// What the head will say of a document that is put with these bytes.
    pub(crate) fn of(revision: Revision, bytes: &[u8]) -> Self {
        Self { revision, length: bytes.len(), checksum: Some(fingerprint::of(bytes)) }
    }

    /// The document's share of the store's sum.
    pub(crate) fn fingerprint(&self, key: &Key) -> u64 {
        let length = u64::try_from(self.length).unwrap_or(u64::MAX);
        Fingerprint::begin()
            .and(key.as_str().as_bytes())
            .and_number(self.revision.get())
            .and_number(length)
            .and_number(self.checksum.unwrap_or_default())
            .bits()
    }
}

/// The head and then the parts of a document, with the sum that its head holds.
pub(crate) fn cut(
    about: About,
    sum: u64,
    bytes: &[u8],
) -> (Vec<u8>, impl Iterator<Item = Vec<u8>>) {
    let revision = about.revision.get().to_be_bytes();
    let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES_MAX));
    let length = u64::try_from(about.length).unwrap_or(u64::MAX);
    let checked = match about.checksum {
        Some(checksum) => {
            let length = (IS_CHECKED | length).to_be_bytes();
            [length, checksum.to_be_bytes(), sum.to_be_bytes()].concat()
        }
        None => length.to_be_bytes().to_vec(),
    };
    let head = [&revision[..], &checked, first].concat();
    (head, rest.chunks(PART_BYTES_MAX).map(move |part| [&revision[..], part].concat()))
}

/// Takes a head apart.
pub(crate) fn head(value: &[u8]) -> Result<Head<'_>, Damaged> {
    let (revision, rest) = number(value)?;
    let (length, rest) = number(rest)?;
    let (checksum, sum, first) = if length & IS_CHECKED == 0 {
        (None, None, rest)
    } else {
        let (checksum, rest) = number(rest)?;
        let (sum, first) = number(rest)?;
        (Some(checksum), Some(sum), first)
    };
    let length = usize::try_from(length & !IS_CHECKED).map_err(|_| Damaged)?;
    if first.len() != length.min(HEAD_BYTES_MAX) {
        return Err(Damaged);
    }
    let about = About { revision: revision_of(revision)?, length, checksum };
    Ok(Head { about, sum, first })
}

/// The value of [`STANDING_KEY`].
pub(crate) fn standing_value(standing: Standing) -> Vec<u8> {
    [standing.revision.to_be_bytes(), standing.sum.to_be_bytes()].concat()
}

/// The revision and, since schema 2, the sum that [`STANDING_KEY`] holds.
pub(crate) fn standing(value: &[u8]) -> Result<(u64, Option<u64>), Damaged> {
    match number(value)? {
        (revision, []) => Ok((revision, None)),
        (revision, rest) => match number(rest)? {
            (sum, []) => Ok((revision, Some(sum))),
            (_, _) => Err(Damaged),
        },
    }
}

/// A document as it is put together.
#[derive(Debug)]
pub(crate) struct Assembly {
    about: About,
    bytes: Vec<u8>,
}

impl Assembly {
    pub(crate) fn begin(head: Head<'_>) -> Self {
        Self { about: head.about, bytes: head.first.to_vec() }
    }

    /// Adds the next part.
    pub(crate) fn add(&mut self, value: &[u8]) -> Result<(), Damaged> {
        let (revision, part) = number(value)?;
        if revision != self.about.revision.get() {
            return Err(Damaged);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The document, when all of it is there and as it was put.
    pub(crate) fn finish(self) -> Result<Document, Damaged> {
        let Self { about, bytes } = self;
        let is_as_it_was =
            about.checksum.is_none_or(|checksum| checksum == fingerprint::of(&bytes));
        if bytes.len() == about.length && is_as_it_was {
            Ok(Document { revision: about.revision, bytes })
        } else {
            Err(Damaged)
        }
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), Damaged> {
    let (number, rest) = bytes.split_first_chunk().ok_or(Damaged)?;
    Ok((u64::from_be_bytes(*number), rest))
}

fn revision_of(number: u64) -> Result<Revision, Damaged> {
    std::num::NonZeroU64::new(number).map(Revision::new).ok_or(Damaged)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    fn revision(number: u64) -> Revision {
        Revision::new(NonZeroU64::new(number).unwrap())
    }

    fn assemble(head_value: &[u8], parts: &[Vec<u8>]) -> Result<Document, Damaged> {
        let mut assembly = Assembly::begin(head(head_value)?);
        for part in parts {
            assembly.add(part)?;
        }
        assembly.finish()
    }

    #[test]
    fn what_is_cut_comes_together_again() {
        let (one, two) = (HEAD_BYTES_MAX, HEAD_BYTES_MAX + PART_BYTES_MAX);
        let cases = [
            (0, 0),
            (1, 0),
            (one, 0),
            (one + 1, 1),
            (two - 1, 1),
            (two, 1),
            (two + 1, 2),
            (99_999, 24),
        ];
        for (length, parts_right) in cases {
            let bytes: Vec<u8> = (0..=255).cycle().take(length).collect();
            let checked = About::of(revision(7), &bytes);
            for about in [checked, About { checksum: None, ..checked }] {
                let (head_value, parts) = cut(about, 99, &bytes);
                let parts: Vec<Vec<u8>> = parts.collect();
                assert_eq!(parts.len(), parts_right, "{length} bytes");
                assert_eq!(part_numbers(length).collect::<Vec<_>>().len(), parts_right);
                assert!(parts.iter().all(|part| part.len() <= 4_096));
                assert!(head_value.len() <= 4_112);
                let found = head(&head_value).unwrap();
                assert_eq!((found.about, found.sum), (about, about.checksum.map(|_| 99)));
                let bytes = bytes.clone();
                let document = Document { revision: revision(7), bytes };
                assert_eq!(assemble(&head_value, &parts), Ok(document));
            }
        }
    }

    #[test]
    fn what_is_not_whole_is_damaged() {
        let bytes = vec![1; 20_000];
        let (head_value, parts) = cut(About::of(revision(7), &bytes), 1, &bytes);
        let parts: Vec<Vec<u8>> = parts.collect();
        let (old_head, old_parts) = cut(About::of(revision(6), &bytes), 1, &bytes);
        let old_parts: Vec<Vec<u8>> = old_parts.collect();
        let mixed = [&parts[..2], &old_parts[2..]].concat();
        let mut changed = parts.clone();
        changed[2][99] ^= 1;

        assert_eq!(assemble(&head_value, &parts[1..]), Err(Damaged), "a part is missing");
        assert_eq!(assemble(&head_value, &mixed), Err(Damaged), "a part is of another revision");
        assert_eq!(assemble(&old_head, &parts), Err(Damaged), "the head is of another revision");
        assert_eq!(assemble(&head_value, &changed), Err(Damaged), "one bit is another");
        assert_eq!(head(&head_value[..100]), Err(Damaged), "the head is short");
        assert_eq!(head(&[0; 16]), Err(Damaged), "there is no revision zero");
        assert_eq!(head(&[]), Err(Damaged));
        for length in [0, 7, 9, 15, 17] {
            assert_eq!(standing(&vec![0; length]), Err(Damaged), "{length} bytes");
        }
    }

    #[test]
    fn how_the_store_stands_is_read_as_either_schema_wrote_it() {
        let now = Standing { revision: 7, sum: 8 };
        assert_eq!(standing(&standing_value(now)), Ok((7, Some(8))));
        assert_eq!(standing(&7_u64.to_be_bytes()), Ok((7, None)));
    }

    #[test]
    fn every_thing_about_a_document_is_in_its_fingerprint() {
        let key: Key = "a/b".parse().unwrap();
        let fingerprint =
            |key: &Key, number, bytes: &[u8]| About::of(revision(number), bytes).fingerprint(key);
        let right = fingerprint(&key, 1, b"xyz");
        assert_eq!(right, fingerprint(&key, 1, b"xyz"));
        assert_ne!(right, fingerprint(&"a/c".parse().unwrap(), 1, b"xyz"));
        assert_ne!(right, fingerprint(&key, 2, b"xyz"));
        assert_ne!(right, fingerprint(&key, 1, b"xyZ"));
    }

    #[test]
    fn keys_in_the_tree_are_in_the_order_of_keys() {
        let mut keys: Vec<Key> =
            ["a/b", "a/b/c", "a/b!", "aa/b", "a/ß"].map(|text| text.parse().unwrap()).to_vec();
        keys.sort();
        let heads: Vec<Vec<u8>> = keys.iter().map(head_key).collect();
        assert!(heads.is_sorted());
        for (key, head) in keys.iter().zip(&heads) {
            assert_eq!(key_of(head), Ok(key.clone()));
        }
        assert!(part_key(&keys[0], 255) < part_key(&keys[0], 256));
        assert_eq!(key_of(&[1]), Err(Damaged));
        assert_eq!(key_of(&[1, 0xff]), Err(Damaged));
    }
}
